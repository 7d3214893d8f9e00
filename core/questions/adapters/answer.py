"""A study's encoders brought together by linear adapters, and whether that brings them nearer to a
reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np
import pandas as pd

from core.errors import InputError
from core.progress import Progress, note_rows
from core.questions.adapters import measures
from core.questions.adapters.course import follow, passes, train_once
from core.questions.adapters.findings import adaptation_findings, curve_findings, kernel_findings
from core.questions.adapters.kernels import compare_kernels, tabulate
from core.questions.adapters.lesson import Lesson, Space, find_places, prepare, read_reference
from core.questions.adapters.maps.model import Adapters, Settings, compared, settings_of, split
from core.questions.adapters.provenance import Provenance, adapters_recipe
from core.questions.adapters.question import (
    Adaptation,
    AdapterQuestion,
    Course,
    Kernels,
    OneSet,
    PairsCurve,
)
from core.questions.adapters.usual import usual_models
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.registry import Answer, declare, never
from core.recipe import Recipe
from core.study.models import usual
from core.study.spaces import Layer
from core.study.study import Study

SMALLEST = 32  # training pairs from which a learning curve starts

A = TypeVar("A", bound=AdapterQuestion)
T = TypeVar("T", bound=OneSet)
Trained = tuple[
    list[measures.Row], list[dict[str, np.ndarray]]
]  # what is measured of trainings, and their views of the test


def name_spaces(question: A, study: Study) -> A:
    """Name encoders, references and their layers, the usual ones where none are named.

    Raises UnknownNameError, MetricError and InputError for names that mean nothing or do not go
    together, for the metric and the training: all before anything is trained.
    """
    named = [bool(names) for names in (question.x, question.y, question.ref)]
    if not any(named):
        models, solved = usual(study.models()), ask(TasksSolved(question.scope), study)
        (x, y), reference = usual_models(study, models, solved)
        question = replace(question, x=(x,), y=(y,), ref=(reference,))
    elif not all(named):
        raise InputError("name --x, --y and --ref together, or none of them for the usual models")
    settings_of(question.fitting)
    question.measure.settings  # noqa: B018 — raises for the metric and its parameters
    return _with_layers(question, study)


def _with_layers(question: A, study: Study) -> A:
    """Return the question with a layer for each model; raises as `name_spaces`."""
    each: list[list[Layer]] = []
    truths: list[Layer] = []
    for one in question.each():
        places, truths = find_places(study, one.spaces, question.ref)
        if set(places) in [set(others) for others in each]:
            raise InputError(
                f"{' + '.join(map(str, places))} would be trained twice; leave one of its --x and"
                " --y out"
            )
        each.append(places)
    return replace(
        question,
        x=tuple(str(places[0]) for places in each),
        y=tuple(str(places[1]) for places in each),
        z=tuple(map(str, each[0][2:])),
        ref=tuple(map(str, truths)),
    )


def complete_adaptation(question: Adaptation, study: Study) -> Adaptation:
    """Name spaces and the number of training pairs; raises as `name_spaces`, and InputError for no
    trainings and for pairs.
    """
    if question.seeds < 1:
        raise InputError(f"expected at least one training; got {question.seeds} seeds")
    complete = name_spaces(question, study)
    parts = split(study.size, pairs=question.pairs, seed=question.seed)
    return replace(complete, pairs=len(parts.train))


def adapt(question: Adaptation, study: Study, report: Progress | None) -> pd.DataFrame:
    """Train adapters of two or more spaces with several seeds and measure them on test stimuli,
    beside what needs no training.

    Returns `encoders`, `reference` (empty where a row needs none) and `pairs`, then the columns of
    `core.questions.adapters.measures.summarize`: alignment with each reference before, centered and
    after; the gain with its interval; retrieval; and the course of the trainings (start_loss,
    validation_loss, epochs, temperature, untrained). The test stimuli are the same for all seeds,
    what else is drawn differs. Raises as `complete_adaptation`, and as what it calls does; all but
    a training's own before any training.
    """
    if len(question.x) > 1:
        return pd.concat([ask(one, study, report) for one in question.each()], ignore_index=True)
    return measures.summarize(measure_trainings(question, study, report))


declare(
    Adaptation,
    Answer(
        adapt,
        version=3,
        complete=complete_adaptation,
        findings=adaptation_findings,
        kept=lambda question: len(question.x) == 1,
    ),
)


def measure_trainings(
    question: Adaptation, study: Study, report: Progress | None = None
) -> pd.DataFrame:
    """Return a row per measure and seed; see `adapt`. question: complete, of one x and one y."""
    first = prepare(study, question.spaces, pairs=question.pairs, seed=question.seed)
    lessons = [
        first._replace(parts=split(study.size, pairs=question.pairs, seed=question.seed, draw=draw))
        for draw in range(question.seeds)
    ]
    references = {name: read_reference(study, name, seed=question.seed) for name in question.ref}
    settings = settings_of(question.fitting)
    train = partial(_train_all, lessons, settings, device=study.device, report=report)
    rows = _measure(question, first, references, train, report)
    named = {measures.ENCODERS: " + ".join(question.spaces), measures.PAIRS: question.pairs}
    every = [
        {**named, measures.REFERENCE: reference, **row}
        for reference, several in rows.items()
        for row in several
    ]
    columns = [measures.ENCODERS, measures.REFERENCE, measures.PAIRS, *measures.COLUMNS]
    return pd.DataFrame(every, columns=columns)


def _measure(
    question: Adaptation,
    lesson: Lesson,
    references: Mapping[str, Space],
    train: Callable[[], Trained],
    report: Progress | None,
) -> dict[str, list[measures.Row]]:
    """Return rows by reference; all that can be measured before training is, so that a metric that
    does not fit is refused early.
    """
    parts, measure, seed = lesson.parts, question.measure, question.seed
    products = question.fitting.products
    score = partial(measures.score_halves, draws=question.bootstrap, seed=seed)
    views = measures.views_before(lesson.spaces, parts, centered=False, products=products)
    truths = {name: compared(space[parts.test], products) for name, space in references.items()}
    before = {name: score(views, truth, measure) for name, truth in truths.items()}
    rows = {
        name: measures.alignment_rows(lesson.spaces, reference, parts, measure, products)
        for name, reference in references.items()
    }
    rows[""], after = train()
    reached: dict[str, list[measures.Scores]] = {name: [] for name in references}
    for done, (name, views) in enumerate(product(references, after), start=1):
        reached[name].append(score(views, truths[name], measure))
        if report:
            report(done, len(references) * len(after), "trainings compared with a reference")
    for name, scores in reached.items():
        rows[name] += measures.gain_rows(before[name], scores, measure, seed=seed)
    return rows


def _train_all(
    lessons: Sequence[Lesson], settings: Settings, *, device: str, report: Progress | None
) -> Trained:
    """Train on each lesson; return what is measured of each, and the test stimuli in its common
    space.
    """
    rows: list[measures.Row] = []
    after = []
    for seed, lesson in enumerate(lessons):
        first, *_, last = passes(lesson, settings, seed=seed, device=device)
        course = {
            "start_loss": first.loss,
            "validation_loss": last.best_validation,
            "epochs": last.best_number,
            "temperature": last.best.temperature,
            measures.UNTRAINED: last.best_number == 0,
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


def complete_curve(question: PairsCurve, study: Study) -> PairsCurve:
    """Name spaces and numbers of pairs, the fewest first; raises as `complete_adaptation`."""
    most = len(split(study.size, seed=question.seed).train)
    halvings = [
        most >> halving for halving in range(most.bit_length()) if most >> halving >= SMALLEST
    ] or [most]
    sizes = tuple(sorted(set(question.pairs or halvings)))
    for size in sizes:
        split(study.size, pairs=size, seed=question.seed)
    return replace(name_spaces(question, study), pairs=sizes)


def curve(question: PairsCurve, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return the table of `adapt` for several numbers of training pairs, the fewest first: by
    default all pairs that test and validation leave, and their halves, quarters … down to SMALLEST.
    """
    tables = [
        ask(question.turned(Adaptation, pairs=size), study, report) for size in question.pairs
    ]
    return pd.concat(tables, ignore_index=True)


declare(
    PairsCurve,
    Answer(
        curve,
        version=1,
        complete=complete_curve,
        findings=curve_findings,
        kept=never,
    ),
)


def complete_training(question: T, study: Study) -> T:
    """Name spaces and pairs; raises as `name_spaces`, and InputError for several of a kind."""
    complete = name_spaces(question, study)
    if len(complete.x) > 1 or len(complete.ref) > 1:
        raise InputError("this is asked of one --x, one --y and one --ref; use --z for more")
    parts = split(study.size, pairs=question.pairs, seed=question.seed)
    return replace(complete, pairs=len(parts.train))


def lesson_of(question: OneSet, study: Study) -> tuple[Lesson, Space]:
    """Return what a complete question trains on and what it compares with."""
    lesson = prepare(study, question.spaces, pairs=question.pairs, seed=question.seed)
    return lesson, read_reference(study, question.ref[0], seed=question.seed)


def course(question: Course, study: Study, report: Progress | None) -> pd.DataFrame:
    """Train once; return a row per pass: epoch, loss, validation, place and best, and on the
    validation stimuli alignment and recall_10 of the best adapters so far.
    """
    lesson, reference = lesson_of(question, study)
    settings = settings_of(question.fitting)
    rows = []
    looks = follow(lesson, reference, question.measure, settings, device=study.device)
    for epoch, row in looks:
        rows.append(row)
        note_rows(rows)
        if report:
            report(epoch.number, epoch.most, "passes at most")
        if epoch.number == question.passes:
            break
    return pd.DataFrame(rows)


declare(Course, Answer(course, version=2, complete=complete_training))


def kernels(question: Kernels, study: Study, _: Progress | None) -> pd.DataFrame:
    """Train once; return a row per kernel and pair of test stimuli: see
    `core.questions.adapters.kernels.tabulate`.
    """
    lesson, reference = lesson_of(question, study)
    adapters = None
    if not question.before:
        settings = settings_of(question.fitting)
        adapters = train_once(lesson, settings, device=study.device, stop=question.passes)
    name, measure = question.ref[0], question.measure
    products = question.fitting.products
    return tabulate(compare_kernels(lesson, name, reference, measure, adapters, products=products))


declare(
    Kernels,
    Answer(kernels, version=2, complete=complete_training, findings=kernel_findings, kept=never),
)


def train_adapters(question: Adaptation, study: Study) -> tuple[Adapters, Recipe]:
    """Train the adapters of one x and one y to the end, with the first seed; return them with the
    recipe that their file keeps. Raises as `complete_adaptation`.
    """
    complete = complete_adaptation(question, study)
    settings = settings_of(complete.fitting)
    lesson = prepare(study, complete.spaces, pairs=complete.pairs, seed=complete.seed)
    adapters = train_once(lesson, settings, device=study.device)
    pairs = len(lesson.parts.train)
    provenance = Provenance(complete.spaces, settings, pairs, complete.seed)
    return adapters, adapters_recipe(study, provenance)
