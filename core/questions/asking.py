"""From a question to its table: over a study it is computed once and kept in the store.

    table = ask(Alignment(), study)
    table = ask(Score("a.npy", "b.npy"))

While an answer is computed, the study's view notes what it reads; other answers pass on what they
read. A kept answer is served only if all of that is still the same: see `core.store.view`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import pandas as pd

from core.metrics import METRICS, find_metric
from core.progress import Patient, Progress, heard_by
from core.questions.question import Question, StudyQuestion, choices_of
from core.questions.registry import answer_of
from core.recipe import Recipe
from core.store.view import ABSENT, Reads, resolve
from core.study.models import open_because, usual
from core.study.parts import Measure
from core.study.study import Study, fresh_answer, keep


@dataclass(frozen=True)
class Answered:
    """A table with all that it depends on: the question in full, and what was read."""

    table: pd.DataFrame
    question: Recipe
    reads: Reads

    @property
    def outside(self) -> Reads:
        """Return what was read beside the store and the project: a person's own files."""
        return {key: digest for key, digest in self.reads.items() if key.startswith("path:")}

    @property
    def recipe(self) -> Recipe:
        """Return the whole recipe."""
        reads = {"reads": dict(self.reads)} if self.reads else {}
        return Recipe.of(self.question.kind, **self.question.choices, **reads)


def ask(
    question: Question, study: Study | None = None, report: Progress | None = None
) -> pd.DataFrame:
    """Return the table that answers a question, from the store if a fresh one is kept there.

    study: of a `StudyQuestion`; other questions need none. Refuses what cannot be answered before
    anything is computed.
    """
    return answer(question, study, report).table


def answer(
    question: Question, study: Study | None = None, report: Progress | None = None
) -> Answered:
    """Return `ask` with what the table depends on."""
    way = answer_of(type(question))
    complete = way.complete(question, study)
    if study is None:
        with heard_by(report and Patient(report)):
            return Answered(way.make(complete, None, report), recipe_of(complete), {})
    study.store.note_keys(*_version_keys(complete))
    recipe = _recipe(complete, study)
    name = name_of(recipe)
    kept = fresh_answer(study, name, recipe)
    if kept is not None:
        table, reads = kept
        study.store.note(reads)
        return Answered(table, recipe, reads)
    noting = study.noting()
    try:
        with heard_by(report and Patient(report)):
            table = way.make(complete, noting, report)
    finally:  # an answer that goes on without this one depends on why it could not be given, too
        reads = dict(sorted(noting.store.reads.items()))
        study.store.note(reads)
    if way.kept(complete):
        keep(study, name, recipe, table, reads)
    return Answered(table, recipe, reads)


def recall(question: StudyQuestion, study: Study) -> Answered | None:
    """Return the fresh answer that is kept, None if it would have to be computed; raises what makes
    the question impossible.
    """
    recipe = question_recipe(question, study)
    kept = fresh_answer(study, name_of(recipe), recipe)
    return kept and Answered(kept[0], recipe, kept[1])


def recipe_of(question: Question) -> Recipe:
    """Return what the answer of a question that needs no store depends on."""
    kind = type(question)
    return Recipe.of(
        kind.command,
        versions={kind.command: answer_of(kind).version},
        **choices_of(answer_of(kind).complete(question, None)),
    )


def question_recipe(question: StudyQuestion, study: Study) -> Recipe:
    """Return a question in full, completed, with the versions of its answer and its metrics; what
    its answer reads is not known before it is computed.
    """
    return _recipe(answer_of(type(question)).complete(question, study), study)


def name_of(recipe: Recipe) -> str:
    """Return what the store calls the answer to a question; a new version takes the place of the
    one before.
    """
    choices = {key: value for key, value in recipe.choices.items() if key != "versions"}
    return f"answer-{Recipe.of(recipe.kind, **choices).digest}"


def _recipe(complete: StudyQuestion, study: Study) -> Recipe:
    kind, choices = type(complete), choices_of(complete)
    for measure in _measures(complete):
        choices |= {"settings": measure.settings}  # defaults too, which may change
        del choices["k"], choices["set"]
    versions = {kind.command: answer_of(kind).version}
    for metric in _metrics(complete):
        versions[f"metric {metric}"] = find_metric(metric).version
    # the choices in one part: one may be named as a part of every recipe is, such as models
    only = {} if study.store.only is None else {"only": sorted(study.store.only)}
    return study.recipe(kind.command, (), versions=versions, question=choices, **only)


def _version_keys(complete: StudyQuestion) -> list[str]:
    """Return the keys of the versions behind an answer, which another that asks for it reads."""
    kind = type(complete)
    answered = f"answer:{kind.__module__}.{kind.__qualname__}"
    return [answered, *(f"metric:{metric}" for metric in _metrics(complete))]


def _answer_version(name: str) -> str:
    """Return the version of the answer to a kind of question, by the name of its class.

    Names come from files, so nothing is imported by them. A kind that is not there yet may come
    with the answers of those that are.
    """
    known: dict[str, type[Question]] = {}
    while name not in known:
        more = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _kinds(Question)}
        if len(more) == len(known):
            return ABSENT  # a question of another version
        known = more
        if name not in known:
            for kind in known.values():
                if "command" in vars(kind):
                    answer_of(kind)
    return str(answer_of(known[name]).version)


def _kinds(kind: type[Question]) -> Iterator[type[Question]]:
    for one in kind.__subclasses__():
        yield one
        yield from _kinds(one)


def _metric_version(name: str) -> str:
    return str(METRICS[name].version) if name in METRICS else ABSENT


resolve("answer", _answer_version)
resolve("metric", _metric_version)


def _metrics(complete: StudyQuestion) -> list[str]:
    return [*complete.compared_metrics(), *(one.metric for one in _measures(complete))]


def _measures(part: object) -> Iterator[Measure]:
    """Yield the measures among the parts of a question."""
    if isinstance(part, Measure):
        yield part
    elif is_dataclass(part):
        for value in vars(part).values():
            yield from _measures(value)


def findings_of(question: Question, table: pd.DataFrame) -> Sequence[str]:
    """Return what a question's table says, in plain sentences; none where nobody wrote any."""
    findings = answer_of(type(question)).findings
    return findings(question, table) if findings else ()


def facts_of(question: Question, table: pd.DataFrame) -> Mapping[str, Any]:
    """Return what a command's JSON has beside the rows; nothing where they are all there is."""
    facts = answer_of(type(question)).facts
    return facts(question, table) if facts else {}


def left_out_of(question: Question, study: Study) -> Sequence[str]:
    """Return what of a study's store an answer does not take in, and why."""
    values = (one if isinstance(one, list) else [one] for one in choices_of(question).values())
    named = {str(one).partition(":")[0] for value in values for one in value}  # of model:layer
    refused = [why for name, why in study.refused().items() if name not in named]
    said = [*answer_of(type(question)).left_out(study), *(f"Left out: {why}." for why in refused)]
    models = usual(study.models())
    opened = open_because(models, models["model"]) if answer_of(type(question)).findings else ""
    return [*said, f"Tests are open: {opened}."] if opened else said
