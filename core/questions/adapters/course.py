"""One training of adapters, pass by pass, and how they do on the validation stimuli meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.questions.adapters.lesson import Lesson, Space
from core.questions.adapters.maps.model import Adapters, Settings, compared, joined
from core.questions.adapters.measures import score_views
from core.questions.adapters.retrieval import rank_own, recall
from core.settings import choose_device
from core.study.parts import Measure

if TYPE_CHECKING:
    from core.questions.adapters.maps.training import Epoch

Look = tuple["Epoch", Mapping[str, float]]


def follow(
    lesson: Lesson, reference: Space, measure: Measure, settings: Settings, *, device: str
) -> Iterator[Look]:
    """Train, and yield after each pass the state of the training, with a row of its figures:
    epoch, loss, validation, best (its pass), and recall_10 and alignment of the best adapters so
    far (see `watch`).
    """
    seen: dict[str, float] = {}
    for epoch in passes(lesson, settings, seed=0, device=device):
        if epoch.best_number == epoch.number:
            seen = watch(lesson, reference, epoch.best, measure)
        losses = {"epoch": epoch.number, "loss": epoch.loss, "validation": epoch.validation}
        yield epoch, {**losses, "place": epoch.place, "best": epoch.best_number, **seen}


def passes(lesson: Lesson, settings: Settings, *, seed: int, device: str) -> Iterator[Epoch]:
    """Train, and yield after each pass the state of the training."""
    from core.questions.adapters.maps.training import train  # torch takes seconds

    return train(lesson.spaces, lesson.parts, settings, seed=seed, device=choose_device(device))


def train_once(
    lesson: Lesson, settings: Settings, *, device: str, stop: int | None = None
) -> Adapters:
    """Return the best adapters of one training; stop: after so many passes, None for the end."""
    for epoch in passes(lesson, settings, seed=0, device=device):
        best = epoch.best
        if epoch.number == stop:
            break
    return best


def watch(
    lesson: Lesson, reference: Space, adapters: Adapters, measure: Measure
) -> dict[str, float]:
    """Return how adapters do on the validation stimuli: alignment and recall_10.

    alignment: of the mean of all adapted vectors with the reference. recall_10: the mean over all
    directions.
    """
    rows = lesson.parts.validation
    adapted = adapters.apply({name: space[rows] for name, space in lesson.spaces.items()})
    mean = joined(adapted, adapters.products)
    scores = score_views({"": mean}, compared(reference[rows], adapters.products), measure)
    recalls = [
        recall(rank_own(adapted[a], adapted[b]), 10) for a in adapted for b in adapted if a != b
    ]
    return {"alignment": scores[""], "recall_10": float(np.mean(recalls))}
