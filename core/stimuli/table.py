"""Caption tables as files: CSV, JSONL or Parquet, read as rows of plain values with nothing guessed
and nothing dropped.

In CSV every value is text exactly as written ("NA", "null" and "007" are captions like any other);
fields are separated by commas.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import StimuliError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

TABLES = (".csv", ".jsonl", ".parquet")
COLUMNS = ("image", "caption")
LEVEL_COLUMNS = ("caption_index", "level")
TEXT_COLUMNS = ("caption",)  # of a table of texts alone
ID_COLUMNS = ("image", "id")  # which of its captions belong together
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
    try:
        columns, rows = reader(path, most)
    except OSError as error:
        raise StimuliError(
            f"cannot read the caption table {path}: {error.strerror or error}"
        ) from error
    _check_columns(path.name, columns, wanted)
    return Table(path, tuple(columns), tuple(rows))


def missing_column(where: str, wanted: str, columns: Sequence[str]) -> StimuliError:
    """Return the error for a column that is not there: what was found, and the nearest names."""
    near = [
        name for name in columns if name.strip().lower() in (wanted, *OTHER_NAMES.get(wanted, ()))
    ]
    near = near or get_close_matches(wanted, columns, n=3)
    present = ", ".join(repr(name) for name in columns) or "no columns"
    hint = (
        f"; did you mean {' or '.join(repr(name) for name in near)}? Rename it to {wanted!r}"
        if near
        else ""
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
            f"{where} has a column {odd[0]!a}, a name with characters that cannot be shown;"
            " rename it"
        )
    if "stimulus" in columns:
        raise StimuliError(
            f"{where} has a column 'stimulus', a name that is taken by the stimulus id; rename it"
        )
    again = [name for name, count in Counter(name.lower() for name in columns).items() if count > 1]
    if again:  # the store's column names do not tell upper from lower case
        raise StimuliError(
            f"{where} has several columns named {again[0]!r} (upper and lower case are alike);"
            " rename or drop one"
        )


def _read_csv(path: Path, most: int | None) -> tuple[list[str], list[dict[str, Any]]]:
    text = _read_text(path)
    csv.field_size_limit(
        max(csv.field_size_limit(), len(text))
    )  # a caption may be as long as the file
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        filled = (line for line in lines if line)
        columns, *cells = list(islice(filled, most and most + 1)) or [[]]
    except csv.Error as error:
        raise StimuliError(
            f"{path.name} is not a CSV table: {error} at line {lines.line_num}"
        ) from error
    for number, line in enumerate(cells, start=1):
        if len(line) != len(columns):
            raise StimuliError(
                f"row {number} of {path.name} has {len(line)} fields where the header has"
                f" {len(columns)}; put captions with commas or line breaks in double quotes"
            )
    return columns, [dict(zip(columns, line, strict=True)) for line in cells]


def _read_jsonl(path: Path, most: int | None) -> tuple[list[str], list[dict[str, Any]]]:
    records = list(islice(_json_lines(path), most))
    columns = list(dict.fromkeys(name for record in records for name in record))
    return columns, [{name: record.get(name) for name in columns} for record in records]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    # only \n ends a line: str.splitlines would also cut at characters that JSON allows inside text
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StimuliError(f"line {number} of {path.name} is not JSON: {error}") from error
        if not isinstance(record, dict):
            raise StimuliError(
                f'line {number} of {path.name} is not a JSON object; expected {{"image": …,'
                ' "caption": …}'
            )
        yield record


def _read_parquet(path: Path, most: int | None) -> tuple[list[str], list[dict[str, Any]]]:
    import pyarrow as pa  # only those who have a Parquet table wait for it
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(path.read_bytes()))
        table = file.read() if most is None else file.read_row_groups(_first_groups(file, most))
        names = [
            name for name in table.column_names if not name.startswith("__index_level_")
        ]  # pandas' own row numbers
        return names, table.select(names)[:most].to_pylist()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise StimuliError(f"{path.name} is not a readable Parquet table: {error}") from error


def _first_groups(file: pq.ParquetFile, rows: int) -> list[int]:
    """Return the groups of rows that hold the first ones."""
    sizes = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    return [at for at in range(len(sizes)) if sum(sizes[:at]) < rows]


def _read_text(path: Path) -> str:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8").removeprefix(
            "\ufeff"
        )  # the utf-8-sig codec would count bytes from behind the mark
    except UnicodeDecodeError as error:
        raise StimuliError(
            f"{path.name} is not UTF-8: byte {error.start:,} is 0x{data[error.start]:02x}; UTF-8"
            " was expected; save it as UTF-8"
        ) from error
    if "\0" in text:
        raise StimuliError(
            f"{path.name} has a NUL character at byte {data.index(0):,}; UTF-8 text was expected;"
            " save it as UTF-8"
        )
    return text


_READERS: Mapping[str, Callable[[Path, int | None], tuple[list[str], list[dict[str, Any]]]]] = dict(
    zip(TABLES, (_read_csv, _read_jsonl, _read_parquet), strict=True)
)
