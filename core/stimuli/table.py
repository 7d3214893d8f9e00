"""Caption tables as files: CSV, JSONL or Parquet, read as rows of plain values with nothing guessed
and nothing dropped.

In CSV every value is text exactly as written ("NA", "null" and "007" are captions like any other);
fields are separated by commas.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import StimuliError
from core.files import limits
from core.files.parquet import as_text, read_parquet
from core.files.texts import CELL, csv_rows, json_lines
from core.files.userfile import UserFile, said, shown

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa

TABLES = (".csv", ".jsonl", ".parquet")
COLUMNS = ("image", "caption")
LEVEL_COLUMNS = ("caption_index", "level")
TEXT_COLUMNS = ("caption",)  # of a table of texts alone
ID_COLUMNS = ("image", "id")  # which of its captions belong together
_SHOWN = 20  # columns that a message names
OTHER_NAMES = {  # what others call these columns, for hints only
    "image": ("file_name", "filename", "file", "path", "image_path", "img"),
    "caption": ("text", "captions", "sentence", "description", "title"),
}


@dataclass(frozen=True)
class Table:
    """Rows as found; a value that a row lacks is None. Row 1 is the first after a header."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]

    @property
    def level_column(self) -> str | None:
        """Return the column that names the caption level, if there is one."""
        return next((name for name in LEVEL_COLUMNS if name in self.columns), None)

    @property
    def id_column(self) -> str | None:
        """Return the column that says which texts belong together where there are no images."""
        return next((name for name in ID_COLUMNS if name in self.columns), None)

    @property
    def factor_columns(self) -> tuple[str, ...]:
        """Return every column that is no image, caption or level."""
        return tuple(name for name in self.columns if name not in (*COLUMNS, *LEVEL_COLUMNS))


def find_table(folder: Path) -> Path:
    """Return the only CSV, JSONL or Parquet file of a folder; raises StimuliError where there is
    none or a choice.
    """
    if not os.path.isdir(folder):  # Path.is_dir raises for names that no folder can have
        raise StimuliError(
            f"{folder} is not a folder; expected one with image files and a caption table"
        )
    files = list_tables(folder)
    if not files:
        raise StimuliError(
            f"no caption table in {folder}; expected one such as captions.csv, with the columns"
            " image and caption, unless --images-only takes images alone"
        )
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        raise StimuliError(
            f"{folder} has {len(files)} tables: {names}; say which one holds the captions"
            " (--table), or keep only one"
        )
    return files[0]


def list_tables(folder: Path) -> list[Path]:
    """Return the tables of a folder by name; raises StimuliError where it cannot be listed."""
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.suffix.lower() in TABLES and not path.name.startswith(".")
        )
    except OSError as error:
        raise StimuliError(
            f"cannot list the folder {folder}: {error.strerror}; change its rights"
        ) from error


def read_table(path: Path, *, wanted: Sequence[str] = COLUMNS, most: int | None = None) -> Table:
    """Read a table by its suffix and check its columns; wanted: those that it must have, a caption
    table's by default. most: how many rows are read, all where None.

    Raises StimuliError where the file is missing, is no such table, is not UTF-8, or lacks a
    column.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise StimuliError(
            f"{path.name} is not a caption table; expected a name ending in {', '.join(_READERS)}"
        )
    file = UserFile(
        path, f"a caption table ({path.suffix.lower()})", StimuliError, most=limits.TEXT
    )
    columns, rows = reader(file, most)
    _check_columns(path.name, columns, wanted)
    _check_lengths(path.name, rows)
    return Table(path, tuple(columns), tuple(rows))


def missing_column(where: str, wanted: str, columns: Sequence[str]) -> StimuliError:
    """Return the error for a column that is not there: what was found, and the nearest names."""
    near = [
        name for name in columns if name.strip().lower() in (wanted, *OTHER_NAMES.get(wanted, ()))
    ]
    near = near or get_close_matches(wanted, columns, n=3)
    present = ", ".join(map(shown, columns[:_SHOWN])) or "no columns"
    present += " …" if len(columns) > _SHOWN else ""
    hint = (
        f"; did you mean {' or '.join(map(shown, near))}? Rename it to {wanted!r}" if near else ""
    )
    if wanted == "image" and columns and not near:
        hint = "; --texts-only takes texts alone"
    return StimuliError(f"{where} has no column {wanted!r}; it has {present}{hint}")


def _check_columns(where: str, columns: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in columns:
            raise missing_column(where, name, columns)
    if all(name in columns for name in LEVEL_COLUMNS):
        raise StimuliError(
            f"{where} has both {' and '.join(LEVEL_COLUMNS)}, which mean the same; keep one"
        )
    if not all(name.strip() for name in columns):
        raise StimuliError(
            f"column {[not name.strip() for name in columns].index(True) + 1} of {where} has no"
            " name; name or drop it"
        )
    if odd := [name for name in columns if not name.isprintable()]:
        raise StimuliError(
            f"{where} has a column {shown(odd[0])}, a name with characters that cannot be shown;"
            " rename it"
        )
    if "stimulus" in columns:
        raise StimuliError(
            f"{where} has a column 'stimulus', a name that is taken by the stimulus id; rename it"
        )
    again = [name for name, count in Counter(name.lower() for name in columns).items() if count > 1]
    if again:  # the store's column names do not tell upper from lower case
        raise StimuliError(
            f"{where} has several columns named {shown(again[0])} (upper and lower case are alike);"
            " rename or drop one"
        )


def _check_lengths(where: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for number, row in enumerate(rows, start=1):
        for name, value in row.items():
            if isinstance(value, str) and len(value) > limits.FIELD:
                raise StimuliError(
                    f"row {number} of {where} has {len(value):,} characters in {shown(name)}; at"
                    f" most {limits.FIELD:,} are read: shorten it"
                )


def _read_csv(file: UserFile, most: int | None) -> Records:
    columns, rows = csv_rows(file, most=most)
    return columns, [dict(zip(columns, row, strict=True)) for row in rows]


def _read_jsonl(file: UserFile, most: int | None) -> Records:
    records, columns, cells = list[dict[str, Any]](), dict[str, None](), 0
    for _, record in islice(json_lines(file), most):
        columns.update(dict.fromkeys(record))
        file.check_count(len(columns), limits.COLUMNS, "columns")
        cells += len(record)
        if len(records) % 10_000 == 0:
            file.check_room(cells * CELL)
        records.append(record)
    file.check_room((cells + len(records) * len(columns)) * CELL)
    return list(columns), [{name: record.get(name) for name in columns} for record in records]


def _read_parquet(file: UserFile, most: int | None) -> Records:
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    taken = 0

    def check(name: str, kind: pa.DataType) -> None:
        columns.append(name)
        if kind.num_fields:  # lists and the like
            raise StimuliError(
                f"factor {shown(name)} holds a {as_text(kind)}; expected text or numbers; drop or"
                " rewrite that column"
            )

    for batch in read_parquet(file, check=check):
        taken += batch.nbytes + CELL * batch.num_rows * len(columns)
        file.check_room(taken)
        named = zip(columns, batch.columns, strict=True)
        values = [_values(column, name, file) for name, column in named]
        rows += [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
        if most is not None and len(rows) >= most:
            break
    return columns, rows[:most]


def _values(column: pa.Array, name: str, file: UserFile) -> list[Any]:
    """Return what a column holds; raises StimuliError for a date that no calendar has."""
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (ValueError, OverflowError) as error:
        raise StimuliError(
            f"column {shown(name)} of {file.path.name} holds a {as_text(column.type)} that cannot"
            f" be read ({said(error)}); write it as text"
        ) from error


Records = tuple[list[str], list[dict[str, Any]]]
_READERS: Mapping[str, Callable[[UserFile, int | None], Records]] = dict(
    zip(TABLES, (_read_csv, _read_jsonl, _read_parquet), strict=True)
)
