"""A dataset from a folder: image files and a table of their captions (`core/stimuli/table.py`), or
one of the two, or ids alone.

Without a column of levels the captions of an image are numbered from 0; columns that are no image,
caption or level are factors.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from core.errors import StimuliError
from core.progress import tell
from core.stimuli.captions import (
    Captioned,
    Problem,
    Row,
    gather,
    gather_images,
    read_level,
)
from core.stimuli.dataset import OpenedDataset, assemble, check_name
from core.stimuli.images import SUFFIXES, check_image, read_image
from core.stimuli.table import COLUMNS, LEVEL, TEXT_COLUMNS, Table, find_table, read_table, walk

MOST_FACTORS = 50  # columns of a table of ids; of more it is one of features
TOLD = 1000  # rows, which take about a second


@dataclass(frozen=True)
class Images:
    """The images of a folder. link: whether they may lie outside. home: of their table."""

    folder: Path
    link: bool = False
    home: Path = Path()

    def find(self, name: str) -> Path:
        """Return the path of an image: in the folder, its `images` or next to its table, else in
        the only subfolder that has it; raise StimuliError.
        """
        outside = StimuliError(
            f"image {name} is outside the folder; use --link to read it there, or copy it into"
            f" {self.folder.name}"
        )
        if name.startswith("..") and not self.link:
            raise outside
        # os.path.isfile, as Path.is_file raises for names that no file can have
        near = [self.folder / name, self.folder / "images" / name]
        if self.home.is_relative_to(self.folder):
            near.append(self.home / name)
        file = next((path for path in near if os.path.isfile(path)), None)
        if file is None:
            ends = self._places.get(os.path.basename(name), [])
            found = [place for place in ends if f"/{place}".endswith(f"/{name}")]
            if len(found) > 1:
                raise StimuliError(
                    f"image {name} may be {' or '.join(found[:3])}"
                    f"{' or another' if len(found) > 3 else ''}; write it with its folder"
                )
            if not found:
                raise StimuliError(f"image {name} is not in the folder or its subfolders")
            file = self.folder / found[0]
        if not (self.link or file.resolve().is_relative_to(self.folder.resolve())):
            raise outside
        return file.resolve()

    @cached_property
    def _places(self) -> Mapping[str, list[str]]:
        places: dict[str, list[str]] = {}
        for path in walk(self.folder, link=self.link):
            places.setdefault(os.path.basename(path), []).append(Path(path).as_posix())
        return places


def image_name(value: object) -> str:
    """Return an image's path in one spelling: "./a//b.jpg" is "a/b.jpg"."""
    text = f"{value}".strip() if isinstance(value, str | int) else ""
    return os.path.normpath(text) if text else ""


@dataclass(frozen=True)
class Choices:
    """What is read of a folder; see `core.stimuli.addition.Addition`. table: relative to the
    folder.
    """

    table: str | Path = ""
    images_only: bool = False
    texts_only: bool = False
    ids_only: bool = False
    link: bool = False
    image_column: str = ""
    text_column: str = ""

    @property
    def has_images(self) -> bool:
        return not (self.texts_only or self.ids_only)

    @property
    def has_captions(self) -> bool:
        return not (self.images_only or self.ids_only)

    def gather(
        self, rows: Sequence[Row], *, broken: Collection[str]
    ) -> tuple[Captioned, list[Problem]]:
        """Return the stimuli that are whole, and what is wrong with the others."""
        return (gather if self.has_captions else gather_images)(rows, broken=broken)


@dataclass(frozen=True)
class Content:
    """What a folder holds, images unread. name: of the table, relative to the folder."""

    table: Table
    name: str
    rows: Sequence[Row]
    problems: Sequence[Problem]
    images: Images
    factors: tuple[str, ...]


def open_folder(
    folder: Path, *, name: str, skip_broken: bool = False, **choices: Any
) -> OpenedDataset:
    """Open a folder in the table's order of first appearance, checking every row and decoding every
    image once. choices: as of `Choices`. Raise StimuliError as `assemble`.
    """
    check_name(name)
    chosen = Choices(**choices)
    content = read_content(folder, chosen)
    rows = content.rows if chosen.has_images else []
    files, unusable = read_images(content.images, _told(rows))
    whole, wrong = chosen.gather(content.rows, broken=unusable.keys())
    source = {
        "kind": "folder",
        "folder": str(folder.resolve()),
        "skip_broken": skip_broken,
        **{name: value for name, value in vars(chosen).items() if value},
        "table": content.name,
        "images_only": chosen.images_only,
    }
    opened = assemble(
        whole,
        [*content.problems, *unusable.values(), *wrong],
        where=str(content.table.path),
        name=name,
        title=name if chosen.ids_only else Path(source["folder"]).name,
        source=source,
        digests={one: digest for one, (_, digest) in files.items()} if chosen.has_images else None,
        read=partial(_read, files),
    )
    return replace(opened, notes=(*content.table.notes, *opened.notes))


def _read(files: Mapping[str, tuple[Path, str]], stimulus: str) -> tuple[str, bytes]:
    place, digest = files[stimulus]
    data = read_image(place)
    if hashlib.sha256(data).hexdigest() != digest:
        raise StimuliError(
            f"image {place} has changed since the dataset was opened; add the folder again"
            " under a new name"
        )
    return str(place), data


def read_content(folder: Path, chosen: Choices) -> Content:
    """Read what a folder holds but its images; raise StimuliError for one without such data."""
    if not os.path.isdir(folder):
        raise StimuliError(f"{folder} is not a folder; expected one with image files")
    name, home = "", folder
    if chosen.images_only:
        table = _list_images(folder, chosen)
    else:
        path = (
            folder / chosen.table
            if chosen.table
            else find_table(folder, texts_only=chosen.texts_only)
        )
        wanted = TEXT_COLUMNS if chosen.texts_only else COLUMNS
        named = {"image": chosen.image_column, "caption": chosen.text_column}
        table = read_table(path, wanted=("id",) if chosen.ids_only else wanted, named=named)
        name, home = str(chosen.table or path.relative_to(folder)), path.parent
    if chosen.ids_only and "id" not in table.columns:
        raise StimuliError(
            f"{name} has no column of ids; expected one called id, or a .txt with an id in each"
            " line"
        )
    if chosen.ids_only and len(table.columns) > MOST_FACTORS:
        table = replace(table, columns=("id",))
    rows, problems = read_rows(table, chosen)
    factors = tuple(one for one in table.factor_columns if one != _key(table, chosen))
    images = Images(folder, chosen.link, home)
    return Content(table, name, rows, problems, images, factors)


def _list_images(folder: Path, chosen: Choices) -> Table:
    found = (Path(place).as_posix() for place in walk(folder, link=chosen.link))
    names = [name for name in found if Path(name).suffix.lower() in SUFFIXES]
    if not names:
        raise StimuliError(
            f"{folder} has no images; expected at least one, such as a.png"
            " (--link follows links to folders)"
        )
    return Table(folder, ("image",), tuple({"image": name} for name in sorted(names)))


def read_rows(table: Table, chosen: Choices) -> tuple[list[Row], list[Problem]]:
    """Return the rows that name a stimulus, each with its level, and the problems of the others. A
    cell with a list of captions gives a row for each. Without a column of ids each row of texts
    alone is a stimulus, named by its place from 0; raise StimuliError if there are levels then.
    """
    key, has_levels = _key(table, chosen), LEVEL in table.columns and chosen.has_captions
    if has_levels and not key:
        raise StimuliError(
            f"{table.path.name} has a column of caption levels, but none that says which captions"
            " belong together; add a column 'id'"
        )
    factors = [name for name in table.factor_columns if name != key]
    rows, problems = [], []
    counts: Counter[str] = Counter()
    for number, values in enumerate(table.rows, start=1):
        stimulus = str(number - 1)
        if key is not None:
            stimulus = (image_name if key == "image" else read_level)(values[key])
        if not stimulus:
            problems.append(Problem(number, f"names no {key}"))
            continue
        known = {name: _factor(values[name]) for name in factors}
        cell = values.get("caption")
        texts = cell if isinstance(cell, list) and cell else [cell]
        for place, text in enumerate(texts):
            if place and not text:  # a caption that this stimulus does not have
                continue
            level = read_level(values[LEVEL]) if has_levels else str(counts[stimulus] + place)
            rows.append(Row(number, stimulus, level, text, known))
        counts[stimulus] += len(texts)
    return rows, problems


def _key(table: Table, chosen: Choices) -> str | None:
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
    for done, row in enumerate(rows, start=1):
        yield row
        if done % TOLD == 0:
            tell(done, len(rows), "rows whose images are checked")


def read_images(
    images: Images, rows: Iterable[Row]
) -> tuple[dict[str, tuple[Path, str]], dict[str, Problem]]:
    """Find and decode each image once; return path and digest (SHA-256) of the good ones and the
    problem of the others.
    """
    good: dict[str, tuple[Path, str]] = {}
    bad: dict[str, Problem] = {}
    names: dict[Path, str] = {}
    for row in rows:
        if row.stimulus in good or row.stimulus in bad:
            continue
        try:
            place = images.find(row.stimulus)
            if place in names:
                raise StimuliError(
                    f"{row.stimulus} and {names[place]} are the same file; use one name"
                )
            names[place], data = row.stimulus, read_image(place)
            check_image(data, name=row.stimulus)
            good[row.stimulus] = (place, hashlib.sha256(data).hexdigest())
        except StimuliError as error:
            bad[row.stimulus] = Problem(row.number, str(error))
    return good, bad
