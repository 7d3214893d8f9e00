"""A study's encoders brought together by linear adapters, and whether that brings them nearer to a reference.

Spaces are named as `core.consensus.find_space` reads them. Tables are kept in the store with their recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.adapters.model import Adapters, Parts, joined, split
from core.analyses import adapters as measures
from core.analyses.retrieval import rank_own, recall
from core.consensus import Layer, find_space, find_spaces
from core.embedding.progress import Progress
from core.kept import keep
from core.metrics import METRICS
from core.metrics.preprocess import clamp_outliers, normalize_rows
from core.recipe import Recipe
from core.study import Study

if TYPE_CHECKING:
    from core.adapters.training import Epoch, Settings

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
    study: Study, spaces: Sequence[str], settings: Settings, *, pairs: int | None = None, seed: int = 0, device: str = "cpu"
) -> tuple[Adapters, Recipe]:
    """Train adapters of a study's spaces to the end; return them with the recipe that their file keeps."""
    places = find_spaces(study, spaces)
    lesson = prepare(study, spaces, reference=spaces[0], pairs=pairs, seed=seed)
    *_, last = _trained(lesson, settings, seed=seed, device=device)
    return last.best, adapters_recipe(study, [str(place) for place in places], settings, lesson.parts, seed=seed)


def adapters_recipe(study: Study, spaces: Sequence[str], settings: Settings, parts: Parts, *, seed: int) -> Recipe:
    """Return all that trained adapters depend on."""
    models = [find_space(study, name).model for name in spaces]
    choices = {"pairs": len(parts.train), "settings": asdict(settings), "seed": seed}
    return study.recipe("adapters", models, spaces=list(spaces), **choices)


def adapt(
    study: Study,
    spaces: Sequence[str],
    *,
    reference: str,
    pairs: int | None = None,
    width: int = 256,
    temperature: float = 0.07,
    learned: bool = False,
    seeds: int = SEEDS,
    metric: str = "mutual_knn",
    draws: int = DRAWS,
    seed: int = 0,
    device: str = "cpu",
    report: Progress | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Train adapters of two or more spaces with several seeds and measure them on test stimuli, beside what needs no training.

    Returns the rows of `core.analyses.adapters`: alignment with the reference before, centered and after; the gain with its
    interval; retrieval; and the course of each training (start_loss, validation_loss, epochs, temperature).
    pairs: training pairs, all that are left by test and validation where None. width, temperature, learned: see `Settings`.
    seeds: trainings; the test stimuli are the same in all, what else is drawn differs. draws: halves of the test stimuli for the
    interval. seed: of the test stimuli and the draws.
    Raises UnknownNameError, MetricError and InputError as what it calls does.
    """
    from core.adapters.training import Settings  # torch takes seconds, which a kept table must not cost

    places, truth = find_spaces(study, spaces), find_space(study, reference)
    complete = METRICS[metric].complete(parameters)
    settings = Settings(width=width, temperature=temperature, learned=learned)
    parts = split(study.size, pairs=pairs, seed=seed)
    choices = {"pairs": len(parts.train), "settings": asdict(settings), "seeds": seeds, "metric": metric, "parameters": complete,
               "draws": draws, "seed": seed}  # fmt: skip
    recipe = study.recipe(
        "adapted", [*(place.model for place in places), truth.model],
        spaces=[str(place) for place in places], reference=str(truth), **choices,
    )  # fmt: skip

    def make() -> pd.DataFrame:
        lessons = [prepare(study, spaces, reference=reference, pairs=pairs, seed=seed, draw=draw) for draw in range(seeds)]
        rows, after = _train_all(lessons, settings, device=device, report=report)
        first, chosen = lessons[0], {"metric": metric, **complete}
        rows += measures.alignment_rows(first.spaces, first.reference, first.parts, **chosen)
        before = measures.views_before(first.spaces, first.parts, centered=False)
        truth = first.reference[first.parts.test]
        rows += measures.gain_rows(before, after, truth, draws=draws, seed=seed, report=report, **chosen)
        return pd.DataFrame(rows, columns=list(measures.COLUMNS))

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
        rows += [measures.row(name, measures.ADAPTERS, "training", value, seed=seed) for name, value in course.items()]
        after.append(measures.views_after(last.best, lesson.spaces, lesson.parts))
        rows += measures.retrieval_rows(lesson.spaces, after[-1], lesson.parts, seed=seed)
        if report:
            report(seed + 1, len(lessons), "adapters trained")
    return rows, after


def _trained(lesson: Lesson, settings: Settings, *, seed: int, device: str) -> Iterator[Epoch]:
    from core.adapters.training import train

    return train(lesson.spaces, lesson.parts, settings, seed=seed, device=device)


def learning_curve(
    study: Study,
    spaces: Sequence[str],
    *,
    reference: str,
    sizes: Sequence[int] = (),
    report: Progress | None = None,
    **choices: Any,
) -> pd.DataFrame:
    """Return the table of `adapt` for several numbers of training pairs, with a column pairs in front; choices: as for `adapt`.

    sizes: by default all pairs that are left by test and validation, and their halves, quarters … down to SMALLEST.
    """
    most = len(split(study.size, seed=choices.get("seed", 0)).train)
    wanted = sizes or sorted(most >> halving for halving in range(most.bit_length()) if most >> halving >= SMALLEST)
    tables = []
    for size in wanted:
        tables.append(adapt(study, spaces, reference=reference, pairs=size, report=report, **choices))
        tables[-1].insert(0, "pairs", size)
    return pd.concat(tables, ignore_index=True)
