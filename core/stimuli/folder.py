"""A dataset from a folder: image files and captions next to them, or one of the two, or ids alone.

Captions are a table (`core/stimuli/table.py`), or texts with the names of the images: a.jpg and
a.txt, as files or in tars (WebDataset), which are not unpacked. Without a column of levels the
captions of an image are numbered from 0; columns that are no image, caption or level are factors.
A table may leave out an image's folders or its ending, or come from another machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import posixpath
import tarfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import SEEK_END
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from core.errors import StimuliError
from core.files.arrays import NUMBERS, TEXTS, read_numpy
from core.files.ids import id_line
from core.files.userfile import FIELD, UserFile
from core.progress import tell
from core.stimuli.captions import (
    Captioned,
    Problem,
    Row,
    gather,
    gather_images,
    read_level,
    refuse,
    type_values,
)
from core.stimuli.dataset import DatasetCard, check_images, check_name
from core.stimuli.images import SUFFIXES, Stored, check_image, load_image
from core.stimuli.table import (
    COLUMNS,
    LEVEL,
    TABLES,
    TEXT_COLUMNS,
    Table,
    find_table,
    list_tables,
    read_table,
    role_of,
    walk,
)

MOST_FACTORS = 50  # columns of a table of ids; of more it is one of features
TOLD = 1000  # rows, which take about a second
_BLOCK = 512  # bytes, of zeros at a tar's end


class Member(NamedTuple):
    """A file in a tar. key: its name without the ending, which those that belong together share.
    suffix: the ending, in small letters. data: what it holds, where that was asked for.
    """

    name: str
    key: str
    suffix: str
    place: Stored
    data: bytes = b""


def list_members(path: Path, *, read: Collection[str], listed: Collection[str]) -> list[Member]:
    """Return the files of a tar in its order by their endings: those that are read, FIELD bytes of
    each at most, and those that are only listed. Raises StimuliError for what is no whole tar.
    """
    members = []
    archive = UserFile(path, "a whole tar file", StimuliError)
    with archive.open() as file, archive.decoding(), tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            name = posixpath.normpath(member.name)
            key, dot, suffix = name.rpartition(".")
            ending, data = dot + suffix.lower(), b""
            hidden = posixpath.basename(name).startswith(".")  # macOS adds ._a.jpg to a.jpg
            if not member.isfile() or hidden or ending not in (*read, *listed):
                continue
            if ending in read:  # without moving the file from where tarfile reads on
                here = file.tell()
                file.seek(member.offset_data)
                data = file.read(min(member.size, FIELD))
                file.seek(here)
            place = Stored(path, member.offset_data, member.size)
            members.append(Member(name, key, ending, place, data))
        # what is cut off behind a member looks like a smaller set
        file.seek(-_BLOCK, SEEK_END)
        if any(file.read()):
            raise tarfile.ReadError("its end is missing")
    return members


@dataclass(frozen=True)
class Images:
    """The images of a folder. link: whether they may lie elsewhere, by an absolute path or a
    symbolic link. stored: those that lie in other files, by name. home: where their table lies.
    """

    folder: Path
    link: bool = False
    stored: Mapping[str, Stored] = field(default_factory=dict)
    home: Path = Path()

    def find(self, name: str) -> Stored:
        """Return where an image lies: by its path in the folder, its `images` or next to its table,
        else by the only path in a subfolder of which one is the end of the other, whatever the case
        of letters, and without the ending, or zeros before a number, if the name has none.

        Raises StimuliError if it is missing, if several files may be meant, or if it leads out of
        the folder.
        """
        if name in self.stored:
            return self.stored[name]
        # os.path.isfile, as Path.is_file raises for names that no file can have
        near = [self.folder / place / name for place in ("", "images")]
        if self.home.is_relative_to(self.folder):
            near.append(self.home / name)
        file = next((path for path in near if os.path.isfile(path)), None)
        if file is None and Path(name).parts[0] != os.pardir:
            file = self._search(name)
        if not self.link and (
            Path(name).parts[0] == os.pardir
            or (file and not file.resolve().is_relative_to(self.folder.resolve()))
        ):
            raise StimuliError(
                f"image {name} leads out of the folder; --link reads it where it is, or copy it"
                f" into {self.folder.name}"
            )
        if file is None:
            links = (path for path in self.folder.iterdir() if path.is_symlink() and path.is_dir())
            linked = None if self.link else next(links, None)
            note = f"; {linked.name} is a link, which --link follows" if linked else ""
            raise StimuliError(f"image {name} is not in the folder or its subfolders{note}")
        return Stored(file.resolve())

    def _search(self, name: str) -> Path | None:
        wanted = PurePosixPath(name)
        found = self._places.get(wanted.name.lower(), [])
        if not found and name.isdecimal():  # 391895 is COCO's 000000391895.jpg
            found = self._places.get(name.lstrip("0"), [])
        if wanted.suffix.lower() in SUFFIXES:
            found = [place for place in found if place.name.lower() == wanted.name.lower()]
        # of two lists of folders one is the end of the other
        ends = [zip(place.parts[-2::-1], wanted.parts[-2::-1], strict=False) for place in found]
        fits = [all(a.lower() == b.lower() for a, b in pairs) for pairs in ends]
        found = [place for place, fit in zip(found, fits, strict=True) if fit]
        found = [place for place in found if place.name == wanted.name] or found
        if len(found) > 1:
            raise StimuliError(
                f"image {name} may be {' or '.join(map(str, found[:3]))}"
                f"{' or another' if len(found) > 3 else ''}; write it with its folder and ending"
            )
        return self.folder / found[0] if found else None

    @cached_property
    def _places(self) -> Mapping[str, list[PurePosixPath]]:
        """Return the files by name, and the images also by the name without its ending, all in
        small letters.
        """
        places: dict[str, list[PurePosixPath]] = {}
        for path in walk(self.folder, link=self.link):
            place = PurePosixPath(Path(path).as_posix())
            places.setdefault(place.name.lower(), []).append(place)
            if place.suffix.lower() in SUFFIXES:
                for key in {place.stem.lower(), place.stem.lstrip("0") * place.stem.isdecimal()}:
                    places.setdefault(key, []).append(place)
        return places


def image_name(value: object) -> str:
    """Return an image's path in one spelling (".\\a\\b.jpg" is "a/b.jpg"), empty for none."""
    text = f"{value}".strip() if isinstance(value, str | int) else ""
    if "\\" in text:
        text = PureWindowsPath(text).as_posix()
    return os.path.normpath(text) if text else ""


@dataclass(frozen=True)
class Choices:
    """What is read of a folder; see `core.stimuli.addition.Addition`. table: relative to the
    folder; found where it is "". ids_only: the table without captions.
    """

    table: str | Path = ""
    images_only: bool = False
    texts_only: bool = False
    ids_only: bool = False
    link: bool = False
    split: str = ""
    image_column: str = ""
    text_column: str = ""

    @property
    def has_images(self) -> bool:
        return not (self.texts_only or self.ids_only)


@dataclass(frozen=True)
class Content:
    """What a folder holds, images unread. path: of what the rows are from. table: its name, "" for
    none. count: of the rows that were read; is_whole: whether there are no further ones. alone:
    whether there are no captions.
    """

    path: Path
    table: str
    rows: Sequence[Row]
    problems: Sequence[Problem]
    images: Images
    notes: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    count: int = 0
    is_whole: bool = True
    alone: bool = False

    def gather(self, broken: Iterable[str]) -> tuple[Captioned, list[Problem]]:
        """Return the stimuli that are whole, and what is wrong with the others."""
        return (gather_images if self.alone else gather)(self.rows, broken={*broken})


@dataclass(frozen=True, eq=False)
class FolderDataset:
    """Stimuli of a folder in the table's order of first appearance; an image is read when asked
    for.

    skipped: what was left out and why (only with skip_broken). notes: what is odd but allowed.
    """

    reality: ClassVar[None] = None  # its factors are not all known
    card: DatasetCard
    stimuli: pd.DataFrame
    captions: pd.DataFrame
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    # each image and the sha256 that it had on opening; none of texts alone
    _files: tuple[tuple[Stored, str], ...] = field(repr=False)

    @classmethod
    def open(
        cls, folder: Path, *, name: str, skip_broken: bool = False, **choices: Any
    ) -> FolderDataset:
        """Open a folder, checking every row and decoding every image once.

        choices: as of `Choices`. Raises StimuliError with all problems together, unless
        `skip_broken`, and always where nothing is left.
        """
        check_name(name)
        chosen = Choices(**choices)
        content = read_content(folder, chosen)
        rows = content.rows if chosen.has_images else []
        files, unusable = read_images(content.images, _told(rows), check_file)
        whole, wrong = content.gather(unusable)
        problems = [*content.problems, *unusable.values(), *wrong]
        problems.sort(key=lambda problem: problem.row)
        if problems and not skip_broken:
            raise refuse(str(content.path), problems)
        if whole.stimuli.empty and problems:
            raise StimuliError(
                f"nothing is left of {content.path}: all its stimuli are broken, first"
                f" {problems[0]}"
            )
        if whole.stimuli.empty:
            raise StimuliError(f"{content.path} has no rows; expected at least one stimulus")
        source = {
            "kind": "folder",
            "folder": str(folder.resolve()),
            "skip_broken": skip_broken,
            **{name: value for name, value in vars(chosen).items() if value},
            "table": content.table,
            "images_only": chosen.images_only,
        }
        names = whole.stimuli["stimulus"].tolist()
        kept = tuple(files[each] for each in names) if chosen.has_images else ()
        revision = whole.revision([digest for _, digest in kept])
        title = name if chosen.ids_only else Path(source["folder"]).name
        card = DatasetCard(
            name, title, revision, source, whole.levels, len(names), chosen.has_images
        )
        notes = (*content.notes, *whole.notes)
        return cls(card, whole.stimuli, whole.captions, tuple(map(str, problems)), notes, kept)

    def image(self, index: int) -> Image.Image:
        """Return a stimulus's image; raises StimuliError where its file is gone or no longer what
        was opened, and where there are only texts.
        """
        check_images(self.card)
        if not 0 <= index < len(self._files):
            raise StimuliError(
                f"no stimulus {index} in {self.card.name}; there are 0 … {len(self._files) - 1}"
            )
        place, digest = self._files[index]
        data = place.read()
        if hashlib.sha256(data).hexdigest() != digest:
            raise StimuliError(
                f"image {place} has changed since the dataset was opened; add the folder again"
                " under a new name"
            )
        return load_image(data, name=str(place))


def read_content(folder: Path, chosen: Choices, most: int | None = None) -> Content:
    """Read what a folder holds but its images: a table, texts named as the images are, or both in
    tars. most: how many rows are read, all where None. Raises StimuliError where there is none of
    these.
    """
    if not os.path.isdir(folder):
        raise StimuliError(f"{folder} is not a folder; expected one with image files")
    if chosen.ids_only:
        return _content(read_ids(folder / chosen.table), chosen, most, Images(folder))
    more = None if most is None else most + 1
    is_tar = str(chosen.table).lower().endswith(".tar")
    searches = not (chosen.table or chosen.images_only)
    tables = list_tables(folder, texts_only=chosen.texts_only) if searches else []
    if not (chosen.table or tables) or is_tar:
        found = [folder / place for place in walk(folder) if place.lower().endswith(".tar")]
        tars = [folder / chosen.table] if is_tar else found
        table, stored = _read_tars(folder, tars) if tars else _read_pairs(folder, chosen)
        if table.rows or chosen.images_only:
            images = Images(folder, chosen.link, stored)
            return _content(table, chosen, most, images, str(chosen.table))
    usual = Path() if chosen.table else find_table(folder, texts_only=chosen.texts_only)
    path = folder / chosen.table if chosen.table else usual
    wanted = TEXT_COLUMNS if chosen.texts_only else COLUMNS
    named = {"image": chosen.image_column, "caption": chosen.text_column}
    table = read_table(path, wanted=wanted, named=named, most=more)
    name = str(chosen.table or path.relative_to(folder))
    images = Images(folder, chosen.link, home=path.parent)
    return _content(table, chosen, most, images, name)


def _content(
    table: Table, chosen: Choices, most: int | None, images: Images, name: str | Path = ""
) -> Content:
    alone = chosen.images_only or chosen.ids_only
    is_whole = most is None or len(table.rows) <= most
    seen = replace(table, rows=table.rows[:most])
    rows, problems = read_rows(seen, chosen, alone=alone)
    if not is_whole and not alone:  # the default caption of the others may come later
        default = rows[0].level if rows else ""
        ready = {row.stimulus for row in rows if row.level == default}
        rows = [row for row in rows if row.stimulus in ready]
    factors = tuple(one for one in table.factor_columns if one != _key(table, chosen))
    made = table.path, f"{name or chosen.table}", rows, problems, images, table.notes, factors
    return Content(*made, len(seen.rows), is_whole, alone)


def read_ids(path: Path) -> Table:
    """Read the ids of a dataset that is nothing else: of a table with a column of ids, whose other
    columns are factors unless they hold fractions or are over MOST_FACTORS, of a text with one in
    each line, or of arrays; `id_line` says which. Rows without ids are numbered from 0. Raises
    StimuliError.
    """
    kind = path.suffix.lower()
    if kind not in (*ARRAYS, *TABLES):
        raise StimuliError(
            f"{path.name} is no list of ids; expected a name ending in"
            f" {', '.join((*TABLES, *ARRAYS))}: write the ids into a text, one in each line"
        )
    if kind in TABLES:
        table = read_table(path, wanted=("id",))
        name = "id" if "id" in table.columns else None
        few = len(table.columns) <= MOST_FACTORS
        read = table.columns if few else [name] if name else []
        columns = {one: [row[one] for row in table.rows] for one in read}
        rows = len(table.rows)
    else:
        arrays = ARRAYS[kind](UserFile(path, "arrays", StimuliError))
        lines = {
            one: array.ravel().tolist()
            for one, array in arrays.items()
            if one and array.size == max(array.shape, default=0) and array.dtype.kind in "iufUS"
        }
        columns = {
            one: [
                each.decode("utf-8", "replace") if isinstance(each, bytes) else each
                for each in line
            ]
            for one, line in lines.items()
        }
        name = id_line(columns)
        columns = {name: columns[name]} if name else {}
        rows = max((len(one) for one in arrays.values() if one.ndim), default=0)
    ids = columns.pop(name) if name else range(rows)
    factors = {}
    for one, values in columns.items() if name else ():
        numbers = type_values(values)
        if not (numbers.dtype.kind == "f" and (numbers.dropna() % 1).any()):
            factors[one] = values
    records = tuple(
        {"id": one, **dict(zip(factors, values, strict=True))}
        for one, *values in zip(ids, *factors.values(), strict=True)
    )
    notes = () if name else (f"{path.name} has no ids: its rows are numbered from 0",)
    return Table(path, ("id", *factors), records, notes)


def _read_hdf5(file: UserFile) -> dict[str, np.ndarray]:
    from core.files.hdf5 import read_hdf5  # with h5py: 0.2 s that the other kinds need not pay

    return read_hdf5(file)


ARRAYS: Mapping[str, Callable[[UserFile], dict[str, np.ndarray]]] = {
    ".npy": read_numpy,
    ".npz": lambda file: read_numpy(file, kinds=NUMBERS + TEXTS),
    **dict.fromkeys((".h5", ".hdf5", ".mat"), _read_hdf5),
}


def _read_tars(folder: Path, tars: Sequence[Path]) -> tuple[Table, dict[str, Stored]]:
    """Read tars in which what belongs to a stimulus has one name: 000.jpg, 000.txt or 000.json."""
    read = (".txt", ".json", ".caption")
    every = [list_members(path, read=read, listed=SUFFIXES) for path in tars]
    counts = Counter(key for one in every for key in {member.key for member in one})
    again = any(count > 1 for count in counts.values())  # shards that all begin with 000
    rows, stored = list[dict[str, Any]](), dict[str, Stored]()
    for path, members in zip(tars, every, strict=True):
        texts: dict[str, list[str]] = {}
        for member in sorted(members, key=lambda one: one.suffix, reverse=True):  # txt over json
            if member.suffix not in SUFFIXES and not texts.get(member.key):
                texts[member.key] = _captions(member.suffix, member.data)
        for member in members:
            if member.suffix in SUFFIXES:
                name = image_name(f"{path.stem}/" * again + member.name)
                stored[name] = member.place
                rows.append({"image": name, "caption": texts.get(member.key)})
    return Table(folder, COLUMNS, tuple(rows)), stored


def _read_pairs(folder: Path, chosen: Choices) -> tuple[Table, dict[str, Stored]]:
    """Read a folder in which texts have the names of images, or images alone."""
    found = walk(folder, link=chosen.link)
    places = sorted(PurePosixPath(Path(place).as_posix()) for place in found)
    shown = [one for one in places if one.suffix.lower() in SUFFIXES and (folder / one).is_file()]
    if chosen.images_only and not shown:
        raise StimuliError(
            f"{folder} has no images; expected at least one, such as a.png"
            " (--link follows links to folders)"
        )
    texts = {one.with_suffix("") for one in places if one.suffix == ".txt"}
    if not chosen.images_only and texts.isdisjoint(one.with_suffix("") for one in shown):
        return Table(folder, COLUMNS, ()), {}
    rows = []
    for one in shown:
        text = folder / one.with_suffix(".txt")
        is_read = not chosen.images_only and one.with_suffix("") in texts
        data = UserFile(text, "captions", StimuliError, most=FIELD).read() if is_read else b""
        rows.append({"image": str(one), "caption": _captions(".txt", data) or None})
    return Table(folder, COLUMNS, tuple(rows)), {}


def _captions(suffix: str, data: bytes) -> list[str]:
    """Return the captions that a file of its own holds: its lines, or those of a JSON object."""
    text = data.decode("utf-8-sig", "surrogateescape")  # what is no UTF-8 is named by row
    if suffix != ".json":
        return [line.strip() for line in text.splitlines() if line.strip()]
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(record, dict):
        record = record.get(role_of([*record], "caption") or "")
    return record if isinstance(record, list) else [record] if record else []


def read_rows(
    table: Table, chosen: Choices, *, alone: bool = False
) -> tuple[list[Row], list[Problem]]:
    """Return the rows that name an image, each with its level, and the problems of the others.

    A cell with a list of captions gives a row for each. Of texts alone the column `image` or `id`
    says which captions belong together; without them each row is a stimulus, named by its place
    from 0. Raises StimuliError where levels lack such a column.
    """
    key, has_levels = _key(table, chosen), LEVEL in table.columns and not alone
    if has_levels and not key:
        raise StimuliError(
            f"{table.path.name} has a column of caption levels, but none that says which captions"
            " belong together; add a column 'id'"
        )
    factors = [name for name in table.factor_columns if name != key]
    rows, problems = [], []
    counts: Counter[str] = Counter()
    for number, values in enumerate(table.rows, start=1):
        if chosen.split and f"{values.get('split')}" != chosen.split:
            continue
        stimulus = str(number - 1)
        if key is not None:
            stimulus = (image_name if key == "image" else read_level)(values[key])
        if number in table.wrong or not stimulus:
            problems.append(Problem(number, table.wrong.get(number, f"names no {key}")))
            continue
        told = {name: _factor(values[name]) for name in factors}
        cell = values.get("caption")
        texts = cell if isinstance(cell, list) and cell else [cell]
        for place, text in enumerate(texts):
            if place and not text:  # a caption that this stimulus does not have
                continue
            level = str(counts[stimulus] + place)
            level = read_level(values[LEVEL]) if has_levels else level
            if isinstance(text, dict):  # a record that holds a text, such as {"raw": "…"}
                text = text.get(role_of([*text], "caption"))
            rows.append(Row(number, stimulus, level, text, told))
        counts[stimulus] += len(texts)
    if chosen.split and not (rows or problems):
        raise StimuliError(
            f"{table.path.name} has no row whose column 'split' says {chosen.split!r}; leave"
            " --split out, or name another"
        )
    return rows, problems


def _key(table: Table, chosen: Choices) -> str | None:
    """Return the column that names the stimuli, None if their places do."""
    if chosen.ids_only:
        return "id"
    return table.id_column if chosen.texts_only else "image"


def _factor(value: Any) -> Any:
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, int | float) else str(value)


def _told(rows: Sequence[Row]) -> Iterator[Row]:
    """Pass rows on, and tell how many there were, every TOLD rows."""
    for done, row in enumerate(rows, start=1):
        yield row
        if done % TOLD == 0:
            tell(done, len(rows), "rows whose images are checked")


def read_images(
    images: Images, rows: Iterable[Row], check: Callable[[Stored, str], str]
) -> tuple[dict[str, tuple[Stored, str]], dict[str, Problem]]:
    """Find and check each image once; return place and digest of the good ones and the problem of
    the others. check: see `check_file`.
    """
    good: dict[str, tuple[Stored, str]] = {}
    bad: dict[str, Problem] = {}
    names: dict[Stored, str] = {}
    for row in rows:
        if row.stimulus in good or row.stimulus in bad:
            continue
        try:
            place = images.find(row.stimulus)
            if place in names:
                raise StimuliError(
                    f"{row.stimulus} and {names[place]} are the same file; use one name"
                )
            names[place] = row.stimulus
            good[row.stimulus] = (place, check(place, row.stimulus))
        except StimuliError as error:
            bad[row.stimulus] = Problem(row.number, str(error))
    return good, bad


def check_file(place: Stored, name: str) -> str:
    """Return the sha256 of an image; raises StimuliError where it cannot be read or decoded."""
    data = place.read()
    check_image(data, name=name)
    return hashlib.sha256(data).hexdigest()
