"""Do linear adapters bring frozen encoders nearer to a strong model?

The proposal: linear adapters are trained contrastively to map paired images and captions to the
same point; the common space is nearer to a held-out reference model than the encoders are on
average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import ClassVar, TypeVar

import numpy as np
import pandas as pd

from core.errors import InputError
from core.figures.grammar import Plot
from core.options import build, option, part, seed_option, values_of
from core.progress import Progress, note_rows
from core.questions.adapters import figures, measures
from core.questions.adapters.findings import adaptation_findings, curve_findings, kernel_findings
from core.questions.adapters.kernels import compare_kernels, tabulate
from core.questions.adapters.lesson import (
    Lesson,
    Space,
    find_places,
    follow,
    passes,
    prepare,
    read_reference,
    train_once,
    usual_models,
)
from core.questions.adapters.maps.model import Adapters, Settings, compared, settings_of, split
from core.questions.adapters.parts import (
    ALL_PAIRS,
    USUAL,
    Fitting,
    halves_option,
    pairs_option,
    trainings_option,
)
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.question import Answer, StudyQuestion
from core.recipe import Recipe
from core.study.models import usual
from core.study.parts import Measure
from core.study.spaces import Layer, find_space, find_spaces
from core.study.study import Study

SMALLEST = 32  # training pairs from which a learning curve starts
TABLE: Mapping[str, str] = {
    "encoders": "encoders that were trained together",
    "reference": "what the common space is compared with; empty if a row needs none",
    "pairs": "training pairs",
    "measure": "alignment, gain, own_gain, recall_1, recall_5, recall_10, median_rank, or of the"
    " training start_loss, validation_loss, epochs, temperature, untrained",
    "method": "adapters, before, centered, or a method that is not trained by gradient",
    "what": "the space: an encoder, the mean of all, or a direction of retrieval",
    "title": "what people call the space or the direction",
    "value": "mean over trainings",
    "sd": "standard deviation over trainings",
    "seeds": "trainings",
    "low": "low end of the 95% interval of a gain, over halves of the test and trainings",
    "high": "high end of that interval",
    "holds": "what a gain says of the proposal: yes, no or undecided",
    "reason": "why there is no value",
}

A = TypeVar("A", bound="AdapterQuestion")
T = TypeVar("T", bound="OneSet")
Trained = tuple[
    list[measures.Row], list[dict[str, np.ndarray]]
]  # what is measured of trainings, and their views of the test


@dataclass(frozen=True)
class AdapterQuestion(StudyQuestion):
    """What is asked of linear adapters of some encoders, next to a reference."""

    device: ClassVar[str] = "auto"

    x: tuple[str, ...] = option(
        (),
        label="Encoder A",
        metavar="A[:LAYER]",
        help="an encoder, in its penultimate block where no layer is named (published: last);"
        f" {USUAL}",
    )
    y: tuple[str, ...] = option(
        (),
        label="Encoder B",
        metavar="B[:LAYER]",
        help="another encoder; of several, the i-th belongs to the i-th of x",
    )
    z: tuple[str, ...] = option(
        (),
        label="More encoders",
        metavar="C[:LAYER]",
        help="further encoders, with every x and y; all pairs are in the loss",
    )
    ref: tuple[str, ...] = option(
        (),
        label="Reference",
        metavar="R[:LAYER]",
        help="strong models that the common space is compared with; they take no part in training",
    )
    fitting: Fitting = part(Fitting)
    measure: Measure = part(Measure)
    seed: int = seed_option("of which stimuli test, validate and train, and of all draws")

    @property
    def spaces(self) -> tuple[str, ...]:
        """Return the encoders that are trained together, of a question about one x and one y."""
        return (*self.x[:1], *self.y[:1], *self.z)

    def each(self: A) -> Iterator[A]:
        """Yield the question about each x with its y; raises InputError where they are not as
        many.
        """
        if len(self.x) != len(self.y):
            raise InputError(
                f"the i-th --x belongs to the i-th --y; got {len(self.x)} and {len(self.y)}: name"
                " as many of both"
            )
        for x, y in zip(self.x, self.y, strict=True):
            yield replace(self, x=(x,), y=(y,))

    def turned(self, kind: type[A], **choices: object) -> A:
        """Return a question of another type about the same adapters."""
        values = {name: value for name, value in values_of(self).items() if name != "pairs"}
        return build(kind, values | choices)

    @property
    def label(self) -> str:
        """Return what an axis of alignment says."""
        return f"alignment with the reference ({self.measured})"

    @property
    def measured(self) -> str:
        """Return by what alignment is measured, in words."""
        k = self.measure.settings.get("k")
        return f"{self.measure.spec.short}{f', k = {k}' if k else ''}"

    def titles(self, study: Study) -> dict[str, str]:
        """Return what people call the encoders and references of a complete question."""
        spaces = list(dict.fromkeys((*self.x, *self.y, *self.z, *self.ref)))
        places = [find_space(study, name) for name in spaces]
        cards = [study.entry(place.model).card for place in places]
        titles = [card.title for card in cards]
        return {
            name: card.title
            if titles.count(card.title) == 1
            else f"{card.title}, {card.layers[place.layer]}"
            for name, place, card in zip(spaces, places, cards, strict=True)
        }


@dataclass(frozen=True)
class Adaptation(AdapterQuestion):
    """Do linear adapters bring frozen encoders nearer to a strong model?

    They are trained with several seeds and measured on test stimuli, which are the same for all
    seeds, next to what needs no training.
    """

    command = "adapt"
    version = 5
    columns: ClassVar[Mapping[str, str]] = TABLE

    pairs: tuple[int, ...] = pairs_option(
        (), help=f"{ALL_PAIRS}; several show what pairs are worth"
    )
    halved: bool = option(
        False, label="Data efficiency", help="also a half, a quarter … of the pairs"
    )
    seeds: int = trainings_option(
        "trainings; they differ in what is drawn, not in the test stimuli"
    )
    bootstrap: int = halves_option()

    def complete(self, study: Study) -> Adaptation:
        if self.seeds < 1:
            raise InputError(f"expected at least one training; got {self.seeds} seeds")
        complete = name_spaces(self, study)
        sizes = set(self.pairs or [len(split(study.size, seed=self.seed).train)])
        if self.halved:
            most = max(sizes)
            sizes |= {most >> n for n in range(most.bit_length()) if most >> n >= SMALLEST}
        for size in sizes:
            split(study.size, pairs=size, seed=self.seed)
        return replace(complete, pairs=tuple(sorted(sizes)), halved=False)

    def is_kept(self) -> bool:
        return len(self.x) == 1

    def answer(self, study: Study, report: Progress | None) -> Answer:
        titles = self.titles(study)
        if len(self.x) > 1 or len(self.pairs) > 1:
            parts = [replace(one, pairs=(size,)) for one in self.each() for size in self.pairs]
            table = pd.concat([ask(one, study, report) for one in parts], ignore_index=True)
        else:
            table = measures.summarize(measure_trainings(self, study, report))
            called = {**titles, measures.MEAN: "mean of all", measures.AVERAGE: "average"}
            whats = [what.split(" → ") for what in table["what"]]
            names = [" → ".join(called.get(name, name) for name in what) for what in whats]
            table.insert(table.columns.get_loc("value"), "title", names)
        say = adaptation_findings if len(self.pairs) == 1 else curve_findings
        return Answer(table, say(table, titles))

    def plot(self, table: pd.DataFrame) -> Plot:
        """Return alignment before and after or, for several numbers of pairs, over these."""
        if table[measures.PAIRS].nunique() > 1:
            return figures.curve_plot(table, self.label)
        return figures.gain_plot(table, self.label)


@dataclass(frozen=True)
class OneSet(AdapterQuestion):
    """What is asked of one set of encoders."""

    pairs: int | None = pairs_option(None, help=ALL_PAIRS)

    def complete(self: T, study: Study) -> T:
        """Name spaces and pairs; raises InputError for several sets or references."""
        complete = name_spaces(self, study)
        if len(complete.x) > 1 or len(complete.ref) > 1:
            raise InputError("this is asked of one --x, one --y and one --ref; use --z for more")
        parts = split(study.size, pairs=self.pairs, seed=self.seed)
        return replace(complete, pairs=len(parts.train))

    def lesson(self, study: Study) -> tuple[Lesson, Space]:
        """Return what a complete question trains on and what it compares with."""
        lesson = prepare(study, self.spaces, pairs=self.pairs, seed=self.seed)
        return lesson, read_reference(study, self.ref[0], seed=self.seed)


@dataclass(frozen=True)
class OneTraining(OneSet):
    """What is asked of one training of adapters.

    passes: None for a training that comes to its end.
    """

    passes: int | None = option(
        None,
        least=0,
        most=1_000,
        label="Epochs",
        help="stop after so many passes over the training pairs",
    )


@dataclass(frozen=True)
class Course(OneTraining):
    """How does one training of adapters go on?"""

    command = "adapters course"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "epoch": "passes over the training pairs",
        "loss": "InfoNCE of the training pairs, in nats",
        "validation": "InfoNCE of the validation stimuli",
        "place": "median place of a stimulus's counterpart, if the training tells it",
        "best": "the pass whose adapters are kept so far",
        "alignment": "of those adapters' mean with the reference, on the validation stimuli",
        "recall_10": "of those adapters, mean over directions, on the validation stimuli",
        "chance_alignment": "the metric's chance, if a formula tells it",
        "chance_recall": "chance of recall_10",
    }

    def answer(self, study: Study, report: Progress | None) -> Answer:
        lesson, reference = self.lesson(study)
        rows = []
        settings, count = settings_of(self.fitting), len(lesson.parts.validation)
        chances = {
            "chance_alignment": self.measure.chance(count),
            "chance_recall": min(1.0, 10 / count),
        }
        for epoch, row in follow(lesson, reference, self.measure, settings, device=study.device):
            rows.append({**row, **chances})
            note_rows(rows)
            if report:
                report(epoch.number, epoch.most, "passes at most")
            if epoch.number == self.passes:
                break
        return Answer(pd.DataFrame(rows))

    def plot(self, table: pd.DataFrame) -> Plot:
        return figures.course_plot(table, self.label)


@dataclass(frozen=True)
class Kernels(OneTraining):
    """Which test stimuli are alike to the encoders, to the reference and in the common space?"""

    command = "adapters kernels"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "when": "reference, before or after training",
        "what": "the space, or mean of all",
        "title": "what people call it",
        "alignment": "of the space with the reference over all test stimuli",
        "x": "a stimulus",
        "y": "another",
        "product": "their cosine, or their inner product if those are compared",
    }

    before: bool = option(
        False, label="Before", help="the encoders and the reference alone; nothing is trained"
    )

    def is_kept(self) -> bool:
        return not self.before

    def answer(self, study: Study, _: Progress | None) -> Answer:
        lesson, reference = self.lesson(study)
        adapters = None
        if not self.before:
            settings = settings_of(self.fitting)
            adapters = train_once(lesson, settings, device=study.device, stop=self.passes)
        products = self.fitting.products
        seen = compare_kernels(
            lesson, self.ref[0], reference, self.measure, adapters, products=products
        )
        table = tabulate(seen)
        titles = {**self.titles(study), measures.MEAN: "mean of all"}
        table.insert(2, "title", table["what"].map(titles))
        return Answer(table, kernel_findings(table, self.passes))

    def plot(self, table: pd.DataFrame) -> Plot:
        return figures.kernel_plot(
            table, "cosine" if self.fitting.products == "cosine" else "product"
        )


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


def measure_trainings(
    question: Adaptation, study: Study, report: Progress | None = None
) -> pd.DataFrame:
    """Return a row per measure and seed. question: complete, of one x and one y."""
    (pairs,) = question.pairs
    first = prepare(study, question.spaces, pairs=pairs, seed=question.seed)
    lessons = [
        first._replace(parts=split(study.size, pairs=pairs, seed=question.seed, draw=draw))
        for draw in range(question.seeds)
    ]
    references = {name: read_reference(study, name, seed=question.seed) for name in question.ref}
    settings = settings_of(question.fitting)
    train = partial(_train_all, lessons, settings, device=study.device, report=report)
    rows = _measure(question, first, references, train, report)
    named = {measures.ENCODERS: " + ".join(question.spaces), measures.PAIRS: pairs}
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


def train_adapters(question: Adaptation, study: Study) -> tuple[Adapters, Recipe]:
    """Train the adapters of one x and one y to the end, with the first seed; return them with the
    recipe that their file keeps. Raises as `Adaptation.complete`.
    """
    complete = question.complete(study)
    settings, pairs = settings_of(complete.fitting), max(complete.pairs)
    lesson = prepare(study, complete.spaces, pairs=pairs, seed=complete.seed)
    adapters = train_once(lesson, settings, device=study.device)
    places = find_spaces(study, complete.spaces)
    recipe = study.recipe(
        "adapters",
        [place.model for place in places],
        spaces=[str(place) for place in places],
        pairs=pairs,
        settings=asdict(settings),
        seed=complete.seed,
    )
    return adapters, recipe
