"""Caption tables as files: CSV and its kin, JSON, JSONL or Parquet, read as rows of plain values.

In CSV every value is text exactly as written ("NA", "null" and "007" are captions like any other);
fields are separated by commas, semicolons, tabs or bars. Columns that others call by another name
(`file_name`, `text`) are found, and said.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import StimuliError
from core.files import userfile
from core.files.ids import INDEX, id_line, names_rows, plain_name
from core.files.parquet import as_text, read_parquet
from core.files.texts import CELL, csv_rows, find_mark, json_lines
from core.files.userfile import UserFile, said, shown
from core.stimuli.images import SUFFIXES

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa

COLUMNS = ("image", "caption")
TEXT_COLUMNS = ("caption",)  # of a table of texts alone
ID_COLUMNS = ("image", "id")  # which of its captions belong together
LEVEL = "level"
OTHER_NAMES: dict[str, tuple[str, ...]] = {  # what others call these columns
    "image": (
        *("image", "file_name", "filename", "image_name", "image_file", "image_path", "img"),
        *("img_path", "img_name", "filepath", "file_path", "file", "path", "photo", "picture"),
        *("jpg", "jpeg", "png", "webp", "image_id", "img_id"),
    ),
    "caption": (
        *("caption", "captions", "text", "texts", "txt", "sentence", "sentences", "description"),
        *("descriptions", "comment", "comments", "raw", "title"),
    ),
    LEVEL: ("caption_index", "level", "comment_number", "caption_number", "sentence_number"),
    "label": (),
    "id": (),
}
OPTIONS = {"image": "--image-column", "caption": "--text-column"}
_SEVERAL = re.compile(r"(captions?|texts?|sentences?|comments?|descriptions?)[ _-]?\d+")
_IMAGE = re.compile(rf".+({'|'.join(map(re.escape, SUFFIXES))})(#\d+)?", re.IGNORECASE)
_NUMBERED = re.compile(r"(.+\.\w+)#(\d+)")  # Flickr8k: a.jpg#0
# what `datasets` writes next to its data
_ASIDE = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json")
_ARCHIVES = (".zip", ".gz", ".tgz", ".7z", ".rar", ".bz2", ".xz")
_SHOWN = 20  # columns that a message names
_HEAD = 10_000  # bytes that tell whether a text is a table
_COPIES = 12  # of the bytes of a JSON document in memory


@dataclass(frozen=True)
class Table:
    """Rows as found; a value that a row lacks is None. Row 1 is the first after a header.

    columns: image, caption and level by these names, whatever the file calls them. notes: which
    these are. wrong: what is wrong with a row, by its number.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    wrong: Mapping[int, str] = field(default_factory=dict)

    @property
    def id_column(self) -> str | None:
        """Return the column that says which texts belong together if there are no images."""
        return next((name for name in ID_COLUMNS if name in self.columns), None)

    @property
    def factor_columns(self) -> tuple[str, ...]:
        """Return every column of values that is no image, caption or level."""
        return tuple(name for name in self.columns if name not in (*COLUMNS, LEVEL))


def find_table(folder: Path, *, texts_only: bool = False) -> Path:
    """Return the only caption table of a folder, or of its subfolders; texts_only: any text is one,
    of a caption in each line. Raises StimuliError if there is none or a choice.
    """
    if not os.path.isdir(folder):  # Path.is_dir raises for names that no folder can have
        raise StimuliError(
            f"{folder} is not a folder; expected one with image files and a caption table"
        )
    files = list_tables(folder, texts_only=texts_only)
    if not files:
        kinds = Counter(Path(place).suffix.lower() or "no ending" for place in walk(folder))
        held = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common(6))
        archives = "; unpack archives first" if any(kind in kinds for kind in _ARCHIVES) else ""
        raise StimuliError(
            f"no caption table in {folder}, which holds"
            f" {f'files by ending: {held}{archives}' if held else 'no files'}; expected one such as"
            " captions.csv, with the columns image and caption, unless --images-only takes images"
            " alone"
        )
    if len(files) > 1:
        names = ", ".join(str(path.relative_to(folder)) for path in files[:_SHOWN])
        raise StimuliError(
            f"{folder} has {len(files)} tables: {names}; say which one holds the captions"
            " (--table), or keep only one"
        )
    return files[0]


def list_tables(folder: Path, *, texts_only: bool = False) -> list[Path]:
    """Return the tables of a folder by name, those of its subfolders if it has none itself: CSV,
    TSV, JSONL and Parquet; else JSON; else texts that look like one, or all texts. Raises
    StimuliError if it cannot be listed.
    """
    try:
        inside = [path for path in folder.iterdir() if _may_be(path)]
    except OSError as error:
        raise StimuliError(
            f"cannot list the folder {folder}: {error.strerror}; change its rights"
        ) from error
    deep = (folder / place for place in walk(folder) if _may_be(Path(place)))
    for files in (inside, deep):
        files = sorted(path for path in files if not path.name.startswith("."))
        for suffixes in ((".csv", ".tsv", ".jsonl", ".parquet"), (".json",), (".txt",)):
            tables = [path for path in files if path.suffix.lower() in suffixes]
            if suffixes == (".txt",) and not texts_only:
                tables = [path for path in tables if _is_table(path)]
            if tables:
                return tables
    return []


def _may_be(path: Path) -> bool:
    return path.suffix.lower() in _READERS and path.name not in _ASIDE


def is_saved(folder: Path) -> bool:
    """Return whether a folder is what `save_to_disk` of `datasets` wrote."""
    return any((folder / name).is_file() for name in ("state.json", "dataset_dict.json"))


def walk(folder: Path, *, link: bool = False) -> Iterator[str]:
    """Yield the path of each file below a folder, relative to it, hidden ones left out; link:
    whether links to folders are followed.
    """
    been = set()
    for place, folders, files in os.walk(folder, followlinks=link):
        real = os.path.realpath(place)
        folders[:] = sorted(one for one in folders if one[0] != "." and real not in been)
        been.add(real)
        for name in sorted(files):
            if name[0] != ".":
                yield os.path.relpath(os.path.join(place, name), folder)


def _is_table(path: Path) -> bool:
    """Return whether a text begins with a header, or with the name of an image and a text."""
    try:
        if not path.is_file():  # opening a pipe would not end
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8-sig", "replace").lstrip()
    except OSError:
        return False
    lines = head.splitlines()
    whole = lines[:-1] if len(head) >= _HEAD and len(lines) > 1 else lines
    cells = "".join(lines[:1]).strip().split(find_mark("\n".join(whole)) or ",")
    named = _names_image(cells) or role_of(cells, "caption")
    return len(cells) > 1 and bool(named)


def read_table(
    path: Path,
    *,
    wanted: Sequence[str] = COLUMNS,
    named: Mapping[str, str] | None = None,
    most: int | None = None,
) -> Table:
    """Read a table by its suffix and find its columns; wanted: those that it must have, a caption
    table's by default; of "id" alone, which any column may be that `id_line` takes, none if there
    is no such column. named: what the file calls some of them. most: how many rows are read, all
    if None.

    Raises StimuliError if the file is missing, is no such table, is not UTF-8, or lacks a
    column.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise StimuliError(
            f"{path.name} is not a caption table; expected a name ending in {', '.join(_READERS)}"
        )
    file = UserFile(
        path, f"a caption table ({path.suffix.lower()})", StimuliError, most=userfile.TEXT
    )
    wrong: dict[int, str] = {}
    columns, rows = reader(file, most, wrong)
    for number, row in enumerate(rows, start=1):
        for name, value in row.items():
            if isinstance(value, str) and len(value) > userfile.FIELD:
                raise StimuliError(
                    f"row {number} of {path.name} has {len(value):,} characters in {shown(name)};"
                    f" at most {userfile.FIELD:,} are read: shorten it"
                )
    named, ids = {**(named or {})}, None
    if "id" in wanted:
        ids = id_line({one: [row[one] for row in rows] for one in columns})
        named, wanted = ({"id": plain_name(ids)}, wanted) if ids else ({}, ())
    if any(one.startswith(INDEX) for one in columns):  # the index of pandas has a name, or is none
        plain = {one: plain_name(one) for one in columns}
        kept = [one for one in columns if one == ids or plain[one] != "index"]
        columns = [plain[one] for one in kept]
        rows = [{plain[one]: row[one] for one in kept} for row in rows]
    return _arranged(path, columns, rows, wanted, named, wrong)


def _arranged(
    path: Path,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    wanted: Sequence[str],
    named: Mapping[str, str],
    wrong: Mapping[int, str],
) -> Table:
    """Return rows with their columns by our names; columns of lists hold captions or are left
    out.
    """
    roles = _find_roles(path.name, columns, wanted, named)
    several = [] if "caption" in roles else _several(columns)
    others = [name for name in columns if name not in {*roles.values(), *several}]
    _check_columns(path.name, columns, others, roles)
    aside = [
        name for name in others if any(isinstance(row[name], list | dict | bytes) for row in rows)
    ]
    kept = [name for name in others if name not in aside]
    listed: list[Mapping[str, Any]] = []
    for row in rows:
        values = {role: row[name] for role, name in roles.items()}
        if several:
            values["caption"] = [row[name] for name in several]
        listed.append(values | {name: row[name] for name in kept})
    notes = [
        f"{role}s are taken from the column {shown(name)}; {OPTIONS[role]} names another"
        for role, name in roles.items()
        if role in wanted and role != name and role in OPTIONS and not named.get(role)
    ]
    if aside:
        notes.append(f"left out, as they hold lists: {', '.join(map(shown, aside))}")
    found = (*roles, *(["caption"] if several else []), *kept)
    return _numbered(Table(path, found, tuple(listed), tuple(notes), wrong))


def _find_roles(
    where: str, columns: Sequence[str], wanted: Sequence[str], named: Mapping[str, str]
) -> dict[str, str]:
    roles: dict[str, str] = {}
    for role in dict.fromkeys((*wanted, *COLUMNS, LEVEL, *ID_COLUMNS)):
        name = named.get(role) or (role_of(columns, role) if role in wanted else None)
        if name and name not in columns:
            raise missing_column(where, name, columns, role)
        if role not in wanted and (role != "image" or "id" not in columns):  # ids group texts
            known = role in columns or role != "id"
            name = name or (role_of(columns, role) if known else None)
        if name and name not in roles.values():
            roles[role] = name
        elif role in wanted and not (role == "caption" and _several(columns)):
            raise missing_column(where, role, columns, role)
    return roles


def role_of(columns: Sequence[str], role: str) -> str | None:
    """Return the column that plays a role (image, caption, level, id) by its name."""
    if role in columns:
        return role
    plain = {re.sub(r"[ -]", "_", name.strip().lower()): name for name in reversed(columns)}
    return next((plain[name] for name in OTHER_NAMES[role] if name in plain), None)


def _several(columns: Sequence[str]) -> list[str]:
    """Return the columns that hold one of several captions each: caption_1, caption_2 …"""
    return [name for name in columns if _SEVERAL.fullmatch(name.strip().lower())]


def _numbered(table: Table) -> Table:
    """Return a table whose images are called a.jpg#0, a.jpg#1 … with that number as the level."""
    if LEVEL in table.columns or "image" not in table.columns:
        return table
    parts = [_NUMBERED.fullmatch(f"{row['image'] or ''}") for row in table.rows]
    if not any(parts) or any(
        part is None and row["image"] for part, row in zip(parts, table.rows, strict=True)
    ):
        return table
    rows = tuple(
        {**row, "image": part[1], LEVEL: part[2]} if part else {**row, LEVEL: None}
        for row, part in zip(table.rows, parts, strict=True)
    )
    return Table(table.path, (*table.columns, LEVEL), rows, table.notes, table.wrong)


def missing_column(where: str, wanted: str, columns: Sequence[str], role: str = "") -> StimuliError:
    """Return the error for a column that is not there: what was found, and the nearest names."""
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
    if all(name in every for name in OTHER_NAMES[LEVEL][:2]):
        raise StimuliError(
            f"{where} has both {' and '.join(OTHER_NAMES[LEVEL][:2])}, which mean the same; keep"
            " one"
        )
    if not all(name.strip() for name in every):
        raise StimuliError(
            f"column {[not name.strip() for name in every].index(True) + 1} of {where} has no"
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
    counts = Counter(name.lower() for name in (*roles, *columns))
    again = [name for name, count in counts.items() if count > 1]
    again += [name for name, count in Counter(every).items() if count > 1]
    if again:  # the store's column names do not tell upper from lower case
        raise StimuliError(
            f"{where} has several columns named {shown(again[0])} (upper and lower case are alike);"
            " rename or drop one"
        )


def _names_image(cells: Sequence[str]) -> bool:
    """Return whether a row of a table without a header names an image, perhaps a number, a text."""
    first, *others = (cell.strip() for cell in cells)
    is_short = len(others) == 1 or (len(others) == 2 and others[0].isdecimal())
    return is_short and bool(_IMAGE.fullmatch(first)) and not _IMAGE.fullmatch(others[-1])


def _read_csv(file: UserFile, most: int | None, wrong: dict[int, str]) -> Records:
    more = None if most is None else most + 1
    columns, rows = csv_rows(file, most=more, wrong=wrong)
    if columns and _names_image(columns):  # no header, as in Flickr8k.token.txt
        rows = [columns, *rows]
        columns = ["image", LEVEL, "caption"] if len(columns) == 3 else list(COLUMNS)
        moved = {number + 1: reason for number, reason in wrong.items()}
        wrong.clear()
        wrong.update(moved)
    columns = [name or INDEX if place == 0 else name for place, name in enumerate(columns)]
    empty = [None] * len(columns)
    return columns, [dict(zip(columns, row or empty, strict=True)) for row in rows[:most]]


def _read_txt(file: UserFile, most: int | None, wrong: dict[int, str]) -> Records:
    """Read a table, or a text in each line where it is none."""
    if _is_table(file.path):
        return _read_csv(file, most, wrong)
    lines = [line.strip() for line in file.text().splitlines() if line.strip()]
    is_header = bool(lines) and bool(role_of(lines[:1], "caption") or names_rows(lines[0]))
    name = lines[0] if is_header else "caption"
    return [name], [{name: line} for line in lines[is_header:][:most]]


def _read_json(file: UserFile, most: int | None, wrong: dict[int, str]) -> Records:
    """Read COCO's captions, a list of records, such a list under a name, or captions by image."""
    file.check_room(_COPIES * file.size)
    text = file.text()
    with suppress(ValueError, RecursionError):
        document = json.loads(text.partition("\n")[0])  # lines of JSON under this name
        if isinstance(document, dict) and "\n" in text.strip():
            return _read_jsonl(file, most, wrong)
    with file.decoding():
        document = json.loads(text)
        records = _records(document)
    if records is None:
        kind = type(document).__name__
        names = f" with {', '.join(map(shown, list(document)[:_SHOWN]))}" if kind == "dict" else ""
        raise StimuliError(
            f"{file.path.name} holds a {kind}{names} and no captions; expected COCO's captions"
            " (images, annotations with image_id and caption), a list of objects such as"
            ' {"image": "a.jpg", "caption": "…"}, or {"a.jpg": ["…", "…"]}'
        )
    columns = dict.fromkeys(name for record in records[:most] for name in record)
    file.check_count(len(columns), userfile.COLUMNS, "columns")
    return list(columns), [{name: one.get(name) for name in columns} for one in records[:most]]


def _records(document: Any) -> list[dict[str, Any]] | None:
    if isinstance(document, list) and all(isinstance(one, dict) for one in document):
        return document
    if not isinstance(document, dict):
        return None
    lists = {
        name: one
        for name, one in document.items()
        if isinstance(one, list) and one and all(isinstance(each, dict) for each in one)
    }
    if {"images", "annotations"} <= lists.keys():
        if "caption" not in lists["annotations"][0]:
            return None
        captions: dict[Any, list[Any]] = {}
        for one in lists["annotations"]:
            captions.setdefault(one["image_id"], []).append(one["caption"])
        return [
            {"image": one["file_name"], "caption": captions.pop(one["id"], [])}
            for one in lists["images"]
        ] + [{"image": None, "caption": each} for each in captions.values()]
    if len(lists) == 1:
        return list(next(iter(lists.values())))
    if all(isinstance(one, dict) for one in document.values()):
        return [{"image": name, **one} for name, one in document.items()]
    texts = all(
        isinstance(one, str) or (isinstance(one, list) and all(isinstance(x, str) for x in one))
        for one in document.values()
    )
    return [{"image": name, "caption": one} for name, one in document.items()] if texts else None


def _read_jsonl(file: UserFile, most: int | None, _: dict[int, str]) -> Records:
    records, columns, cells = list[dict[str, Any]](), dict[str, None](), 0
    for _number, record in islice(json_lines(file), most):
        columns.update(dict.fromkeys(record))
        file.check_count(len(columns), userfile.COLUMNS, "columns")
        cells += len(record)
        if len(records) % 10_000 == 0:
            file.check_room(cells * CELL)
        records.append(record)
    file.check_room((cells + len(records) * len(columns)) * CELL)
    return list(columns), [{name: record.get(name) for name in columns} for record in records]


def _read_parquet(file: UserFile, most: int | None, _: dict[int, str]) -> Records:
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    taken = 0

    def check(name: str, kind: pa.DataType) -> None:
        columns.append(name)
        if holds_images(name, kind):
            raise StimuliError(
                f"column {shown(name)} of {file.path.name} holds images; leave --table out, and the"
                " Parquet files of the folder are read as one data set"
            )

    for batch in read_parquet(file, check=check, index=True):
        parts = sum(len(one.flatten()) for one in batch.columns if one.type.num_fields == 1)
        taken += batch.nbytes + CELL * (batch.num_rows * len(columns) + parts)
        file.check_room(taken)
        named = zip(columns, batch.columns, strict=True)
        values = [_values(column, name, file) for name, column in named]
        rows += [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
        if most is not None and len(rows) >= most:
            break
    return columns, rows[:most]


def holds_images(name: str, kind: pa.DataType, named: str = "") -> bool:
    """Return whether a column of Parquet holds the bytes of images; named: the column that does."""
    import pyarrow as pa

    parts = [field.type for field in kind] if pa.types.is_struct(kind) else [kind]
    is_bytes = any(pa.types.is_binary(one) or pa.types.is_large_binary(one) for one in parts)
    return is_bytes and (name == named or role_of([name], "image") is not None)


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
_READERS: Mapping[str, Callable[[UserFile, int | None, dict[int, str]], Records]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".txt": _read_txt,
}
TABLES = tuple(_READERS)
