"""Do linear adapters bring frozen encoders nearer to a strong model?

The proposal: linear adapters are trained contrastively to map paired images and captions to the
same point; the common space is nearer to a held-out reference model than the encoders are on
average.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from safetensors.numpy import save

from core.errors import InputError
from core.figures.grammar import Plot
from core.options import MOST_STIMULI, draws_option, option, part, seed_option
from core.progress import note_rows, tell, tell_each
from core.questions.adapters import figures, measures
from core.questions.adapters.findings import adaptation_findings, curve_findings, kernel_findings
from core.questions.adapters.kernels import kernel_table
from core.questions.adapters.lesson import (
    Lesson,
    passes,
    prepare,
    read_reference,
    train_once,
    usual_models,
)
from core.questions.adapters.maps import LEAST, Fitting, Settings, compared, split
from core.questions.adapters.probes import probe, probe_findings, probe_plot, study_events
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.question import Answer, StudyQuestion
from core.study.models import usual
from core.study.parts import Measure
from core.study.spaces import find_space, find_spaces
from core.study.study import Study

SMALLEST = 32  # training pairs from which a learning curve starts


@dataclass(frozen=True)
class Adaptation(StudyQuestion):
    """Do linear adapters bring frozen encoders nearer to a strong model?

    Alignment with the reference and retrieval before and after several trainings; the kernels of
    one training; or probes of factors and of nuisances that only one modality knows. All are
    measured on test stimuli.
    """

    command = "adapt"
    version = 5
    device: ClassVar = "auto"
    columns: ClassVar[Mapping[str, str]] = {
        "encoders": "encoders that were trained together",
        "reference": "what the common space is compared with; empty if a row needs none",
        "pairs": "training pairs",
        "measure": "alignment, gain, own_gain, recall_1, recall_5, recall_10, median_rank, or of"
        " the training start_loss, validation_loss, epochs, temperature, untrained",
        "method": "adapters, before, centered, or a method that is not trained by gradient",
        "when": "of kernels: reference, before or after training",
        "what": "the space: an encoder, the mean of all, or a direction of retrieval",
        "space": "of probes: an encoder, or the reference",
        "title": "name of the space or the direction",
        "value": "mean over trainings",
        "sd": "standard deviation over trainings",
        "kind": "factor of the world, or nuisance of one modality",
        "label": "which factor or nuisance; all: the mean over those of a kind",
        "probe": "linear: share of test stimuli that a linear probe gets right; neighbors: share of"
        " the 10 most similar training stimuli that have the class",
        "chance": "what frequencies of classes alone reach",
        "before": "share before adapters",
        "after": "share after; empty for the reference",
        "change": "after − before",
        "seeds": "trainings",
        "low": "low end of the 95% interval of a gain, over halves of the test and trainings, or of"
        " a change, over test stimuli",
        "high": "high end of that interval",
        "holds": "what a gain says about the proposal: yes, no or undecided",
        "reason": "why there is no value",
        "alignment": "of the space with the reference over all test stimuli",
        "x": "a stimulus",
        "y": "another",
        "product": "their cosine, or their inner product if those are compared",
    }

    x: tuple[str, ...] = option(
        (),
        label="Encoder A",
        metavar="A[:LAYER]",
        help="an encoder, in its penultimate block if no layer is named (published: last); the"
        " usual ones if none are named",
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
    of: Literal["gain", "before", "kernels", "probes"] = option(
        "gain",
        label="Answer",
        help="gain: alignment with the reference and retrieval; before: kernels of the encoders,"
        " nothing is trained; kernels: also of the common space, after one training; probes:"
        " accuracy of probes of factors and nuisances before and after",
    )
    fitting: Fitting = part(Fitting)
    measure: Measure = part(Measure)
    pairs: tuple[int, ...] = option(
        (),
        least=LEAST,
        most=MOST_STIMULI,
        label="Pairs",
        help="training pairs (all that test and validation leave); several give a curve",
    )
    halved: bool = option(
        False, label="Data efficiency", help="also a half, a quarter … of the pairs"
    )
    seeds: int = option(
        5,
        least=1,
        most=1_000,
        label="Trainings",
        help="trainings; they differ in what is drawn, not in the test stimuli",
    )
    bootstrap: int = draws_option(
        200,
        least=measures.FEWEST_DRAWS,
        label="Draws",
        help="halves of the test stimuli, for the interval of the gain",
    )
    seed: int = seed_option("of which stimuli test, validate and train, and of all draws")

    @property
    def spaces(self) -> tuple[str, ...]:
        """Return the encoders that are trained together, of a question about one x and one y."""
        return (*self.x[:1], *self.y[:1], *self.z)

    @property
    def settings(self) -> Settings:
        return Settings(**asdict(self.fitting))

    @property
    def label(self) -> str:
        """Return the title of an axis of alignment."""
        return f"{self.measure.spec.short} with the reference"

    def complete(self, study: Study) -> Adaptation:
        """Name encoders, references and their layers, the usual ones if none are named; raise for
        everything that cannot be trained or measured.
        """
        if self.of == "probes":
            study_events(study)
        question, named = self, [bool(names) for names in (self.x, self.y, self.ref)]
        if not any(named):
            models, solved = usual(study.models()), ask(TasksSolved(self.scope), study)
            (x, y), reference = usual_models(study, models, solved)
            question = replace(self, x=(x,), y=(y,), ref=(reference,))
        elif not all(named):
            raise InputError(
                "name --x, --y and --ref together, or none of them for the usual models"
            )
        self.measure.settings  # noqa: B018 — raises for the metric and its parameters
        question = _with_layers(question, study)
        sizes = set(self.pairs or [len(split(study.size, seed=self.seed).train)])
        if self.of == "gain" and self.halved:
            most = max(sizes)
            sizes |= {most >> n for n in range(most.bit_length()) if most >> n >= SMALLEST}
        for size in sizes:
            split(study.size, pairs=size, seed=self.seed)
        question = replace(question, pairs=tuple(sorted(sizes)), halved=False)
        if self.of == "gain":
            return question
        if max(len(question.x), len(question.ref), len(sizes)) > 1:
            raise InputError("this is asked of one --x, one --y and one --ref; use --z for more")
        if self.of == "probes":
            return replace(question, bootstrap=type(self).bootstrap)
        return replace(question, bootstrap=type(self).bootstrap, seeds=type(self).seeds)

    def is_kept(self) -> bool:
        return len(self.x) == 1 and self.of != "before"

    def answer(self, study: Study) -> Answer:
        titles = self._titles(study)
        if self.of != "gain":
            lesson = prepare(study, self.spaces, pairs=self.pairs[0], seed=self.seed)
            reference = read_reference(study, self.ref[0], seed=self.seed)
            if self.of == "probes":
                table = probe(self, study, lesson, reference)
                table.insert(1, "title", table["space"].map(titles))
                return Answer(table, probe_findings(table))
            settings, trains = self.settings, self.of == "kernels"
            adapters = train_once(lesson, settings, device=study.device) if trains else None
            table = kernel_table(
                lesson, self.ref[0], reference, self.measure, adapters, self.fitting.products
            )
            table.insert(2, "title", table["what"].map({**titles, measures.MEAN: "mean of all"}))
            return Answer(table, kernel_findings(table))
        if len(self.x) > 1 or len(self.pairs) > 1:
            parts = [
                replace(self, x=(x,), y=(y,), pairs=(size,))
                for x, y in zip(self.x, self.y, strict=True)
                for size in self.pairs
            ]
            table = pd.concat([ask(one, study) for one in parts], ignore_index=True)
        else:
            table = measures.summarize(measure_trainings(self, study))
            called = {**titles, measures.MEAN: "mean of all", measures.AVERAGE: "average"}
            whats = [what.split(" → ") for what in table["what"]]
            names = [" → ".join(called.get(name, name) for name in what) for what in whats]
            table.insert(table.columns.get_loc("value"), "title", names)
        say = adaptation_findings if len(self.pairs) == 1 else curve_findings
        return Answer(table, say(table, titles))

    def plot(self, table: pd.DataFrame) -> Plot:
        if "epoch" in table:  # of a job that is still training
            return figures.course_plot(table)
        if self.of == "probes":
            return probe_plot(table)
        if self.of in ("before", "kernels"):
            return figures.kernel_plot(
                table, "cosine" if self.fitting.products == "cosine" else "product"
            )
        if table[measures.PAIRS].nunique() > 1:
            return figures.curve_plot(table, self.label)
        return figures.gain_plot(table, self.label)

    def _titles(self, study: Study) -> dict[str, str]:
        """Return the names of encoders and references, with layers if two share one."""
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


def _with_layers(question: Adaptation, study: Study) -> Adaptation:
    """Return the question with a layer for each model; raise for names that mean nothing, and for a
    reference with an encoder's weights, which would take part in the training.
    """
    if len(question.x) != len(question.y):
        raise InputError(
            f"the i-th --x belongs to the i-th --y; got {len(question.x)} and"
            f" {len(question.y)}: name as many of both"
        )
    truths, each = find_spaces(study, question.ref), list[list[str]]()
    for x, y in zip(question.x, question.y, strict=True):
        places = find_spaces(study, (x, y, *question.z))
        weights = {study.entry(place.model).card.weights for place in places}
        shared = {one.model for one in truths if study.entry(one.model).card.weights in weights}
        if shared:
            raise InputError(
                f"the reference has no part in the training, but {', '.join(sorted(shared))} has an"
                " encoder's weights; name another one"
            )
        names = [str(place) for place in places]
        if set(names) in map(set, each):
            raise InputError(
                f"{' + '.join(names)} would be trained twice; leave one of its --x and --y out"
            )
        each.append(names)
    return replace(
        question,
        x=tuple(names[0] for names in each),
        y=tuple(names[1] for names in each),
        z=tuple(each[0][2:]),
        ref=tuple(map(str, truths)),
    )


def measure_trainings(question: Adaptation, study: Study) -> pd.DataFrame:
    """Return a row per measure and seed. question: complete, of one x and one y.

    All that can be measured before training comes first, so a metric that does not fit is refused
    early.
    """
    (pairs,), seed = question.pairs, question.seed
    measure, products = question.measure, question.fitting.products
    first = prepare(study, question.spaces, pairs=pairs, seed=seed)
    spaces, parts = first.spaces, first.parts
    references = {name: read_reference(study, name, seed=seed) for name in question.ref}
    score = partial(measures.score_halves, measure=measure, draws=question.bootstrap, seed=seed)
    views = measures.views_before(spaces, parts, centered=False, products=products)
    truths = {name: compared(space[parts.test], products) for name, space in references.items()}
    before = {name: score(views, truth) for name, truth in truths.items()}
    rows = {
        name: measures.alignment_rows(spaces, reference, parts, measure, products)
        for name, reference in references.items()
    }
    rows[""], after = [], []
    for draw in tell_each(range(question.seeds), "adapters trained"):
        lesson = Lesson(spaces, split(study.size, pairs=pairs, seed=seed, draw=draw))
        course = list[dict[str, float]]()
        for last in passes(lesson, question.settings, seed=draw, device=study.device):
            losses = {"training pairs": last.loss, "validation pairs": last.validation}
            course.append({"epoch": last.number, **losses})
            note_rows(course)
            tell(last.number, question.settings.epochs, f"epochs of training {draw + 1}")
        told = {
            "start_loss": course[0]["training pairs"],
            "validation_loss": last.best_validation,
            "epochs": last.best_number,
            "temperature": last.best.temperature,
            measures.UNTRAINED: last.best_number == 0,
        }
        rows[""] += [
            measures.row(name, measures.ADAPTERS, "training", float(value), seed=draw)
            for name, value in told.items()
        ]
        after.append(measures.views_after(last.best, spaces, parts))
        rows[""] += measures.retrieval_rows(spaces, after[-1], lesson.parts, seed=draw)
    for name, truth in tell_each(truths.items(), "references compared"):
        reached = [score(views, truth) for views in after]
        rows[name] += measures.gain_rows(before[name], reached, measure, seed=seed)
    named = {measures.ENCODERS: " + ".join(question.spaces), measures.PAIRS: pairs}
    every = [
        {**named, measures.REFERENCE: reference, **row}
        for reference, several in rows.items()
        for row in several
    ]
    columns = [measures.ENCODERS, measures.REFERENCE, measures.PAIRS, *measures.COLUMNS]
    return pd.DataFrame(every, columns=columns)


def adapters_file(question: Adaptation, study: Study) -> bytes:
    """Train the adapters of one x and one y with the first seed; return a safetensors file with a
    weight and an offset per encoder, numbered, and in its metadata their names and the recipe.
    """
    complete = question.complete(study)
    pairs, settings = max(complete.pairs), complete.settings
    lesson = prepare(study, complete.spaces, pairs=pairs, seed=complete.seed)
    adapters = train_once(lesson, settings, device=study.device)
    recipe = study.recipe(
        "adapters",
        [place.model for place in find_spaces(study, complete.spaces)],
        spaces=list(complete.spaces),
        pairs=pairs,
        settings=asdict(settings),
        seed=complete.seed,
    )
    tensors = {}
    for number, adapter in enumerate(adapters.maps.values()):
        tensors[f"weight_{number}"] = np.ascontiguousarray(adapter.weight)
        tensors[f"offset_{number}"] = np.ascontiguousarray(adapter.offset)
    metadata = {
        "encoders": json.dumps(list(adapters.maps)),
        "temperature": repr(adapters.temperature),
        "products": adapters.products,
        "recipe": recipe.text,
    }
    data: bytes = save(tensors, metadata)
    return data
