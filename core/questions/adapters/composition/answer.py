"""From x to z through y, whose adapters never saw an x beside its z, and directly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64

from core.errors import InputError
from core.progress import Progress
from core.questions.adapters.answer import complete_training, lesson_of
from core.questions.adapters.composition.findings import (
    COMPOSED,
    DIFFERENCE,
    DIRECT,
    composition_findings,
)
from core.questions.adapters.composition.question import Composition
from core.questions.adapters.course import passes
from core.questions.adapters.lesson import Lesson, Space
from core.questions.adapters.maps.model import Adapters, Parts, joined, settings_of, split
from core.questions.adapters.measures import score_views
from core.questions.adapters.question import LEAST
from core.questions.adapters.retrieval import rank_own, recall
from core.questions.registry import Answer, declare
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import mean_interval
from core.study.study import Study

MEASURES = ("recall_10", "alignment")

Views = Mapping[str, Float[np.ndarray, "n _"]]


def complete_composition(question: Composition, study: Study) -> Composition:
    """Name spaces and pairs; raises InputError for other than one z and for pairs whose halves are
    too few, and as `core.questions.adapters.answer.complete_training`.
    """
    if question.seeds < 1:
        raise InputError(f"expected at least one training; got {question.seeds} seeds")
    if not (question.x and len(question.z) == 1):
        raise InputError(
            f"composing takes one --x, one --y and one --z; got {len(question.x)},"
            f" {len(question.y)} and {len(question.z)}: name one of each"
        )
    complete = complete_training(question, study)
    if complete.pairs is not None and complete.pairs < 2 * LEAST:
        raise InputError(
            f"each adapter learns from half of the pairs, so composing takes {2 * LEAST} or more;"
            f" got {complete.pairs}"
        )
    return complete


def compose(question: Composition, study: Study, report: Progress | None) -> pd.DataFrame:
    """Train x with y on one half of the training and of the validation stimuli and y with z on the
    other, so that no stimulus shows an x beside its z; beside them x with z directly, on a half.
    The bridge is the least-squares map of y in the first common space to y in the second, over all
    training stimuli, without a penalty: it amplifies directions that are weak in the first.

    Returns a row per way (direct, composed, and their difference) and measure, on the test
    stimuli: recall_10 between x and z, averaged over directions, and alignment of the mean of both
    with the reference; each the mean over trainings with its 95 % interval, paired for the
    difference; seeds.
    """
    lesson, reference = lesson_of(question, study)
    truth = normalize_rows(reference[lesson.parts.test])
    reached: dict[str, list[list[float]]] = {DIRECT: [], COMPOSED: []}
    for seed in range(question.seeds):
        parts = split(study.size, pairs=question.pairs, seed=question.seed, draw=seed)
        ways = _views(lesson._replace(parts=parts), question, seed, study.device)
        for way, views in ways.items():
            recalls = [recall(rank_own(*sides), 10) for sides in (views, views[::-1])]
            mean = joined(dict(zip("xz", map(normalize_rows, views), strict=True)))
            alignment = score_views({"": mean}, truth, question.measure)[""]
            reached[way].append([float(np.mean(recalls)), alignment])
        if report:
            report(seed + 1, question.seeds, "trainings of each way")
    scores = {way: np.array(values) for way, values in reached.items()}
    scores[DIFFERENCE] = scores[COMPOSED] - scores[DIRECT]
    return _tabulate(scores)


declare(
    Composition,
    Answer(compose, version=2, complete=complete_composition, findings=composition_findings),
)


def _views(
    lesson: Lesson, question: Composition, seed: int, device: str
) -> dict[str, tuple[Space, Space]]:
    """Return x and z of the test stimuli in one space, by each way."""
    x, y, z = lesson.spaces
    taught, checked, test = lesson.parts.train, lesson.parts.validation, lesson.parts.test
    halves = zip(np.array_split(taught, 2), np.array_split(checked, 2), strict=True)
    first, second = (Parts(*half, test) for half in halves)

    def train(pair: tuple[str, str], parts: Parts) -> Adapters:
        own = Lesson({name: lesson.spaces[name] for name in pair}, parts)
        *_, last = passes(own, settings_of(question.fitting), seed=seed, device=device)
        return replace(last.best, products="raw")  # to compose maps, not directions

    def mapped(adapters: Adapters, name: str, rows: Int64[np.ndarray, "_"]) -> Space:
        return adapters.apply({name: lesson.spaces[name][rows]})[name]

    left, right, direct = train((x, y), first), train((y, z), second), train((x, z), first)
    bridge = np.linalg.lstsq(mapped(left, y, taught), mapped(right, y, taught), rcond=None)[0]
    return {
        DIRECT: (mapped(direct, x, test), mapped(direct, z, test)),
        COMPOSED: (mapped(left, x, test) @ bridge, mapped(right, z, test)),
    }


def _tabulate(scores: Mapping[str, Float64[np.ndarray, "seeds measures"]]) -> pd.DataFrame:
    rows = [
        (way, measure, float(each.mean()), *mean_interval(each), len(each))
        for way, values in scores.items()
        for measure, each in zip(MEASURES, values.T, strict=True)
    ]
    return pd.DataFrame(rows, columns=["way", "measure", "value", "low", "high", "seeds"])
