"""A look at a dataset before it is added: its first stimuli, and what is wrong, row by row.

Of a folder it reads every row, then the header of every image, then every image in full, until
the time is up, so that a large dataset takes seconds. `FolderDataset.open` and `HubDataset.open`
look at everything.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image

from core.errors import StimuliError
from core.progress import Progress
from core.stimuli import hub
from core.stimuli.addition import OF_HUB, Addition
from core.stimuli.captions import Captioned, Problem, Row
from core.stimuli.folder import Choices, check_file, read_content, read_images
from core.stimuli.images import Stored, load_image, read_size

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
    whether the table has no further rows. levels, factors: their names. notes: what is odd but
    allowed.
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
    notes: tuple[str, ...] = ()


LIMITS = Limits()
FIRST_OF_HUB = Limits(rows=32)


def preview_folder(
    folder: Path, *, limits: Limits = LIMITS, report: Progress | None = None, **choices: Any
) -> Preview:
    """Look at a folder of images with captions, or at one of the two; choices: as of
    `FolderDataset.open`.

    The first images are decoded, the headers of the others are read, and these are decoded too
    while there is time. Raises StimuliError if there is nothing that can be read.
    """
    chosen = Choices(**choices)
    content = read_content(folder, chosen, limits.rows)
    end = time.monotonic() + limits.seconds
    first_rows: dict[str, Row] = {}  # of each stimulus
    for row in content.rows if chosen.has_images else ():
        first_rows.setdefault(row.stimulus, row)
    named = list(first_rows.values())
    first, others = named[: limits.images], named[limits.images :]
    at_once = {row.stimulus for row in first}

    def check(place: Stored, name: str) -> str:
        if name in at_once or place.size is not None:
            return check_file(place, name)
        read_size(place.path, name)
        return ""

    looked_for = chain(first, _in_time(others, end, report, "image headers"))
    files, unusable = read_images(content.images, looked_for, check)
    left = [row for row in others if row.stimulus in files]
    for row in _in_time(left, end, report, "images"):
        place, _ = files.pop(row.stimulus)
        try:
            files[row.stimulus] = place, check_file(place, row.stimulus)
        except StimuliError as error:
            unusable[row.stimulus] = Problem(row.number, str(error))
    decoded = {name: place for name, (place, digest) in files.items() if digest}
    whole, wrong = content.gather(unusable)
    problems = [*content.problems, *unusable.values(), *wrong]
    names = whole.stimuli["stimulus"]
    seen = [name for name in names if not chosen.has_images or name in decoded][: limits.samples]
    return Preview(
        samples=tuple(
            _sample(whole, name, decoded[name].read() if chosen.has_images else None)
            for name in seen
        ),
        problems=tuple(sorted(problems, key=lambda problem: problem.row)),
        rows=content.count,
        images=len(first_rows),
        unopened=len(files) - len(decoded),
        unread=len(first_rows) - len(unusable) - len(files),
        is_whole=content.is_whole,
        levels=whole.levels,
        factors=content.factors,
        notes=(*content.notes, *whole.notes),
    )


def preview_hub(addition: Addition, *, limits: Limits = FIRST_OF_HUB) -> Preview:
    """Look at the first rows of a data set of the hub; see `HubDataset.open`.

    Raises OfflineError where the hub cannot be reached, StimuliError for all else.
    """
    values = {name: getattr(addition, name) or None for name in OF_HUB}
    if addition.images_only:
        values["text_column"] = hub.NO_TEXT
    if addition.texts_only:
        values["image_column"] = hub.NO_IMAGE
    source = hub.source_of(addition.hub, values, addition.skip_broken)
    table = hub.load_first(source, limits.rows + 1, limits.seconds)
    source = hub.completed(source, table.column_names)
    is_whole = len(table) <= limits.rows and "[" not in (source["split"] or "")
    count = min(len(table), limits.rows)
    rows = hub.read_rows(table.take(count), source)
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
        notes=rows.whole.notes,
    )


def _in_time(rows: Sequence[Row], end: float, report: Progress | None, what: str) -> Iterator[Row]:
    for done, row in enumerate(rows):
        if time.monotonic() > end:
            return
        if report and done % REPORTED == 0:
            report(done, len(rows), what)
        yield row


def _sample(whole: Captioned, name: str, data: bytes | None) -> Sample:
    """Make a sample of a stimulus that is whole; data: its image, None of texts alone."""
    (index,) = whole.stimuli.index[whole.stimuli["stimulus"] == name]
    levels = whole.captions[whole.captions["index"] == index]
    image = None
    if data is not None:
        image = load_image(data, name=name, side=SIDE)
        image.thumbnail((SIDE, SIDE))
    return Sample(name, image, tuple(zip(levels["level"], levels["text"], strict=True)))
