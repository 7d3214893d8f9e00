"""Tables and records of a person's as text: CSV, lines of JSON, TOML."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterator
from itertools import count
from typing import Any

from core.errors import PlatoscopeError
from core.files.userfile import COLUMNS, FIELD, RECORD, ROWS, UserFile, decode, said

Json = dict[str, Any]  # an object of JSON, or a table of TOML
EXAMPLE = '{"caption": "…", …}, an object in each line'
CELL = 64  # bytes that a cell takes in memory next to its characters
MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}  # between fields
_COPIES = 6  # of the bytes of a CSV: as text, and four for each character as a stream of it


def csv_rows(file: UserFile) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the rows of a CSV file; see `csv_table`."""
    file.check_room(_COPIES * file.size)
    text = file.text()
    cells = text.count(_mark(text)) + text.count("\n")
    file.check_room(_COPIES * file.size + CELL * cells)
    columns, rows = csv_table(text, file.path.name, file.raising)
    file.check_count(len(columns), COLUMNS, "columns")
    file.check_count(len(rows), ROWS, "rows")
    return columns, rows


def csv_table(
    text: str, name: str, raising: type[PlatoscopeError]
) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the rows of a CSV table; blank lines are left out. Fields are
    separated by the character of MARKS that the first line has most often.

    name: of the file, for messages. Raise for what is no CSV, for a row of another length than the
    header, and for a cell of over FIELD characters.
    """
    csv.field_size_limit(FIELD)
    mark, rows = _mark(text), list[list[str]]()
    lines = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    try:
        columns: list[str] = next(filter(None, lines), [])
        for number, line in enumerate(filter(None, lines), start=1):
            if len(line) != len(columns):
                raise raising(
                    f"row {number} of {name} has {len(line)} fields, and the header has"
                    f" {len(columns)}; put texts with {MARKS[mark]} or line breaks in double quotes"
                )
            rows.append(line)
    except csv.Error as error:
        raise raising(
            f"{name} is not a CSV table: {said(error)} at line {lines.line_num}"
        ) from error
    return columns, rows


def _mark(text: str) -> str:
    return max(MARKS, key=text.lstrip().partition("\n")[0].count)


def json_lines(file: UserFile) -> Iterator[tuple[int, Json]]:
    """Yield the number from 1 and the object of each line that is not blank; raise the file's error
    for a line that is none, or has over RECORD bytes.
    """
    with file.open() as opened:
        for number in count(1):
            try:
                line = opened.readline(RECORD + 1)
            except OSError as error:
                raise file.unreadable(error) from error
            if not line:
                return
            where = f"line {number} of {file.path.name}"
            file.check_count(number, ROWS, "rows")
            if len(line) > RECORD:
                raise file.raising(f"{where} has over {RECORD:,} bytes; expected {EXAMPLE}")
            text = decode(line, where, file.raising).strip()
            if not text:
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise file.raising(f"{where} is not JSON: {said(error)}") from error
            if not isinstance(record, dict):
                raise file.raising(f"{where} is not a JSON object; expected {EXAMPLE}")
            yield number, record


def read_toml(file: UserFile) -> Json:
    try:
        return tomllib.loads(file.text())
    except (ValueError, RecursionError) as error:  # ValueError: a number of 5,000 digits, too
        raise file.raising(f"{file.path} cannot be read as TOML: {said(error)}") from error
