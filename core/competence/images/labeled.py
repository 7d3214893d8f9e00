"""Sets of images with a label each, for probes: drawn by a seed, divided into parts, read from
their files on demand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64
from PIL import Image

from core.competence.probes import Split, split
from core.errors import InputError, StimuliError
from core.stimuli.images import Stored, load_image

Limit = int | tuple[int, int]  # samples at most: of all parts, or to learn from and to be tested on
LIMIT = 10_000  # samples of a task at most
LEAST = 6  # samples: three to train, one to validate, two to test
SEED = 0  # of the draw
_TEST = 1 / 3  # of the samples, as in `split`
_VALIDATION = 1 / 4  # of what is not test, as there


class Sample(NamedTuple):
    """An image, and its class from 0."""

    image: Stored
    label: int


@dataclass(frozen=True)
class Samples:
    """All samples of a source: those to learn from and those to be tested on, or `train` alone
    where it does not divide them.
    """

    train: Sequence[Sample]
    test: Sequence[Sample] = ()


@dataclass(frozen=True, eq=False)
class Question:
    """One thing to recognize in every image of a set: classes from 0, and which images train,
    validate and test.

    split: what the images to be tested on are called.
    """

    task: str
    group: str
    labels: Int64[np.ndarray, "n"]
    parts: Split
    split: str = "test"


@dataclass(frozen=True)
class ImageSet:
    """Images, the questions about them, and in `source` all that both depend on, as plain data.

    name: for people. size: number of images. images: gives those of start … stop − 1.
    """

    name: str
    source: Mapping[str, Any]
    size: int
    images: Callable[[int, int], list[Image.Image]]
    questions: tuple[Question, ...]


def draw(samples: Samples, *, limit: Limit = LIMIT, seed: int = SEED) -> tuple[list[Sample], Split]:
    """Draw at most `limit` samples and divide them: half to train, a sixth to validate, a third to
    test.

    Where the source has a test part, the test samples are drawn from it and all others from its
    training part; of two limits, the first is of those to learn from, a quarter of which validates,
    the second of those to be tested on. Raises InputError for a limit, and StimuliError for a
    source, that leaves a part empty; StimuliError for a single class.
    """
    dice = np.random.default_rng(seed)
    most_learned, most_tested = _limits(limit)
    if not samples.test:
        kept = _some(samples.train, most_learned + most_tested, dice)
        parts = split(len(kept))
    else:
        test = _some(samples.test, most_tested, dice)
        learned = _some(samples.train, most_learned, dice)
        kept = [*learned, *test]
        first = len(learned) - round(len(learned) * _VALIDATION)
        ends = (0, first), (first, len(learned)), (len(learned), len(kept))
        parts = Split(*(np.arange(*each, dtype=np.int64) for each in ends))
    if len(kept) < LEAST or not all(len(part) for part in vars(parts).values()):
        raise StimuliError(
            f"{len(kept)} labeled images are too few to train, validate and test a probe; give at"
            f" least {LEAST}"
        )
    if len({sample.label for sample in kept}) < 2:
        raise StimuliError(
            "all labeled images are of one class, so there is nothing to predict; give at least two"
            " classes"
        )
    return kept, parts


def as_set(
    name: str, group: str, samples: Sequence[Sample], parts: Split, *, source: Mapping[str, Any]
) -> ImageSet:
    """Return drawn samples as a set with one question, which has the set's name.

    Its classes are those that were drawn, numbered from 0 in their order: a probe makes room for
    every class up to the last.
    """
    _, labels = np.unique([sample.label for sample in samples], return_inverse=True)

    def images(start: int, stop: int) -> list[Image.Image]:
        return [load_image(each.read(), name=str(each)) for each, _ in samples[start:stop]]

    return ImageSet(name, source, len(samples), images, (Question(name, group, labels, parts),))


def digest(samples: Sequence[Sample]) -> str:
    """Return the SHA-256 over the labels and bytes of samples in order, in hexadecimal."""
    total = hashlib.sha256()
    for sample in samples:
        total.update(f"{sample.label} {hashlib.sha256(sample.image.read()).hexdigest()}\n".encode())
    return total.hexdigest()


def _limits(limit: Limit) -> tuple[int, int]:
    """Return how many samples at most are learned from, and how many tested on; raises InputError
    for too few.
    """
    if isinstance(limit, int):
        limit = limit - round(limit * _TEST), round(limit * _TEST)
    if sum(limit) < LEAST:
        raise InputError(
            f"a probe takes at least {LEAST} samples to train, validate and test, not {sum(limit)};"
            " raise --limit"
        )
    return limit


def _some(samples: Sequence[Sample], limit: int, dice: np.random.Generator) -> list[Sample]:
    return [samples[place] for place in dice.permutation(len(samples))[:limit]]
