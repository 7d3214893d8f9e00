"""Adapters trained in several ways on the same stimuli, each way beside canonical correlation and
ridge regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from core.errors import InputError
from core.progress import Progress, tell_each
from core.questions.adapters.ablation.findings import ablation_findings
from core.questions.adapters.ablation.question import MOST_TRIED, Ablation, Variant
from core.questions.adapters.answer import complete_training, lesson_of
from core.questions.adapters.baselines import METHODS
from core.questions.adapters.course import passes
from core.questions.adapters.lesson import Lesson
from core.questions.adapters.maps.model import joined, settings_of, split
from core.questions.adapters.measures import Space, score_views
from core.questions.adapters.retrieval import rank_own, recall
from core.questions.registry import Answer, declare
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import mean_interval
from core.study.parts import Measure
from core.study.study import Study

BESIDE = ("CCA", "ridge")
MEASURES = ("recall_10", "alignment")

Scores = Float64[np.ndarray, "measures"]


def complete_ablation(question: Ablation, study: Study) -> Ablation:
    """Name spaces and pairs; raises as `core.questions.adapters.answer.complete_training`, and
    InputError for a temperature or a width that no training can follow, and for more than
    MOST_TRIED of either; repeated ones are dropped.
    """
    if question.seeds < 1:
        raise InputError(f"expected at least one training; got {question.seeds} seeds")
    question = replace(
        question,
        widths=tuple(dict.fromkeys(question.widths)),
        temperatures=tuple(dict.fromkeys(question.temperatures)),
    )
    for name in ("widths", "temperatures"):
        if (count := len(getattr(question, name))) > MOST_TRIED:
            raise InputError(
                f"expected at most {MOST_TRIED} {name} to try; got {count}, each with trainings of"
                " its own: name fewer"
            )
    for variant in question.variants():
        settings_of(variant.fitting)
    return complete_training(question, study)


def ablate(question: Ablation, study: Study, report: Progress | None) -> pd.DataFrame:
    """Train in every way with every seed, and measure on the same test stimuli.

    Returns a row per variant and measure (recall_10, averaged over directions; alignment of the
    mean of all encoders with the reference): choice, setting, measure, value, its change from the
    first row, and beside it CCA and ridge with what the adapters reach over them, each with its
    95 % interval over trainings, whose pairs, order and first weights differ (paired: the same
    trainings on both sides); p of the change (two-sided paired t-test over trainings, NaN below
    five); kept, the share of trainings that kept their start; seeds. Cosines are compared in every
    row, whatever the loss compares. Of three encoders or more, the baselines see two at a time:
    their recall is the mean over pairs, their alignment NaN, since they have no common space.
    """
    first, reference = lesson_of(question, study)
    lessons = [
        first._replace(parts=split(study.size, pairs=question.pairs, seed=question.seed, draw=draw))
        for draw in range(question.seeds)
    ]
    truth = normalize_rows(reference[first.parts.test])
    beside = {
        name: np.array([_baseline(name, lesson, truth, question.measure) for lesson in lessons])
        for name in BESIDE
    }
    variants, rows, base = list(question.variants()), list[dict[str, object]](), None
    for done, variant in enumerate(variants, start=1):
        trained = [
            _trained(variant, lesson, truth, question.measure, seed=seed, device=study.device)
            for seed, lesson in tell_each(list(enumerate(lessons)), "trainings of one way")
        ]
        scores, kept = (np.array(each) for each in zip(*trained, strict=True))
        base = scores if base is None else base
        rows += _rows(variant, scores, base, beside, kept=kept)
        if report:
            report(done, len(variants), "ways to train")
    return pd.DataFrame(rows)


declare(
    Ablation,
    Answer(
        ablate,
        version=2,
        complete=complete_ablation,
        findings=ablation_findings,
        shown=(
            *("choice", "setting", "measure", "value", "low", "high"),
            *("CCA", "over_CCA", "ridge", "kept"),
        ),
    ),
)


def _trained(
    variant: Variant, lesson: Lesson, truth: Space, measure: Measure, *, seed: int, device: str
) -> tuple[Scores, bool]:
    """Return recall and alignment of one training, and whether it kept its start."""
    *_, last = passes(lesson, settings_of(variant.fitting), seed=seed, device=device)
    adapters = replace(last.best, products="cosine")
    views = adapters.apply(
        {name: space[lesson.parts.test] for name, space in lesson.spaces.items()}
    )
    recalls = [recall(rank_own(x, y), 10) for x, y in permutations(views.values(), 2)]
    alignment = score_views({"": joined(views)}, truth, measure)[""]
    return np.array([np.mean(recalls), alignment]), last.best_number == 0


def _baseline(name: str, lesson: Lesson, truth: Space, measure: Measure) -> Scores:
    """Return recall and alignment of a method without training, averaged over directions; no
    alignment of more than two encoders.
    """
    scores = []
    for queries, candidates in permutations(lesson.spaces.values(), 2):
        views = METHODS[name](queries, candidates, lesson.parts)
        x, y = (normalize_rows(view).astype(np.float32) for view in views)
        mean = {"": joined({"x": x, "y": y})}
        alignment = score_views(mean, truth, measure)[""] if len(lesson.spaces) == 2 else np.nan
        scores.append((recall(rank_own(*views), 10), alignment))
    averaged: np.ndarray = np.mean(scores, axis=0)
    return averaged


def _rows(
    variant: Variant,
    scores: Float64[np.ndarray, "seeds measures"],
    base: Float64[np.ndarray, "seeds measures"],
    beside: Mapping[str, Float64[np.ndarray, "seeds measures"]],
    *,
    kept: Bool[np.ndarray, "seeds"],
) -> Sequence[dict[str, object]]:
    rows = []
    for place, measure in enumerate(MEASURES):
        values = scores[:, place]
        cells = {"value": values, "change": values - base[:, place]}
        for name, others in beside.items():
            cells |= {name: others[:, place], f"over_{name}": values - others[:, place]}
        row: dict[str, object] = {"choice": variant.choice, "setting": variant.setting}
        row["measure"] = measure
        for name, each in cells.items():
            prefix = "" if name == "value" else f"{name}_"
            low, high = mean_interval(each)
            row |= {name: float(each.mean()), f"{prefix}low": low, f"{prefix}high": high}
        row |= {"p": _p(cells["change"]), "kept": float(kept.mean()), "seeds": len(values)}
        rows.append(row)
    return rows


def _p(changes: Float64[np.ndarray, "seeds"]) -> float:
    """Return the p-value of a mean of 0; NaN where there is no interval."""
    if np.isnan(mean_interval(changes)[0]):
        return np.nan
    if not changes.std():
        return float(changes[0] == 0)  # all alike
    from scipy import stats  # a third of a second

    return float(stats.ttest_1samp(changes, 0).pvalue)
