"""Tables and records of a person's as text: CSV, lines of JSON, TOML."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from typing import Any

from core.files.userfile import COLUMNS, FIELD, RECORD, ROWS, UserFile, decode, said

EXAMPLE = '{"caption": "…", …}, an object in each line'
CELL = 64  # bytes that a cell takes in memory next to its characters
MARKS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}  # between fields
_SEEN = 50  # lines that tell which of them it is
_COPIES = 6  # of the bytes of a CSV: as text, and four for each character as a stream of it


def csv_rows(
    file: UserFile,
    *,
    most: int | None = None,
    wrong: dict[int, str] | None = None,
) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the rows of a CSV table; blank lines are left out.

    most: how many rows are read, all if None. wrong: takes, by row from 1, why a row has another
    length than the header; it is returned empty. Fields are separated as `find_mark` says. Raises
    the file's error for what is no CSV, for such a row if `wrong` is None, and for a cell of over
    FIELD characters.
    """
    csv.field_size_limit(FIELD)
    file.check_room(_COPIES * file.size)
    text = file.text()
    mark = find_mark(text) or ","
    file.check_room(_COPIES * file.size + CELL * (text.count(mark) + text.count("\n")))
    name, rows = file.path.name, list[list[str]]()
    lines = _lines(text, mark, csv.QUOTE_NONE if _has_no_quotes(text, mark) else csv.QUOTE_MINIMAL)
    try:
        columns: list[str] = next(filter(None, lines), [])
        file.check_count(len(columns), COLUMNS, "columns")
        for number, line in enumerate(islice(filter(None, lines), most), start=1):
            if len(line) != len(columns):
                reason = (
                    f"has {len(line)} fields, and the header has {len(columns)}; put texts with"
                    f" {MARKS[mark]} or line breaks in double quotes"
                )
                if wrong is None:
                    raise file.raising(f"row {number} of {name} {reason}")
                wrong[number], line = reason, []
            rows.append(line)
        file.check_count(len(rows), ROWS, "rows")
    except csv.Error as error:
        raise file.raising(
            f"{name} is not a CSV table: {said(error)} at line {lines.line_num}"
        ) from error
    return columns, rows


def find_mark(text: str) -> str:
    """Return what separates the fields of a table: of MARKS in the first line the one that most
    lines have as often as that; "" if there is none. Of equals the first in MARKS counts, since
    commas stand in texts and numbers, too.
    """
    lines = [match[0] for match in islice(re.finditer(r"[^\r\n]+", text), _SEEN)]
    found = {mark: _agreement(lines, mark) for mark in MARKS if mark in "".join(lines[:1])}
    return max(found, key=lambda mark: found[mark], default="")


def _agreement(lines: list[str], mark: str) -> float:
    """Return the share of rows with as many fields as the first, of several; with quotes as they
    usually are, or as characters like any other.
    """
    shares = [0.0]
    for quoting in (csv.QUOTE_NONE, csv.QUOTE_MINIMAL):
        with suppress(csv.Error):
            counts = [len(row) for row in _lines("\n".join(lines), mark, quoting)]
            shares.append(counts.count(counts[0]) / len(counts) if counts[0] > 1 else 0)
    return max(shares)


def _lines(text: str, mark: str, quoting: int) -> Any:
    return csv.reader(
        io.StringIO(text, newline=""),
        strict=True,
        delimiter=mark,
        quoting=quoting,  # type: ignore[arg-type]
        skipinitialspace=mark == "|",
    )


def _has_no_quotes(text: str, mark: str) -> bool:
    """Return whether double quotes are characters like any other, as in Flickr's files: whether
    more rows have the header's length if they are.
    """
    if mark == "," or '"' not in text:
        return False
    try:
        plain = list(filter(None, _lines(text, mark, csv.QUOTE_NONE)))
    except csv.Error:
        return False
    try:
        quoted = list(filter(None, _lines(text, mark, csv.QUOTE_MINIMAL)))
    except csv.Error:
        return True
    odd = [sum(len(row) != len(rows[0]) for row in rows) for rows in (plain, quoted)]
    return len(plain) != len(quoted) and odd[0] <= odd[1]


def json_lines(file: UserFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the object in each line that is not blank, behind the line's number from 1, one line in
    memory at a time; raises the file's error for a line that is none, has over RECORD bytes, or
    cannot be read.
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


def read_toml(file: UserFile) -> dict[str, Any]:
    try:
        return tomllib.loads(file.text())
    except (ValueError, RecursionError) as error:  # ValueError: a number of 5,000 digits, too
        raise file.raising(f"{file.path} cannot be read as TOML: {said(error)}") from error
