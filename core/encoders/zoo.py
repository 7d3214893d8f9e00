"""A table of models: a row for each, its file of features and what is known of it.

    file,title,modality,family,parameters,seed,ImageNet (%)
    small.npy,Small,vision,ViT,22000000,0,71.2

Columns are the options of `platoscope import`; any other column of numbers is an own score, which
its head may give a unit. What the command itself says holds for every row that says nothing else.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from core.encoders.arrays import ENDINGS, PACKED
from core.encoders.requests import ImportRequest
from core.errors import InputError
from core.files.texts import find_mark
from core.files.userfile import SHEET, UserFile, shown
from core.options import Option, build, options_of, values_of

FILE, COMPETENCE = "file", "competence"
OPTIONS = {one.name: one for one in options_of(ImportRequest)}
ALIASES = {"model": "name", "path": FILE, "features": FILE, "params": "parameters"}
NOTHING = ("", "nan", "na", "n/a", "none", "-", "—", "?")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9}
YES, NO = ("true", "yes", "1"), ("false", "no", "0")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?", re.ASCII)


@dataclass(frozen=True)
class Zoo:
    """The rows of a table by their line: what is to be imported, or the mistake in them. scores:
    the columns that are own scores; left_out: those without a number.
    """

    rows: Mapping[int, ImportRequest | InputError]
    scores: tuple[str, ...]
    left_out: tuple[str, ...]


def read_zoo(request: ImportRequest) -> Zoo | None:
    """Return the models of a table, None if the file is none: it has no column of files of
    features. Raises InputError for a file that cannot be read.
    """
    path = Path(request.file)
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return None
    file = UserFile(path, "a table of models or of features", InputError)
    if file.size > SHEET:
        return None
    try:
        lines = _lines(file.text())
    except csv.Error:
        return None  # a table of features has a reader of its own
    first = next(iter(lines.values()), {})
    if not any(Path(row.get(FILE, "")).suffix.lower() in ENDINGS for row in lines.values()):
        return None
    others = [name for name in first if name not in OPTIONS]
    told = {name: [row[name] for row in lines.values()] for name in others}
    scores = tuple(name for name in others if any(map(_NUMBER.fullmatch, told[name])))
    left_out = tuple(name for name in others if name not in scores)
    rows: dict[int, ImportRequest | InputError] = {}
    names: dict[str, int] = {}
    for line, row in lines.items():
        try:
            one = _request(row, request, scores)
            if one.name in names:
                raise InputError(f"{one.name!r} is the name of line {names[one.name]}; change one")
            rows[line], names[one.name] = one, line
        except InputError as error:
            rows[line] = error
    return Zoo(rows, scores, left_out)


def _lines(text: str) -> dict[int, dict[str, str]]:
    """Return the rows that hold anything, by the line in which they end, cells by column."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=find_mark(text) or ",", skipinitialspace=True
    )
    columns: list[str] = []
    lines: dict[int, dict[str, str]] = {}
    for cells in reader:
        if columns and any(cell.strip() for cell in cells):
            padded = [*cells, *[""] * len(columns)][: len(columns)]
            lines[reader.line_num] = {
                name: cell.strip() for name, cell in zip(columns, padded, strict=True) if name
            }
        elif not columns:
            for cell in cells:  # an option, else what it is called
                name = re.sub(r"[ -]+", "_", cell.strip().lower())
                name = ALIASES.get(name, name)
                columns.append(name if name in OPTIONS else cell.strip())
    return lines


def _request(
    row: Mapping[str, str], request: ImportRequest, scores: tuple[str, ...]
) -> ImportRequest:
    said = {name: text for name, text in row.items() if text.lower() not in NOTHING}
    if FILE not in said:
        raise InputError("no file is named; give the place of its features")
    values = values_of(request) | {
        name: _value(OPTIONS[name], text) for name, text in said.items() if name in OPTIONS
    }
    for name in scores:
        if name in said and not _NUMBER.fullmatch(said[name]):
            raise InputError(f"{name} is {shown(said[name])}; expected a number, 71% or nothing")
    own = [f"{name}={said[name]}" for name in scores if name in said]
    values[FILE] = str(Path(request.file).parent / said[FILE])
    values["name"] = values["name"] or safe(said.get("title", "")) or name_of(said[FILE])
    values[COMPETENCE] = (*values[COMPETENCE], *own)
    return build(ImportRequest, values)


def name_of(file: str) -> str:
    return safe(Path(file.removesuffix(PACKED)).stem)


def safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._~-]+", "-", name).strip(".-")


def _whole(text: str) -> str:
    """Return a whole number as digits: of 22.0, as pandas writes it next to gaps, 22M and 1.5e8."""
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "")
    try:
        value = Decimal(number) * UNITS[unit]
        return f"{int(value)}" if value == int(value) else text
    except (ArithmeticError, KeyError, ValueError):
        return text


def _value(one: Option, text: str) -> object:
    if one.many:
        return tuple(part.strip() for part in text.split(";"))
    if one.choices and text not in one.choices:
        raise InputError(f"{one.name} is {shown(text)}; expected {', '.join(one.choices)}")
    if one.kind == "switch":
        if text.lower() not in (*YES, *NO):
            raise InputError(f"{one.name} is {shown(text)}; expected yes or no")
        return text.lower() in YES
    if one.range:
        try:
            return one.range.read(_whole(text) if one.range.whole else text)
        except InputError as error:
            raise InputError(f"{one.name}: {error}") from error
    return text
