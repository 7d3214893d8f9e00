"""Images with captions that train a prefix, and those that it is measured on: never the same.

In the Cave, new events train, by seed, and the studied stimuli measure. In another dataset a
quarter of the studied stimuli measure, and others train.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Int64
from PIL.Image import Image

from core.embedding.reading import read_texts
from core.errors import InputError, UnknownNameError
from core.options import option, seed_option
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import Dataset, check_captions, check_images
from core.study.study import Study, studied_indices

LEAST = 16  # pictures of a training: an eighth of them validate it


@dataclass(frozen=True)
class Lessons:
    """How a prefix is trained, and on what."""

    events: int = option(
        1024,
        least=LEAST,
        most=100_000,
        label="Images",
        help="images that each training sees: new events of the Cave, or of another dataset as"
        " many of three quarters of the stimuli as there are",
    )
    passes: int = option(
        4, least=1, most=100, label="Epochs", help="epochs over the images, with other captions"
    )
    seeds: int = option(
        2, least=1, most=20, label="Trainings", help="trainings of each map; intervals cover others"
    )
    level: str = option(
        "", label="Caption level", help="caption level that is coded (the dataset's first)"
    )
    seed: int = seed_option("of the events and of all draws")


@dataclass(frozen=True)
class Told:
    """Pictures with captions. picture: of a row. captions: of all rows, in the words of a pass."""

    rows: int
    picture: Callable[[int], Image]
    captions: Callable[[int], Sequence[str]]


def choose_level(study: Study, level: str) -> str:
    """Return the caption level that is coded, the dataset's first if none is named; raises
    UnknownNameError, and StimuliError for a dataset without captions or without images.
    """
    check_captions(study.dataset)
    check_images(study.dataset)
    if level and level not in study.dataset.levels:
        raise UnknownNameError("caption level", level, study.dataset.levels)
    return level or study.dataset.levels[0]


def taught(study: Study, lessons: Lessons, *, training: int) -> Told:
    """Return what one training learns from; raises InputError if it would be too little."""
    if world := study.dataset.world:
        drawn = world.sample(f"prefix {lessons.seed} {training}", lessons.events)

        def captions(number: int) -> list[str]:
            way = f"pass {number}"
            return [world.caption(event, lessons.level, variant=way) for event in drawn]

        return Told(len(drawn), lambda row: world.render(drawn[row]), captions)
    learned = _parts(study, lessons.seed)[0][: lessons.events]
    if len(learned) < LEAST:
        raise InputError(
            f"a prefix is trained on {LEAST} stimuli or more next to the quarter that it is"
            f" measured on; {study.dataset.name!r} leaves {len(learned)}: study more stimuli"
        )
    return _of_dataset(study, lessons.level, learned)


def measured(study: Study, lessons: Lessons) -> tuple[Int64[np.ndarray, " n"], Told]:
    """Return the indices in the dataset of the stimuli that measure, and what they show and
    say.
    """
    whole = study.dataset.world is not None
    rows = studied_indices(study) if whole else _parts(study, lessons.seed)[1]
    if len(rows) < 2:
        raise InputError(
            "a caption is coded after its own image and after another's, so at least 2 stimuli"
            f" are measured; got {len(rows)}: study more"
        )
    return rows, _of_dataset(study, lessons.level, rows)


def _of_dataset(study: Study, level: str, rows: Int64[np.ndarray, " n"]) -> Told:
    texts = read_texts(study.store, study.dataset.name, level)

    @cache
    def dataset() -> Dataset:
        return open_dataset(study.dataset)

    return Told(
        len(rows),
        lambda row: dataset().image(int(rows[row])),
        lambda _: [texts[row][0] for row in rows],
    )


def _parts(
    study: Study, seed: int
) -> tuple[Int64[np.ndarray, " learned"], Int64[np.ndarray, " measured"]]:
    """Return which studied stimuli teach and which measure, a quarter of all."""
    order = np.random.default_rng(seed).permutation(studied_indices(study))
    quarter = len(order) // 4
    return order[quarter:], np.sort(order[:quarter])
