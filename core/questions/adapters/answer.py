"""A study's encoders brought together by linear adapters, and whether that brings them nearer to a
reference.

Spaces are named as `core.study.spaces.find_space` reads them. Tables are kept in the store with
their recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import FeatureError, InputError, UnknownNameError
from core.metrics import METRICS
from core.progress import Progress
from core.questions.adapters import measures as measures
from core.questions.adapters.maps.model import DEFAULTS, Adapters, Parts, Settings, joined, split
from core.questions.adapters.retrieval import rank_own, recall
from core.recipe import Recipe
from core.settings import choose_device
from core.spaces.preprocess import normalize_rows, threshold
from core.study.keeping import keep
from core.study.spaces import Layer, find_space, find_spaces
from core.study.study import Study

if TYPE_CHECKING:
    from core.questions.adapters.maps.training import Epoch

SEEDS, DRAWS = 5, 200
SMALLEST = 32  # training pairs from which a learning curve starts


Space = Float32[np.ndarray, "n _"]
Trained = tuple[
    list[measures.Row], list[dict[str, np.ndarray]]
]  # what is measured of trainings, and their views of the test


class Lesson(NamedTuple):
    """What adapters are trained and measured on: each encoder's vectors by its space's name, and
    which stimuli do what.
    """

    spaces: dict[str, Space]
    parts: Parts


def prepare(
    study: Study, spaces: Sequence[str], *, pairs: int | None = None, seed: int = 0
) -> Lesson:
    """Read the spaces and draw the parts; see `core.questions.adapters.maps.model.split`.

    Values are clamped as the study clamps them, but at a quantile that the test stimuli have no
    part in. Raises UnknownNameError, MetricError where two names mean one space, InputError for
    pairs.
    """
    places = find_spaces(study, spaces)
    parts = split(study.size, pairs=pairs, seed=seed)
    return Lesson({str(place): _clamped(study, place, parts) for place in places}, parts)


def read_reference(study: Study, reference: str, *, seed: int = 0) -> Space:
    """Read what adapted vectors are compared with, clamped as `prepare` clamps; seed: of the test
    stimuli.
    """
    return _clamped(study, find_space(study, reference), split(study.size, seed=seed))


def _clamped(study: Study, place: Layer, parts: Parts) -> Space:
    bare = Study(study.store, study.dataset.name, q=None, where=study.where, stimuli=study.stimuli)
    layers = bare.spaces(place.model)
    if study.q in (None, 1):
        return layers[place.layer]
    seen = np.setdiff1d(np.arange(study.size), parts.test)
    bound = threshold([layer[seen] for layer in layers], q=study.q)
    return np.clip(layers[place.layer], -bound, bound)


def watch(
    lesson: Lesson,
    reference: Space,
    adapters: Adapters,
    *,
    metric: str = "mutual_knn",
    **parameters: Any,
) -> dict[str, float]:
    """Return how adapters do on the validation stimuli, for a curve while they are trained:
    alignment and recall_10.

    alignment: of the mean of all adapted vectors with the reference. recall_10: the mean over all
    directions.
    """
    rows = lesson.parts.validation
    adapted = adapters.apply({name: space[rows] for name, space in lesson.spaces.items()})
    scores = measures.score_views(
        {"": joined(adapted)}, normalize_rows(reference[rows]), metric=metric, **parameters
    )
    found = [
        recall(rank_own(adapted[a], adapted[b]), 10) for a in adapted for b in adapted if a != b
    ]
    return {"alignment": scores[""], "recall_10": float(np.mean(found))}


def train_adapters(
    study: Study,
    spaces: Sequence[str],
    *,
    settings: Settings = DEFAULTS,
    pairs: int | None = None,
    seed: int = 0,
    device: str = "auto",
) -> tuple[Adapters, Recipe]:
    """Train adapters of a study's spaces to the end; return them with the recipe that their file
    keeps.
    """
    lesson = prepare(study, spaces, pairs=pairs, seed=seed)
    *_, last = _trained(lesson, settings, seed=0, device=device)
    return last.best, adapters_recipe(
        study, spaces, settings, pairs=len(lesson.parts.train), seed=seed
    )


def adapters_recipe(
    study: Study,
    spaces: Sequence[str],
    settings: Settings,
    *,
    pairs: int,
    seed: int,
    stopped: int | None = None,
) -> Recipe:
    """Return all that adapters of these spaces depend on; seed: of the parts; stopped: as in
    `Told`.
    """
    places = find_spaces(study, spaces)
    choices = {
        "pairs": pairs,
        "settings": asdict(settings),
        "seed": seed,
        **({} if stopped is None else {"stopped": stopped}),
    }
    return study.recipe(
        "adapters",
        [place.model for place in places],
        spaces=[str(place) for place in places],
        **choices,
    )


class Told(NamedTuple):
    """What a file says of its adapters: the spaces they are of, how they were trained, on how many
    pairs, and of which seed.

    stopped: the passes after which somebody ended the training, None where it came to its end.
    """

    spaces: tuple[str, ...]
    settings: Settings
    pairs: int
    seed: int
    stopped: int | None = None


def check_adapters(study: Study, adapters: Adapters, recipe: Recipe) -> Told:
    """Return what a recipe tells of adapters that were trained on this study's data.

    Raises FeatureError where they were trained on other data (their test stimuli would be others),
    and for a recipe that tells less or does not fit them; UnknownNameError and InputError for
    models and pairs that are not there.
    """
    told = _told(recipe)
    split(study.size, pairs=told.pairs, seed=told.seed)
    here = adapters_recipe(
        study, told.spaces, told.settings, pairs=told.pairs, seed=told.seed, stopped=told.stopped
    )
    choices, own = recipe.choices, here.choices
    if other := sorted(name for name in {*choices, *own} if choices.get(name) != own.get(name)):
        raise FeatureError(
            f"these adapters were trained on other data: {', '.join(other)} differ from those of"
            f" {study.dataset.name!r} here; open the store they come from, or train them anew"
        )
    widths = {
        str(place): study.entry(place.model).dims[place.layer]
        for place in find_spaces(study, told.spaces)
    }
    if {
        name: len(adapter.weight) for name, adapter in adapters.maps.items()
    } != widths or adapters.width != told.settings.width:
        raise FeatureError(
            "these adapters are not those that their file tells of: widths or encoders differ;"
            " train them anew"
        )
    return told


def _told(recipe: Recipe) -> Told:
    try:
        choices = recipe.choices
        stopped = [choices["stopped"]] if "stopped" in choices else []
        told = Told(
            tuple(choices["spaces"]),
            Settings(**choices["settings"]),
            choices["pairs"],
            choices["seed"],
            *stopped,
        )
        numbers = all(
            type(number) is int and number >= 0 for number in (told.pairs, told.seed, *stopped)
        )
        words = all(isinstance(space, str) for space in told.spaces)
        known = (
            recipe.kind == "adapters"
            and numbers
            and words
            and isinstance(told.settings.learned, bool)
        )
    except (KeyError, TypeError, InputError):
        known = False
    if not known:
        raise FeatureError(
            "this file's recipe is not one of adapters (spaces, settings, pairs, seed); train them"
            " anew"
        )
    return told


def adapt(
    study: Study,
    spaces: Sequence[str],
    *,
    references: Sequence[str],
    settings: Settings = DEFAULTS,
    pairs: int | None = None,
    seeds: int = SEEDS,
    metric: str = "mutual_knn",
    draws: int = DRAWS,
    seed: int = 0,
    device: str = "auto",
    report: Progress | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Train adapters of two or more spaces with several seeds and measure them on test stimuli,
    beside what needs no training.

    Returns `encoders`, `reference` (empty where a row needs none) and `pairs`, then the columns of
    `core.questions.adapters.measures`: alignment with each reference before, centered and after;
    the gain with its interval; retrieval; and the course of each training (start_loss,
    validation_loss, epochs, temperature). pairs: training pairs, all that are left by test and
    validation where None. seeds: trainings; the test stimuli are the same in all, what else is
    drawn differs. metric, parameters: of the alignment. draws: halves of the test stimuli for the
    interval. seed: of the test stimuli and the draws. device: as `core.settings.choose_device`
    reads it; no choice of the answer. Raises InputError for a reference that is an encoder, and as
    what it calls does; all but a training's own before any training.
    """
    if seeds < 1:
        raise InputError(f"at least one training expected; given {seeds} seeds")
    places, truths = find_places(study, spaces, references)
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    compared = {"metric": metric, **METRICS[metric].complete(parameters)}
    chosen: dict[str, Any] = {
        "pairs": len(split(study.size, pairs=pairs, seed=seed).train),
        "seeds": seeds,
        "compared": compared,
        "draws": draws,
        "seed": seed,
    }
    recipe = study.recipe(
        "adapted",
        [place.model for place in (*places, *truths)],
        spaces=[*map(str, places)],
        references=[*map(str, truths)],
        settings=asdict(settings),
        interval=measures.INTERVAL,
        **chosen,
    )
    return keep(
        study,
        recipe,
        partial(_make, study, places, truths, settings, **chosen, device=device, report=report),
    )


def _make(
    study: Study,
    places: Sequence[Layer],
    truths: Sequence[Layer],
    settings: Settings,
    *,
    pairs: int,
    seeds: int,
    compared: Mapping[str, Any],
    draws: int,
    seed: int,
    device: str,
    report: Progress | None,
) -> pd.DataFrame:
    """Return the table that `adapt` keeps."""
    first = prepare(study, [*map(str, places)], pairs=pairs, seed=seed)
    lessons = [
        first._replace(parts=split(study.size, pairs=pairs, seed=seed, draw=draw))
        for draw in range(seeds)
    ]
    known = {str(truth): read_reference(study, str(truth), seed=seed) for truth in truths}
    train = partial(_train_all, lessons, settings, device=device, report=report)
    rows = _measure(first, known, train, compared, draws=draws, seed=seed, report=report)
    return _as_table(rows, encoders=places, pairs=pairs)


def _measure(
    lesson: Lesson,
    references: Mapping[str, Space],
    train: Callable[[], Trained],
    compared: Mapping[str, Any],
    *,
    draws: int,
    seed: int,
    report: Progress | None,
) -> dict[str, list[measures.Row]]:
    """Return rows by reference; all that can be measured before training is, so that a metric that
    does not fit is told early.
    """
    parts = lesson.parts
    score = partial(measures.score_halves, draws=draws, seed=seed)
    views = measures.views_before(lesson.spaces, parts, centered=False)
    before = {
        name: score(views, reference[parts.test], **compared)
        for name, reference in references.items()
    }
    rows = {
        name: measures.alignment_rows(lesson.spaces, reference, parts, **compared)
        for name, reference in references.items()
    }
    rows[""], after = train()
    reached: dict[str, list[measures.Scores]] = {name: [] for name in references}
    for done, (name, views) in enumerate(product(references, after), start=1):
        reached[name].append(score(views, references[name][parts.test], **compared))
        if report:
            report(done, len(references) * len(after), "trainings compared with a reference")
    for name, scores in reached.items():
        rows[name] += measures.gain_rows(before[name], scores, metric=compared["metric"], seed=seed)
    return rows


def find_places(
    study: Study, spaces: Sequence[str], references: Sequence[str]
) -> tuple[list[Layer], list[Layer]]:
    """Return what the names of encoders and of references mean.

    Raises UnknownNameError, MetricError where two names mean one space, InputError where a
    reference is an encoder, be it in another layer or reading other captions: it would have a part
    in the training.
    """
    places, truths = find_spaces(study, spaces), find_spaces(study, references)
    weights = {study.entry(place.model).card.weights for place in places}
    if shared := sorted(
        {truth.model for truth in truths if study.entry(truth.model).card.weights in weights}
    ):
        raise InputError(
            f"the reference has no part in the training, but {', '.join(shared)} has an encoder's"
            " weights; name another one"
        )
    return places, truths


def _as_table(
    rows: Mapping[str, list[measures.Row]], *, encoders: Sequence[Layer], pairs: int
) -> pd.DataFrame:
    """Return rows by reference as one table."""
    named = {measures.ENCODERS: " + ".join(map(str, encoders)), measures.PAIRS: pairs}
    every = [
        {**named, measures.REFERENCE: reference, **row}
        for reference, several in rows.items()
        for row in several
    ]
    return pd.DataFrame(
        every, columns=[measures.ENCODERS, measures.REFERENCE, measures.PAIRS, *measures.COLUMNS]
    )


def _train_all(
    lessons: Sequence[Lesson], settings: Settings, *, device: str, report: Progress | None
) -> Trained:
    """Train on each lesson; return what is measured of each, and the test stimuli in its common
    space.
    """
    rows: list[measures.Row] = []
    after = []
    for seed, lesson in enumerate(lessons):
        first, *_, last = _trained(lesson, settings, seed=seed, device=device)
        course = {
            "start_loss": first.loss,
            "validation_loss": last.best_validation,
            "epochs": last.best_number,
            "temperature": last.best.temperature,
        }
        rows += [
            measures.row(name, measures.ADAPTERS, "training", float(value), seed=seed)
            for name, value in course.items()
        ]
        after.append(measures.views_after(last.best, lesson.spaces, lesson.parts))
        rows += measures.retrieval_rows(lesson.spaces, after[-1], lesson.parts, seed=seed)
        if report:
            report(seed + 1, len(lessons), "adapters trained")
    return rows, after


def _trained(lesson: Lesson, settings: Settings, *, seed: int, device: str) -> Iterator[Epoch]:
    from core.questions.adapters.maps.training import (
        train,  # torch takes seconds, which a kept table must not cost
    )

    return train(lesson.spaces, lesson.parts, settings, seed=seed, device=choose_device(device))


def learning_curve(
    study: Study,
    spaces: Sequence[str],
    *,
    sizes: Sequence[int] = (),
    report: Progress | None = None,
    **choices: Any,
) -> pd.DataFrame:
    """Return the table of `adapt` for several numbers of training pairs, the fewest first; choices:
    as for `adapt`.

    sizes: by default all pairs that are left by test and validation, and their halves, quarters …
    down to SMALLEST. Raises InputError for sizes before anything is trained.
    """
    seed = choices.get("seed", 0)
    most = len(split(study.size, seed=seed).train)
    halvings = [
        most >> halving for halving in range(most.bit_length()) if most >> halving >= SMALLEST
    ] or [most]
    sizes = sorted(set(sizes or halvings))
    for size in sizes:
        split(study.size, pairs=size, seed=seed)
    return pd.concat(
        [adapt(study, spaces, pairs=size, report=report, **choices) for size in sizes],
        ignore_index=True,
    )
