"""A study's encoders brought together by linear adapters, and whether that brings them nearer to a reference.

Spaces are named as `core.consensus.find_space` reads them. Tables are kept in the store with their recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.adapters.model import DEFAULTS, Adapters, Parts, Settings, joined, split
from core.analyses import adapters as measures
from core.analyses.retrieval import rank_own, recall
from core.consensus import Layer, find_space, find_spaces
from core.embedding.progress import Progress
from core.errors import FeatureError, InputError
from core.kept import keep
from core.metrics import METRICS
from core.metrics.preprocess import clamp_outliers, normalize_rows
from core.recipe import Recipe
from core.study import Study

if TYPE_CHECKING:
    from core.adapters.training import Epoch

SEEDS, DRAWS = 5, 200
SMALLEST = 32  # training pairs from which a learning curve starts


class Lesson(NamedTuple):
    """What adapters are trained and measured on: each encoder's vectors, the reference's, and which stimuli do what."""

    spaces: dict[str, Float32[np.ndarray, "n _"]]
    reference: Float32[np.ndarray, "n _"]
    parts: Parts


def prepare(
    study: Study, spaces: Sequence[str], *, reference: str, pairs: int | None = None, seed: int = 0, draw: int = 0
) -> Lesson:
    """Read the spaces and the reference, and draw the parts; see `core.adapters.model.split`.

    Values are clamped as the study clamps them, but at a quantile that the test stimuli have no part in.
    Raises UnknownNameError, MetricError where two names mean one space, InputError for pairs.
    """
    places, truth = find_spaces(study, spaces), find_space(study, reference)
    parts = split(study.size, pairs=pairs, seed=seed, draw=draw)
    return Lesson({str(place): _clamped(study, place, parts) for place in places}, _clamped(study, truth, parts), parts)


def _clamped(study: Study, place: Layer, parts: Parts) -> Float32[np.ndarray, "n d"]:
    bare = Study(study.store, study.dataset.name, q=None, where=study.where, stimuli=study.stimuli)
    layers = bare.spaces(place.model)
    if study.q in (None, 1):
        return layers[place.layer]
    seen = np.setdiff1d(np.arange(study.size), parts.test)
    bound = max(np.abs(layer).max() for layer in clamp_outliers([layer[seen] for layer in layers], q=study.q))
    return np.clip(layers[place.layer], -bound, bound)


def watch(lesson: Lesson, adapters: Adapters, *, metric: str = "mutual_knn", **parameters: Any) -> dict[str, float]:
    """Return how adapters do on the validation stimuli, for a curve while they are trained: alignment and recall_10.

    alignment: of the mean of all adapted vectors with the reference. recall_10: the mean over all directions.
    """
    rows = lesson.parts.validation
    adapted = adapters.apply({name: space[rows] for name, space in lesson.spaces.items()})
    scores = measures.score_views({"": joined(adapted)}, normalize_rows(lesson.reference[rows]), metric=metric, **parameters)
    found = [recall(rank_own(adapted[a], adapted[b]), 10) for a in adapted for b in adapted if a != b]
    return {"alignment": scores[""], "recall_10": float(np.mean(found))}


def train_adapters(
    study: Study,
    spaces: Sequence[str],
    *,
    settings: Settings = DEFAULTS,
    pairs: int | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> tuple[Adapters, Recipe]:
    """Train adapters of a study's spaces to the end; return them with the recipe that their file keeps."""
    lesson = prepare(study, spaces, reference=spaces[0], pairs=pairs, seed=seed)
    *_, last = _trained(lesson, settings, seed=0, device=device)
    return last.best, adapters_recipe(study, lesson, settings, seed=seed)


def adapters_recipe(study: Study, lesson: Lesson, settings: Settings, *, seed: int = 0) -> Recipe:
    """Return all that adapters depend on that were trained on a lesson of this seed."""
    models = [find_space(study, name).model for name in lesson.spaces]
    choices = {"pairs": len(lesson.parts.train), "settings": asdict(settings), "seed": seed}
    return study.recipe("adapters", models, spaces=list(lesson.spaces), **choices)


def check_adapters(study: Study, recipe: Recipe) -> None:
    """Raise FeatureError where adapters were trained on other data than this study's: their test stimuli would be others."""
    told = recipe.choices
    own = {"pairs", "settings", "seed", "spaces"}
    here = study.recipe("adapters", list(told["models"]), **{name: told[name] for name in own}).choices
    if other := sorted(name for name in {*told, *here} if told.get(name) != here.get(name)):
        raise FeatureError(
            f"these adapters were trained on other data: {', '.join(other)} differ from those of {study.dataset.name!r} here; "
            "open the store they come from, or train them anew"
        )


def adapt(
    study: Study,
    spaces: Sequence[str],
    *,
    reference: str,
    settings: Settings = DEFAULTS,
    pairs: int | None = None,
    seeds: int = SEEDS,
    metric: str = "mutual_knn",
    draws: int = DRAWS,
    seed: int = 0,
    device: str = "cpu",
    report: Progress | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Train adapters of two or more spaces with several seeds and measure them on test stimuli, beside what needs no training.

    Returns `pairs`, then the columns of `core.analyses.adapters`: alignment with the reference before, centered and after; the gain
    with its interval; retrieval; and the course of each training (start_loss, validation_loss, epochs, temperature).
    pairs: training pairs, all that are left by test and validation where None. seeds: trainings; the test stimuli are the same in
    all, what else is drawn differs. metric, parameters: of the alignment. draws: halves of the test stimuli for the interval.
    seed: of the test stimuli and the draws.
    Raises UnknownNameError, MetricError and InputError as what it calls does.
    """
    if seeds < 1:
        raise InputError(f"at least one training expected; given {seeds} seeds")
    places, truth = find_spaces(study, spaces), find_space(study, reference)
    compared = {"metric": metric, **METRICS[metric].complete(parameters)}
    lessons = partial(prepare, study, spaces, reference=reference, pairs=pairs, seed=seed)
    count = len(split(study.size, pairs=pairs, seed=seed).train)
    recipe = study.recipe(
        "adapted", [*(place.model for place in places), truth.model], spaces=[str(place) for place in places],
        reference=str(truth), pairs=count, settings=asdict(settings), seeds=seeds, compared=compared, draws=draws, seed=seed,
    )  # fmt: skip

    def make() -> pd.DataFrame:
        drawn = [lessons(draw=draw) for draw in range(seeds)]
        rows, after = _train_all(drawn, settings, device=device, report=report)
        first = drawn[0]
        rows += measures.alignment_rows(first.spaces, first.reference, first.parts, **compared)
        before = measures.views_before(first.spaces, first.parts, centered=False)
        rows += measures.gain_rows(
            before, after, first.reference[first.parts.test], draws=draws, seed=seed, report=report, **compared
        )
        table = pd.DataFrame(rows, columns=list(measures.COLUMNS))
        table.insert(0, measures.PAIRS, count)
        return table

    return keep(study, recipe, make)


def _train_all(
    lessons: Sequence[Lesson], settings: Settings, *, device: str, report: Progress | None
) -> tuple[list[measures.Row], list[dict[str, np.ndarray]]]:
    """Train on each lesson; return what is measured of each, and the test stimuli in its common space."""
    rows: list[measures.Row] = []
    after = []
    for seed, lesson in enumerate(lessons):
        first, *_, last = _trained(lesson, settings, seed=seed, device=device)
        course = {"start_loss": first.loss, "validation_loss": last.best_validation, "epochs": last.best_number,
                  "temperature": last.best.temperature}  # fmt: skip
        rows += [measures.row(name, measures.ADAPTERS, "training", float(value), seed=seed) for name, value in course.items()]
        after.append(measures.views_after(last.best, lesson.spaces, lesson.parts))
        rows += measures.retrieval_rows(lesson.spaces, after[-1], lesson.parts, seed=seed)
        if report:
            report(seed + 1, len(lessons), "adapters trained")
    return rows, after


def _trained(lesson: Lesson, settings: Settings, *, seed: int, device: str) -> Iterator[Epoch]:
    from core.adapters.training import train  # torch takes seconds, which a kept table must not cost

    return train(lesson.spaces, lesson.parts, settings, seed=seed, device=device)


def learning_curve(
    study: Study, spaces: Sequence[str], *, sizes: Sequence[int] = (), report: Progress | None = None, **choices: Any
) -> pd.DataFrame:
    """Return the table of `adapt` for several numbers of training pairs, one under the other; choices: as for `adapt`.

    sizes: by default all pairs that are left by test and validation, and their halves, quarters … down to SMALLEST.
    """
    most = len(split(study.size, seed=choices.get("seed", 0)).train)
    halvings = sorted(most >> halving for halving in range(most.bit_length()) if most >> halving >= SMALLEST)
    return pd.concat([adapt(study, spaces, pairs=size, report=report, **choices) for size in sizes or halvings], ignore_index=True)
