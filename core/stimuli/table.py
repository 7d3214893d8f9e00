"""Caption tables as files: CSV, JSON, JSON lines or Parquet, as rows of plain values. In CSV every
value is text exactly as written. Columns with another usual name (`file_name`, `text`) are found.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import StimuliError
from core.files import userfile
from core.files.ids import INDEX, is_number, names_rows, plain_name
from core.files.parquet import as_text, read_parquet
from core.files.texts import CELL, Json, csv_rows, json_lines
from core.files.userfile import UserFile, said, shown
from core.recipe import Plain

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa

COLUMNS = ("image", "caption")
TEXT_COLUMNS = ("caption",)  # of a table of texts alone
ID_COLUMNS = ("image", "id")  # which of its captions belong together
LEVEL = "level"
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "image": (
        *("image", "file_name", "filename", "image_name", "image_path", "filepath", "file", "path"),
        "image_id",
    ),
    "caption": (
        *(
            "caption",
            "captions",
            "text",
            "texts",
            "sentence",
            "sentences",
            "description",
            "comment",
        ),
    ),
    LEVEL: ("caption_index", "level"),
    "label": (),
    "id": (),
}
OPTIONS = {"image": "--image-column", "caption": "--text-column"}
_SHOWN = 20  # columns that a message names
_COPIES = 12  # of the bytes of a JSON document in memory
Records = tuple[list[str], list[Json]]


@dataclass(frozen=True)
class Table:
    """Rows as found; a value that a row lacks is None. columns: image, caption and level by these
    names. notes: what the file calls these.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Plain, ...]
    notes: tuple[str, ...] = ()

    @property
    def id_column(self) -> str | None:
        """Return the column that groups texts if there are no images."""
        return next((name for name in ID_COLUMNS if name in self.columns), None)

    @property
    def factor_columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in (*COLUMNS, LEVEL))


def find_table(folder: Path, *, texts_only: bool = False) -> Path:
    """Return the only caption table of a folder, or of its subfolders; raise StimuliError if there
    is none or a choice.
    """
    if not os.path.isdir(folder):  # Path.is_dir raises for names that no folder can have
        raise StimuliError(
            f"{folder} is not a folder; expected one with image files and a caption table"
        )
    files = list_tables(folder, texts_only=texts_only)
    if not files:
        raise StimuliError(
            f"no caption table in {folder}; expected one such as captions.csv, with the columns"
            " image and caption, unless --images-only takes images alone"
        )
    if len(files) > 1:
        names = ", ".join(str(path.relative_to(folder)) for path in files[:_SHOWN])
        raise StimuliError(
            f"{folder} has {len(files)} tables: {names}; say which one holds the captions"
            " (--table), or keep only one"
        )
    return files[0]


def list_tables(folder: Path, *, texts_only: bool = False) -> list[Path]:
    """Return the tables of a folder by name, or those of its subfolders if it has none itself.
    texts_only: a .txt is a table, too, of a text in each line. Raise StimuliError if the folder
    cannot be listed.
    """
    kinds = [kind for kind in _READERS if kind != ".txt" or texts_only]
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise StimuliError(
            f"cannot list the folder {folder}: {error.strerror}; change its rights"
        ) from error
    for files in (inside, map(folder.joinpath, walk(folder))):
        tables = [path for path in files if path.suffix.lower() in kinds and path.name[0] != "."]
        if tables:
            return tables
    return []


def walk(folder: Path, *, link: bool = False) -> Iterator[str]:
    """Yield the path of each file below a folder, relative to it, but hidden ones; link: whether
    links to folders are followed.
    """
    been = set()
    for place, folders, files in os.walk(folder, followlinks=link):
        real = os.path.realpath(place)
        folders[:] = sorted(one for one in folders if one[0] != "." and real not in been)
        been.add(real)
        for name in sorted(files):
            if name[0] != ".":
                yield os.path.relpath(os.path.join(place, name), folder)


def read_table(
    path: Path,
    *,
    wanted: Sequence[str] = COLUMNS,
    named: Mapping[str, str] | None = None,
) -> Table:
    """Read a table by its suffix and find its columns.

    wanted: roles that it must have; `id` is not needed, and any column with a usual name of ids is
    one. named: the columns of some roles. Raise StimuliError if the file is missing, is no such
    table, is not UTF-8, or lacks a column.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise StimuliError(
            f"{path.name} is not a caption table; expected a name ending in {', '.join(_READERS)}"
        )
    file = UserFile(
        path, f"a caption table ({path.suffix.lower()})", StimuliError, most=userfile.TEXT
    )
    columns, rows = reader(file)
    for number, row in enumerate(rows, start=1):
        for name, value in row.items():
            if isinstance(value, str) and len(value) > userfile.FIELD:
                raise StimuliError(
                    f"row {number} of {path.name} has {len(value):,} characters in {shown(name)};"
                    f" at most {userfile.FIELD:,} are read: shorten it"
                )
    named = {**(named or {})}
    if "id" in wanted:
        named, wanted = _find_ids(columns, rows), ()
    if named.get("id") != "index":  # the index of pandas without a name
        columns = [
            one for one in columns if not one.startswith(INDEX) or plain_name(one) != "index"
        ]
    plain = [plain_name(one) for one in columns]
    rows = [dict(zip(plain, [row[one] for one in columns], strict=True)) for row in rows]
    return _arranged(path, plain, rows, wanted, named)


def _find_ids(columns: Sequence[str], rows: Sequence[Plain]) -> dict[str, str]:
    """Return the column of ids: `id`, else of those with a usual name, or of a table with one
    column, the one with another value in each row, texts before numbers.
    """

    def rank(name: str) -> tuple[bool, bool, bool]:
        values = [f"{row[name]}" for row in rows]
        return (
            len({*values}) == len(values),
            not all(map(is_number, values)),
            plain_name(name) != "index",
        )

    if "id" in columns:
        return {"id": "id"}
    found = [name for name in columns if names_rows(name) or len(columns) == 1]
    return {"id": plain_name(max(found, key=rank))} if found else {}


def _arranged(
    path: Path,
    columns: Sequence[str],
    rows: Sequence[Plain],
    wanted: Sequence[str],
    named: Mapping[str, str],
) -> Table:
    """Return rows with their columns by our names; columns of lists are left out."""
    roles = _find_roles(path.name, columns, wanted, named)
    others = [name for name in columns if name not in roles.values()]
    _check_columns(path.name, columns, others, roles)
    lists = [
        name for name in others if any(isinstance(row[name], list | dict | bytes) for row in rows)
    ]
    kept = [name for name in others if name not in lists]
    listed = tuple(
        {role: row[name] for role, name in roles.items()} | {name: row[name] for name in kept}
        for row in rows
    )
    notes = [
        f"{role}s are taken from the column {shown(name)}; {OPTIONS[role]} names another"
        for role, name in roles.items()
        if role in wanted and role != name and role in OPTIONS and not named.get(role)
    ]
    if lists:
        notes.append(f"left out, as they hold lists: {', '.join(map(shown, lists))}")
    return Table(path, (*roles, *kept), listed, tuple(notes))


def _find_roles(
    where: str, columns: Sequence[str], wanted: Sequence[str], named: Mapping[str, str]
) -> dict[str, str]:
    roles: dict[str, str] = {}
    for role in dict.fromkeys((*named, *wanted, *COLUMNS, LEVEL, *ID_COLUMNS)):
        name = named.get(role)
        if name and name not in columns:
            raise missing_column(where, name, columns, role)
        grouped = role == "image" and "id" in columns and role not in wanted  # ids group texts
        if not name and not grouped and (role in (*columns, *wanted) or role != "id"):
            name = role_of(columns, role)
        if name and name not in roles.values():
            roles[role] = name
        elif role in wanted:
            raise missing_column(where, role, columns, role)
    return roles


def role_of(columns: Sequence[str], role: str) -> str | None:
    """Return the column that plays a role (image, caption, level, id) by its name."""
    if role in columns:
        return role
    plain = {re.sub(r"[ -]", "_", name.strip().lower()): name for name in reversed(columns)}
    return next((plain[name] for name in OTHER_NAMES[role] if name in plain), None)


def missing_column(where: str, wanted: str, columns: Sequence[str], role: str = "") -> StimuliError:
    """Return the error for a column that is not there, with the nearest names."""
    usual = role_of(columns, role) if role else None
    near = get_close_matches(wanted, columns, n=3) or ([usual] if usual else [])
    present = ", ".join(map(shown, columns[:_SHOWN])) or "no columns"
    present += " …" if len(columns) > _SHOWN else ""
    meant = f"; did you mean {' or '.join(map(shown, near))}?" if near else ""
    if role in OPTIONS and columns:
        meant += f"{'' if near else ';'} {OPTIONS[role]} names the one that holds the {role}s"
    if role == "image" and columns and not near:
        meant += ", and --texts-only takes texts alone"
    return StimuliError(f"{where} has no column {wanted!r}; it has {present}{meant}")


def _check_columns(
    where: str, every: Sequence[str], columns: Sequence[str], roles: Mapping[str, str]
) -> None:
    if not all(name.strip() for name in every):
        raise StimuliError(
            f"column {[not name.strip() for name in every].index(True) + 1} of {where} has no"
            " name; name or drop it"
        )
    if "stimulus" in columns:
        raise StimuliError(
            f"{where} has a column 'stimulus', a name that is taken by the stimulus id; rename it"
        )
    counts = Counter(name.lower() for name in (*roles, *columns))
    again = [name for name, count in counts.items() if count > 1]
    again += [name for name, count in Counter(every).items() if count > 1]
    if again:  # the store's column names do not tell upper from lower case
        raise StimuliError(
            f"{where} has several columns named {shown(again[0])} (upper and lower case are alike);"
            " rename or drop one"
        )


def _read_csv(file: UserFile) -> Records:
    columns, rows = csv_rows(file)
    columns = [name or INDEX if place == 0 else name for place, name in enumerate(columns)]
    return columns, [dict(zip(columns, row, strict=True)) for row in rows]


def _read_lines(file: UserFile) -> Records:
    lines = [line.strip() for line in file.text().splitlines() if line.strip()]
    return ["caption"], [{"caption": line} for line in lines]


def _read_json(file: UserFile) -> Records:
    file.check_room(_COPIES * file.size)
    with file.decoding():
        document = json.loads(file.text())
        records = _records(document)
    if records is None:
        raise StimuliError(
            f"{file.path.name} holds a {type(document).__name__} and no captions; expected COCO's"
            " captions (images, annotations with image_id and caption), or a list of objects such"
            ' as {"image": "a.jpg", "caption": "…"}'
        )
    return _by_column(file, records)


def _by_column(file: UserFile, records: Sequence[Json]) -> Records:
    columns = list(dict.fromkeys(name for record in records for name in record))
    file.check_count(len(columns), userfile.COLUMNS, "columns")
    file.check_room(CELL * len(columns) * len(records))
    return columns, [{name: one.get(name) for name in columns} for one in records]


def _records(document: Any) -> list[Json] | None:
    if isinstance(document, list) and all(isinstance(one, dict) for one in document):
        return document
    if not (isinstance(document, dict) and {"images", "annotations"} <= document.keys()):
        return None
    captions: dict[Any, list[Any]] = {one["id"]: [] for one in document["images"]}
    for one in document["annotations"]:
        if "caption" not in one:
            return None
        captions[one["image_id"]].append(one["caption"])
    return [
        {"image": one["file_name"], "caption": captions[one["id"]]} for one in document["images"]
    ]


def _read_jsonl(file: UserFile) -> Records:
    file.check_room(_COPIES * file.size)
    records = [record for _, record in json_lines(file)]
    return _by_column(file, records)


def _read_parquet(file: UserFile) -> Records:
    columns: list[str] = []
    rows: list[Json] = []
    taken = 0

    def check(name: str, kind: pa.DataType) -> None:
        columns.append(name)
        if "binary" in str(kind):
            raise StimuliError(
                f"column {shown(name)} of {file.path.name} holds bytes, of images perhaps; read a"
                " folder of Parquet files with images by --hub DIR"
            )

    for batch in read_parquet(file, check=check, index=True):
        parts = sum(len(one.flatten()) for one in batch.columns if one.type.num_fields == 1)
        taken += batch.nbytes + CELL * (batch.num_rows * len(columns) + parts)
        file.check_room(taken)
        named = zip(columns, batch.columns, strict=True)
        values = [_values(column, name, file) for name, column in named]
        rows += [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
    return columns, rows


def _values(column: pa.Array, name: str, file: UserFile) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (ValueError, OverflowError) as error:  # a date that no calendar has
        raise StimuliError(
            f"column {shown(name)} of {file.path.name} holds a {as_text(column.type)} that cannot"
            f" be read ({said(error)}); write it as text"
        ) from error


_READERS: Mapping[str, Callable[[UserFile], Records]] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".txt": _read_lines,
}
TABLES = tuple(_READERS)
