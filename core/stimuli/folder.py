"""A dataset from a folder: image files and one table of captions beside them, or one of the two.

The table is CSV, JSONL or Parquet with `image` (relative to the folder or its `images`), `caption`,
and optional `caption_index` or `level` (else the captions of an image are numbered from 0); other
columns are factors.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from core.errors import StimuliError
from core.progress import tell
from core.stimuli.captions import (
    Captioned,
    Problem,
    Row,
    gather,
    gather_images,
    read_level,
    refuse,
)
from core.stimuli.dataset import DatasetCard, check_images, check_name
from core.stimuli.images import SUFFIXES, check_image, load_image, read_image
from core.stimuli.table import COLUMNS, TEXT_COLUMNS, Table, find_table, read_table

TOLD = 1000  # rows, which take about a second


@dataclass(frozen=True, eq=False)
class FolderDataset:
    """Stimuli of a folder in the table's order of first appearance; an image is read when asked
    for.

    skipped: what was left out and why (only with skip_broken). notes: what is odd but allowed.
    """

    card: DatasetCard
    stimuli: pd.DataFrame
    captions: pd.DataFrame
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    _files: tuple[tuple[Path, str], ...] = field(
        repr=False
    )  # each image and the sha256 that it had on opening; none of texts alone

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        name: str,
        table: Path | None = None,
        skip_broken: bool = False,
        images_only: bool = False,
        texts_only: bool = False,
    ) -> FolderDataset:
        """Open a folder, checking every row and decoding every image once.

        table: relative to the folder; found by itself where the folder has only one. images_only:
        all images in the order of their paths, without captions or factors. texts_only: the table
        without images. Raises StimuliError with all problems together, unless `skip_broken`, and
        always where nothing is left.
        """
        check_name(name)
        if images_only:
            path, rows, nameless = folder, list_images(folder), list[Problem]()
        else:
            path = folder / table if table else find_table(folder)
            wanted = TEXT_COLUMNS if texts_only else COLUMNS
            rows, nameless = read_rows(read_table(path, wanted=wanted), texts_only=texts_only)
        files, unusable = read_images(folder, _told([] if texts_only else rows), check_file)
        put_together = gather_images if images_only else gather
        whole, wrong = put_together(rows, broken=unusable.keys())
        problems = sorted([*nameless, *unusable.values(), *wrong], key=lambda problem: problem.row)
        if problems and not skip_broken:
            raise refuse(str(path), problems)
        if whole.stimuli.empty:
            raise _nothing_left(path, problems)
        source = {
            "kind": "folder",
            "folder": str(folder.resolve()),
            "table": "" if images_only else str(table or path.name),
            "skip_broken": skip_broken,
            **({"texts_only": True} if texts_only else {}),
        }
        return cls._of(name, source, whole, files, skipped=tuple(map(str, problems)))

    @classmethod
    def _of(
        cls,
        name: str,
        source: Mapping[str, Any],
        whole: Captioned,
        files: Mapping[str, tuple[Path, str]],
        *,
        skipped: tuple[str, ...],
    ) -> FolderDataset:
        has_images = "texts_only" not in source
        names = whole.stimuli["stimulus"].tolist()
        kept = tuple(files[name] for name in names) if has_images else ()
        revision, title = (
            whole.revision([digest for _, digest in kept]),
            Path(source["folder"]).name,
        )
        card = DatasetCard(name, title, revision, source, whole.levels, len(names), has_images)
        return cls(card, whole.stimuli, whole.captions, skipped, whole.notes, kept)

    @property
    def world(self) -> None:
        """A folder's factors are labels, no vectors of reality."""
        return None

    def image(self, index: int) -> Image.Image:
        """Return a stimulus's image; raises StimuliError where its file is gone or no longer what
        was opened, and where there are only texts.
        """
        check_images(self.card)
        if not 0 <= index < len(self._files):
            raise StimuliError(
                f"no stimulus {index} in {self.card.name}; there are 0 … {len(self._files) - 1}"
            )
        path, digest = self._files[index]
        data = read_image(path)
        if hashlib.sha256(data).hexdigest() != digest:
            raise StimuliError(
                f"image {path} has changed since the dataset was opened; add the folder again under"
                " a new name"
            )
        return load_image(data, name=str(path))


def list_images(folder: Path) -> list[Row]:
    """Return a row for each image of a folder and its subfolders, by path, hidden ones left out.

    Raises StimuliError for what is no folder, and for one without images.
    """
    if not os.path.isdir(folder):
        raise StimuliError(f"{folder} is not a folder; expected one with image files")
    places = sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES and path.is_file()
    )
    shown = [place for place in places if not any(part.startswith(".") for part in place.parts)]
    if not shown:
        raise StimuliError(f"{folder} has no images; expected at least one, such as a.png")
    return [Row(number, str(place), "", None) for number, place in enumerate(shown, start=1)]


def read_rows(table: Table, *, texts_only: bool = False) -> tuple[list[Row], list[Problem]]:
    """Return the rows that name an image, each with its level, and the problems of the others.

    texts_only: the column `image` or `id` says which captions belong together; without them each
    row is a stimulus, named by its place from 0. Raises StimuliError where levels lack such a
    column.
    """
    key = table.id_column if texts_only else "image"
    _check_levels(table, key)
    rows, problems = [], []
    counts: Counter[str] = Counter()
    for number, values in enumerate(table.rows, start=1):
        stimulus = _name(key, values, number)
        if not stimulus:
            problems.append(Problem(number, f"names no {key}"))
            continue
        level = (
            read_level(values[table.level_column]) if table.level_column else str(counts[stimulus])
        )
        counts[stimulus] += 1
        factors = {
            name: _factor(name, values[name]) for name in table.factor_columns if name != key
        }
        rows.append(Row(number, stimulus, level, values["caption"], factors))
    return rows, problems


def _check_levels(table: Table, key: str | None) -> None:
    if table.level_column and not key:
        raise StimuliError(
            f"{table.path.name} has a column {table.level_column!r}, but none that says which"
            " captions belong together; add a column 'id'"
        )


def _name(key: str | None, values: Mapping[str, Any], number: int) -> str:
    """Return what a row calls its stimulus, empty where it does not."""
    if key is None:
        return str(number - 1)
    return _image_name(values[key]) if key == "image" else read_level(values[key])


def _image_name(value: Any) -> str:
    """Return an image's path in one spelling ("./a//b.jpg" is "a/b.jpg"), empty where there is
    none.
    """
    return os.path.normpath(value.strip()) if isinstance(value, str) and value.strip() else ""


def _factor(name: str, value: Any) -> Any:
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list | bytes):
        raise StimuliError(
            f"factor {name!r} holds a {type(value).__name__}; expected text or numbers; drop or"
            " rewrite that column"
        )
    return value if isinstance(value, int | float) else str(value)


def _told(rows: Sequence[Row]) -> Iterator[Row]:
    """Pass rows on, and tell how many there were, every TOLD rows."""
    for done, row in enumerate(rows, start=1):
        yield row
        if done % TOLD == 0:
            tell(done, len(rows), "rows whose images are checked")


def read_images(
    folder: Path, rows: Iterable[Row], check: Callable[[Path, str], str]
) -> tuple[dict[str, tuple[Path, str]], dict[str, Problem]]:
    """Find and check each image once; return path and digest of the good ones and the problem of
    the others. check: see `check_file`.
    """
    good: dict[str, tuple[Path, str]] = {}
    bad: dict[str, Problem] = {}
    names: dict[Path, str] = {}
    for row in rows:
        if row.stimulus in good or row.stimulus in bad:
            continue
        try:
            path = find_image(folder, row.stimulus)
            if path in names:
                raise StimuliError(
                    f"{row.stimulus} and {names[path]} are the same file; use one name"
                )
            names[path] = row.stimulus
            good[row.stimulus] = (path, check(path, row.stimulus))
        except StimuliError as error:
            bad[row.stimulus] = Problem(row.number, str(error))
    return good, bad


def find_image(folder: Path, name: str) -> Path:
    """Return the file of an image; raises StimuliError where it is missing or leads out of the
    folder, by .. or by a link.
    """
    astray = StimuliError(f"image {name} leads out of the folder; copy it into {folder.name}")
    if os.path.isabs(name) or Path(name).parts[0] == os.pardir:
        raise astray
    # os.path.isfile, as Path.is_file raises for names that no file can have
    path = next(
        (place for place in (folder / name, folder / "images" / name) if os.path.isfile(place)),
        None,
    )
    if path is None:
        raise StimuliError(f"image {name} is not in the folder or its images/")
    file = path.resolve()
    if not file.is_relative_to(folder.resolve()):
        raise astray
    return file


def check_file(path: Path, name: str) -> str:
    """Return the sha256 of an image; raises StimuliError where it cannot be read or decoded."""
    data = read_image(path)
    check_image(data, name=name)
    return hashlib.sha256(data).hexdigest()


def _nothing_left(path: Path, problems: Sequence[Problem]) -> StimuliError:
    if not problems:
        return StimuliError(f"{path} has no rows; expected at least one stimulus")
    return StimuliError(
        f"nothing is left of {path}: all its stimuli are broken, first {problems[0]}"
    )
