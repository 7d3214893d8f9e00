"""Scores as people write them: a CSV table with a row per model and task, read with every mistake
named by its line.

A table with one mistake is refused whole. Texts stay as they are written; numbers are plain
decimals, so that nothing is guessed.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf

import numpy as np
import pandas as pd

from core.competence.records import ACCURACY, BITS, PERCENT, SKILL
from core.errors import InputError, UnknownNameError
from core.files.userfile import SHEET, decode, shown
from core.machine.memory import size_text

UNITS: Mapping[str, tuple[float, float]] = {
    ACCURACY: (0, 1),
    PERCENT: (0, 100),
    BITS: (0, inf),
    SKILL: (-inf, 1),
}  # least, most
NUMBERS = ("value", "low", "high", "chance", "n")
LONGEST = 131_072  # characters of a cell
SHOWN = 200  # characters of names of columns
TOLD = 5  # mistakes that a message lists
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Row = dict[str, str]


def read_sheet(
    data: bytes, *, name: str, required: Sequence[str], optional: Sequence[str]
) -> pd.DataFrame:
    """Read a CSV table of scores: UTF-8, fields separated by commas, a header, a row per model and
    task.

    name: of the file, for messages. required: columns in which every row says something; optional:
    columns that may be missing, as may their cells. Returns these columns in this order; texts that
    are missing are "", numbers NaN. Raises InputError, which lists the mistakes by line: encoding,
    columns, empty cells, no numbers, values outside the unit's range or their own interval, and two
    rows of one model and task.
    """
    if len(data) > SHEET:
        raise InputError(
            f"{name} has {size_text(len(data))}; expected scores of {size_text(SHEET)} at most:"
            " split it"
        )
    rows = list(_rows(decode(data, name, InputError), name, required, optional))
    if not rows:
        raise InputError(f"{name} has no rows below its header; give one per model and task")
    mistakes = [
        f"line {line}: {mistake}" for line, row in rows for mistake in _mistakes(row, required)
    ]
    if mistakes := mistakes + list(_repeated(rows)):
        more = f"; and {len(mistakes) - TOLD} more" if len(mistakes) > TOLD else ""
        raise InputError(
            f"nothing of {name} was taken: {'; '.join(mistakes[:TOLD])}{more}; correct the file and"
            " give it again"
        )
    table = pd.DataFrame([row for _, row in rows])
    return table.assign(
        **{
            column: [_number(text) for text in table[column]]
            for column in NUMBERS
            if column in table
        }
    )


def _rows(
    text: str, name: str, required: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[int, Row]]:
    """Yield each row with the line that it begins in; cells without the blanks around them."""
    csv.field_size_limit(LONGEST)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] = []
    first = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                if columns:
                    yield (
                        first,
                        _row(cells, columns, (*required, *optional), f"line {first} of {name}"),
                    )
                else:
                    columns = [cell.strip().lower() for cell in cells]
                    _check_columns(columns, required, optional, name)
            first = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{name} is not a CSV table: {error} at line {reader.line_num}") from error
    if not columns:
        raise InputError(
            f"{name} is empty; expected a table with the columns {', '.join(required)}"
        )


def _row(cells: Sequence[str], columns: Sequence[str], wanted: Sequence[str], where: str) -> Row:
    if len(cells) != len(columns):
        raise InputError(
            f"{where} has {len(cells)} fields where the header has {len(columns)}; put texts with"
            " commas in double quotes, and write decimals with a point"
        )
    values = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
    return {column: values.get(column, "") for column in wanted}


def _check_columns(
    columns: Sequence[str], required: Sequence[str], optional: Sequence[str], name: str
) -> None:
    if len(columns) == 1 and ";" in columns[0]:
        raise InputError(
            f"line 1 of {name} separates fields by semicolons; save it with commas, and decimals"
            " with a point"
        )
    if again := [column for column, count in Counter(columns).items() if count > 1]:
        raise InputError(
            f"{name} has several columns {shown(again[0])} (case does not count); keep one"
        )
    if missing := [column for column in required if column not in columns]:
        present = ", ".join(map(repr, columns))
        raise InputError(
            f"{name} has no column {missing[0]!r}; it has {present[:SHOWN]}; name that column in"
            " line 1"
        )
    if unknown := [column for column in columns if column not in (*required, *optional)]:
        raise UnknownNameError(
            f"column of scores in line 1 of {name}", unknown[0], (*required, *optional)
        )


def _mistakes(row: Row, required: Sequence[str]) -> Iterator[str]:
    yield from (f"{column} is empty" for column in required if not row[column])
    yield from (
        f"{column} has characters that cannot be shown"
        for column, text in row.items()
        if not text.isprintable()
    )
    wrong = {
        column: why for column in NUMBERS if (text := row.get(column)) and (why := _no_number(text))
    }
    yield from (f"{column} {row[column][:40]!r} {why}" for column, why in wrong.items())
    if not wrong:
        yield from _out_of_range(row)


def _no_number(text: str) -> str:
    """Return why a text is no number, "" where it is one."""
    if not _NUMBER.fullmatch(text):
        return "is not a plain number such as 81.2"
    return "" if abs(float(text)) < inf else "is too large for a number"


def _number(text: str) -> float:
    return float(text) if text else np.nan


def _out_of_range(row: Row) -> Iterator[str]:
    numbers = {column: _number(row[column]) for column in NUMBERS if row.get(column)}
    least, most = UNITS.get(row["unit"], (-inf, inf))
    for column in ("value", "chance"):
        if column in numbers and not least <= numbers[column] <= most:
            yield (
                f"{column} {row[column]} is outside {least:g} … {most:g}, the range of the unit"
                f" {row['unit']!r}"
            )
    low, high = numbers.get("low", -inf), numbers.get("high", inf)
    if "value" in numbers and not low <= numbers["value"] <= high:
        yield f"value {row['value']} is outside its interval, {low:g} … {high:g}"
    if "n" in numbers and (numbers["n"] < 1 or numbers["n"] % 1):
        yield f"n {row['n']} is not a number of samples, 1 or more"


def _repeated(rows: Sequence[tuple[int, Row]]) -> Iterator[str]:
    """Say which rows give a model a second value of a task."""
    seen: dict[tuple[str, str], int] = {}
    for line, row in rows:
        first = seen.setdefault((row["model"], row["task"]), line)
        if first != line and row["model"] and row["task"]:
            yield (
                f"line {line}: {row['model']!r} has a value of {row['task']!r} in line {first}"
                " already"
            )
