"""A table of models: a row for each, its file of features and what is known of it.

    file,title,modality,family,parameters,seed,ImageNet (%)
    small.npy,Small,vision,ViT,22000000,0,71.2

Columns are the options of `platoscope import`; any other column of numbers is an own score.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.encoders.arrays import ENDINGS
from core.encoders.requests import ImportRequest
from core.errors import InputError
from core.files.texts import csv_rows
from core.files.userfile import SHEET, UserFile, shown
from core.options import Option, build, options_of, values_of

FILE, COMPETENCE = "file", "competence"
OPTIONS = {one.name: one for one in options_of(ImportRequest)}
NOTHING = ("", "nan", "na", "n/a", "none", "-")
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
    features. Raise InputError for a file that cannot be read.
    """
    path = Path(request.file)
    if path.suffix.lower() != ".csv":
        return None
    file = UserFile(path, "a table of models or of features", InputError)
    if file.size > SHEET or FILE not in file.text().partition("\n")[0].lower():
        return None
    header, cells = csv_rows(file)
    columns = [re.sub(r"[ -]+", "_", name.strip().lower()) for name in header]
    names = [one if one in OPTIONS else name for one, name in zip(columns, header, strict=True)]
    lines = [dict(zip(names, map(str.strip, row), strict=True)) for row in cells]
    if not any(Path(row.get(FILE, "")).suffix.lower() in ENDINGS for row in lines):
        return None
    others = [name for name in names if name and name not in OPTIONS]
    scores = tuple(name for name in others if any(_NUMBER.fullmatch(row[name]) for row in lines))
    rows: dict[int, ImportRequest | InputError] = {}
    taken: dict[str, int] = {}
    for line, row in enumerate(lines, start=2):
        try:
            one = _request(row, request, scores)
            if one.name in taken:
                raise InputError(
                    f"{one.name!r} is already the name in line {taken[one.name]}; change one"
                )
            rows[line], taken[one.name] = one, line
        except InputError as error:
            rows[line] = error
    return Zoo(rows, scores, tuple(name for name in others if name not in scores))


def _request(
    row: Mapping[str, str], request: ImportRequest, scores: tuple[str, ...]
) -> ImportRequest:
    said = {name: text for name, text in row.items() if text.lower() not in NOTHING}
    if FILE not in said:
        raise InputError("no file is named; give the path of its features")
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
    return safe(Path(file).stem)


def safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._~-]+", "-", name).strip(".-")


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
        try:  # pandas writes whole numbers next to gaps as 22.0
            return one.range.read(text.removesuffix(".0") if one.range.whole else text)
        except InputError as error:
            raise InputError(f"{one.name}: {error}") from error
    return text
