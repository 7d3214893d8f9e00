"""A look at a dataset before it is added: its first stimuli, and what is wrong, row by row.

Of a folder it reads every row, then the header of every image, then every image in full, until
the time is up, so that a large dataset takes seconds. `FolderDataset.open` and `HubDataset.open`
look at everything.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from PIL import Image

from core.errors import StimuliError
from core.progress import Progress
from core.stimuli.addition import OF_HUB, Addition
from core.stimuli.captions import Captioned, Problem, Row, gather, gather_images
from core.stimuli.folder import check_file, list_images, read_images, read_rows
from core.stimuli.images import load_image, read_image, read_size
from core.stimuli.table import COLUMNS, TEXT_COLUMNS, find_table, read_table

SIDE = 224  # pixels of a sample's longer side
REPORTED = 20  # images from one report of progress to the next


@dataclass(frozen=True)
class Sample:
    """A stimulus as it would be added: its id, a small image, None of texts alone, and its captions
    by level.
    """

    stimulus: str
    image: Image.Image | None
    captions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Limits:
    """How much a preview looks at: rows of the table, seconds for the images, or for all that the
    hub sends; first images that are decoded however long they take, samples.
    """

    rows: int = 200_000
    seconds: float = 15.0
    images: int = 40
    samples: int = 8


@dataclass(frozen=True)
class Preview:
    """What was seen of a source.

    rows, images: how many rows were read, and how many images they name. unopened: how many of
    these were found and are images by their header. unread: how many were not looked for. is_whole:
    whether the table has no further rows. levels, factors: their names.
    """

    samples: tuple[Sample, ...]
    problems: tuple[Problem, ...]
    rows: int
    images: int
    unopened: int
    unread: int
    is_whole: bool
    levels: tuple[str, ...]
    factors: tuple[str, ...]


LIMITS = Limits()
FIRST_OF_HUB = Limits(rows=32)


def preview_folder(
    folder: Path,
    *,
    table: Path | None = None,
    images_only: bool = False,
    texts_only: bool = False,
    limits: Limits = LIMITS,
    report: Progress | None = None,
) -> Preview:
    """Look at a folder of images with a caption table, or at one of the two; see
    `FolderDataset.open`.

    Raises StimuliError where there is no table that can be read.
    """
    if images_only:
        read = _alone(folder, limits)
    else:
        read = _captioned(folder, table, limits, texts_only=texts_only)
    images = _look_at_images(folder, () if texts_only else read.rows, limits, report)
    put_together = gather_images if images_only else gather
    whole, wrong = put_together(read.rows, broken=images.unusable.keys())
    problems = [*read.problems, *images.unusable.values(), *wrong]
    names = [name for name in whole.stimuli["stimulus"] if texts_only or name in images.decoded]
    return Preview(
        samples=tuple(
            _sample(whole, name, None if texts_only else read_image(images.decoded[name]))
            for name in names[: limits.samples]
        ),
        problems=tuple(sorted(problems, key=lambda problem: problem.row)),
        rows=read.count,
        images=images.count,
        unopened=images.unopened,
        unread=images.count - len(images.unusable) - len(images.decoded) - images.unopened,
        is_whole=read.is_whole,
        levels=whole.levels,
        factors=read.factors,
    )


@dataclass(frozen=True)
class _Read:
    """The first rows of a folder: how many they are, what is wrong with some, whether there are no
    further ones, and the names of factors.
    """

    rows: Sequence[Row]
    count: int
    problems: Sequence[Problem]
    is_whole: bool
    factors: tuple[str, ...]


def _captioned(folder: Path, table: Path | None, limits: Limits, *, texts_only: bool) -> _Read:
    path = folder / table if table else find_table(folder)
    wanted = TEXT_COLUMNS if texts_only else COLUMNS
    every = read_table(path, wanted=wanted, most=limits.rows + 1)
    seen = replace(every, rows=every.rows[: limits.rows])
    is_whole = seen.rows == every.rows
    rows, nameless = read_rows(seen, texts_only=texts_only)
    settled = rows if is_whole else _settled(rows)
    return _Read(settled, len(seen.rows), nameless, is_whole, seen.factor_columns)


def _alone(folder: Path, limits: Limits) -> _Read:
    """Read a folder of images without captions."""
    every = list_images(folder)
    rows = every[: limits.rows]
    return _Read(rows, len(rows), (), len(rows) == len(every), ())


def preview_hub(addition: Addition, *, limits: Limits = FIRST_OF_HUB) -> Preview:
    """Look at the first rows of a data set of the hub; see `HubDataset.open`.

    Raises OfflineError where the hub cannot be reached, StimuliError for all else.
    """
    from core.stimuli import (  # a second, only for those who use the hub
        hub_files,
        hub_rows,
        hub_source,
    )

    values = {name: getattr(addition, name) or None for name in OF_HUB}
    if addition.images_only:
        values["text_column"] = hub_source.NO_TEXT
    if addition.texts_only:
        values["image_column"] = hub_source.NO_IMAGE
    source = hub_source.source_of(addition.hub, values, addition.skip_broken)
    table = hub_files.load_first(source, limits.rows + 1, limits.seconds)
    is_whole = len(table) <= limits.rows and "[" not in source["split"]
    count = min(len(table), limits.rows)
    rows = hub_rows.read_rows(table.take(count), source)
    names = rows.whole.stimuli["stimulus"][: limits.samples]
    return Preview(
        samples=tuple(_sample(rows.whole, name, rows.image(name)) for name in names),
        problems=tuple(rows.problems),
        rows=count,
        images=count if rows.images else 0,
        unopened=0,
        unread=0,
        is_whole=is_whole,
        levels=rows.whole.levels,
        factors=(),
    )


@dataclass(frozen=True)
class _Images:
    """What was seen of the images: files that were decoded, how many others were found, and what is
    wrong with the rest; count: of all that are named.
    """

    count: int
    decoded: Mapping[str, Path]
    unopened: int
    unusable: Mapping[str, Problem]


def _look_at_images(
    folder: Path, rows: Sequence[Row], limits: Limits, report: Progress | None
) -> _Images:
    """Decode the first images, read the headers of the others, and decode these too while there is
    time.
    """
    end = time.monotonic() + limits.seconds
    named = _first_of_each(rows)
    first = {row.stimulus for row in named[: limits.images]}

    def check(path: Path, name: str) -> str:
        if name in first:
            return check_file(path, name)
        read_size(path, name)
        return ""

    looked_for = chain(
        named[: limits.images], _in_time(named[limits.images :], end, report, "image headers")
    )
    files, unusable = read_images(folder, looked_for, check)
    left = [row for row in named[limits.images :] if row.stimulus in files]
    for row in _in_time(left, end, report, "images"):
        path, _ = files.pop(row.stimulus)
        try:
            files[row.stimulus] = path, check_file(path, row.stimulus)
        except StimuliError as error:
            unusable[row.stimulus] = Problem(row.number, str(error))
    decoded = {name: path for name, (path, digest) in files.items() if digest}
    return _Images(len(named), decoded, len(files) - len(decoded), unusable)


def _first_of_each(rows: Sequence[Row]) -> list[Row]:
    """Return the first row of each stimulus."""
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.stimulus, row)
    return list(first.values())


def _in_time(rows: Sequence[Row], end: float, report: Progress | None, what: str) -> Iterator[Row]:
    """Give rows until the time is up."""
    for done, row in enumerate(rows):
        if time.monotonic() > end:
            return
        if report and done % REPORTED == 0:
            report(done, len(rows), what)
        yield row


def _settled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of stimuli whose default caption was read: that of others may come later."""
    default = rows[0].level if rows else ""
    ready = {row.stimulus for row in rows if row.level == default}
    return [row for row in rows if row.stimulus in ready]


def _sample(whole: Captioned, name: str, data: bytes | None) -> Sample:
    """Make a sample of a stimulus that is whole; data: its image, None of texts alone."""
    (index,) = whole.stimuli.index[whole.stimuli["stimulus"] == name]
    levels = whole.captions[whole.captions["index"] == index]
    image = None
    if data is not None:
        image = load_image(data, name=name, side=SIDE)
        image.thumbnail((SIDE, SIDE))
    return Sample(name, image, tuple(zip(levels["level"], levels["text"], strict=True)))
