"""A look at a folder before it is added: its first stimuli, and what is wrong, row by row. Every
row is read, then the images until the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from core.progress import Progress
from core.stimuli.captions import Captioned, Problem, Row
from core.stimuli.folder import Choices, read_content, read_images
from core.stimuli.images import load_image, read_image

SIDE = 224  # pixels of a sample's longer side
REPORTED = 20  # images from one report of progress to the next


@dataclass(frozen=True)
class Sample:
    """A stimulus as it would be added; image: None of texts alone. captions: level and text."""

    stimulus: str
    image: Image.Image | None
    captions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Limits:
    """seconds: for the images. images: first ones that are decoded in any case."""

    seconds: float = 15.0
    images: int = 40
    samples: int = 8


@dataclass(frozen=True)
class Preview:
    """What was seen of a folder. unread: how many of the images were not opened. notes: what is odd
    but allowed.
    """

    samples: tuple[Sample, ...]
    problems: tuple[Problem, ...]
    rows: int
    images: int
    unread: int
    levels: tuple[str, ...]
    factors: tuple[str, ...]
    notes: tuple[str, ...] = ()


LIMITS = Limits()


def preview_folder(
    folder: Path, *, limits: Limits = LIMITS, report: Progress | None = None, **choices: Any
) -> Preview:
    """Look at a folder; choices: as of `open_folder`. Raise StimuliError if there is nothing
    that can be read.
    """
    chosen = Choices(**choices)
    content = read_content(folder, chosen)
    first: dict[str, Row] = {}  # row of each stimulus
    for row in content.rows if chosen.has_images else ():
        first.setdefault(row.stimulus, row)
    files, unusable = read_images(content.images, _in_time([*first.values()], limits, report))
    whole, wrong = chosen.gather(content.rows, broken=unusable.keys())
    problems = [*content.problems, *unusable.values(), *wrong]
    names = [name for name in whole.stimuli["stimulus"] if name in files or not chosen.has_images][
        : limits.samples
    ]
    return Preview(
        samples=tuple(
            _sample(whole, name, read_image(files[name][0]) if name in files else None)
            for name in names
        ),
        problems=tuple(sorted(problems, key=lambda problem: problem.row)),
        rows=len(content.table.rows),
        images=len(first),
        unread=len(first) - len(unusable) - len(files),
        levels=whole.levels,
        factors=content.factors,
        notes=(*content.table.notes, *whole.notes),
    )


def _in_time(rows: Sequence[Row], limits: Limits, report: Progress | None) -> Iterator[Row]:
    end = time.monotonic() + limits.seconds
    for done, row in enumerate(rows):
        if done >= limits.images and time.monotonic() > end:
            return
        if report and done % REPORTED == 0:
            report(done, len(rows), "images")
        yield row


def _sample(whole: Captioned, name: str, data: bytes | None) -> Sample:
    (index,) = whole.stimuli.index[whole.stimuli["stimulus"] == name]
    levels = whole.captions[whole.captions["index"] == index]
    image = None
    if data is not None:
        image = load_image(data, name=name, side=SIDE)
        image.thumbnail((SIDE, SIDE))
    return Sample(name, image, tuple(zip(levels["level"], levels["text"], strict=True)))
