"""From a question to its table: over a study it is computed once and kept in the store.

    table = ask(Alignment(), study)
    table = ask(Score("a.npy", "b.npy"))

While an answer is computed, the study's view notes what it reads; other answers pass on what they
read. A kept answer is served only if all of that is still the same: see `core.store.view`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass

import pandas as pd

from core.errors import StoreError
from core.metrics import METRICS, find_metric
from core.questions.finding import Finding, from_rows, to_rows
from core.questions.question import Question, StudyQuestion, choices_of
from core.questions.topics import find_kind
from core.recipe import Recipe
from core.store import View, write_result
from core.store.view import ABSENT, Reads, resolve
from core.study.models import is_reality, open_because, usual
from core.study.parts import Measure
from core.study.study import Study

LISTS = ("models", "results")  # reads that change if something is added


@dataclass(frozen=True)
class Answered:
    """An answer with all that it depends on: the question in full, and what was read."""

    table: pd.DataFrame
    findings: Sequence[Finding]
    question: Recipe
    reads: Reads

    @property
    def outside(self) -> Reads:
        """Return what was read outside the store and the project: a person's own files."""
        return {key: digest for key, digest in self.reads.items() if key.startswith("path:")}

    @property
    def recipe(self) -> Recipe:
        """Return the whole recipe."""
        reads = {"reads": dict(self.reads)} if self.reads else {}
        return Recipe.of(self.question.kind, **self.question.choices, **reads)


def ask(question: Question, study: Study | None = None) -> pd.DataFrame:
    """Return the table that answers a question, from the store if a fresh one is kept there.

    study: of a `StudyQuestion`; other questions need none. Refuses what cannot be answered before
    anything is computed.
    """
    return answer(question, study).table


def answer(question: Question, study: Study | None = None) -> Answered:
    """Return the answer to a question with what it depends on; see `ask`."""
    complete = question.complete(study)
    if study is None:
        made = complete.answer(None)
        return Answered(made.table, made.findings, recipe_of(complete), {})
    assert isinstance(complete, StudyQuestion)
    study.store.note_keys(*_version_keys(complete))
    recipe = _recipe(complete, study)
    if kept := _fresh_answer(study, recipe):
        study.store.note(kept.reads)
        return kept
    noting = study.noting()
    try:
        made = complete.answer(noting)
    finally:  # an answer that goes on without this one depends on why it could not be given, too
        reads = dict(sorted(noting.store.reads.items()))
        study.store.note(reads)
    if complete.is_kept():
        with suppress(StoreError):  # it is kept only to save time later
            if View(study.store.root).is_fresh(reads):  # nothing has changed meanwhile
                write_result(
                    study.store.root,
                    dataset=study.dataset,
                    name=name_of(recipe),
                    table=made.table,
                    recipe=recipe,
                    reads=reads,
                    findings=to_rows(made.findings),
                )
    return Answered(made.table, made.findings, recipe, reads)


def recall(question: StudyQuestion, study: Study) -> Answered | None:
    """Return the fresh answer that is kept, None if it would have to be computed; raises what makes
    the question impossible.
    """
    complete = question.complete(study)
    return _fresh_answer(study, _recipe(complete, study))


def recall_earlier(question: StudyQuestion, study: Study) -> tuple[Answered, list[str]] | None:
    """Return the kept answer from before models were added, and these of the usual ones; None if
    it is fresh or anything else has changed since.
    """
    complete = question.complete(study)
    recipe, dataset = _recipe(complete, study), study.dataset.name
    meta = study.store.answer(dataset, name_of(recipe))
    if meta is None or meta.recipe != recipe:
        return None
    changed = [key for key, one in meta.reads.items() if study.store.current(key) != one]
    models = usual(study.models())
    names = models.loc[~is_reality(models), "model"]
    added = [name for name in names if f"embedding:{dataset}:{name}" not in meta.reads]
    if not added or any(key.partition(":")[0] not in LISTS for key in changed):
        return None
    stored = study.store.result(dataset, meta.name)
    if stored is None or study.store.answer(dataset, meta.name) != meta:  # replaced since
        return None
    return Answered(stored[0], from_rows(meta.findings), recipe, meta.reads), added


def _fresh_answer(study: Study, recipe: Recipe) -> Answered | None:
    """Return the answer that is kept, None if there is none by this recipe or if anything that it
    read has changed.
    """
    name, dataset = name_of(recipe), study.dataset.name
    meta = study.store.answer(dataset, name)
    if meta is None or meta.recipe != recipe or not study.store.is_fresh(meta.reads):
        return None
    stored = study.store.result(dataset, name)
    if stored is None or study.store.answer(dataset, name) != meta:  # replaced since
        return None
    return Answered(stored[0], from_rows(meta.findings), recipe, meta.reads)


def recipe_of(question: Question) -> Recipe:
    """Return what the answer of a question that needs no store depends on."""
    complete = question.complete(None)
    versions = {question.command: complete.version}
    return Recipe.of(question.command, versions=versions, **choices_of(complete))


def question_recipe(question: StudyQuestion, study: Study) -> Recipe:
    """Return a question in full, completed, with the versions of its answer and its metrics; what
    its answer reads is not known before it is computed.
    """
    return _recipe(question.complete(study), study)


def name_of(recipe: Recipe) -> str:
    """Return what the store calls the answer to a question; a new version takes the place of the
    one before.
    """
    choices = {key: value for key, value in recipe.choices.items() if key != "versions"}
    return f"answer-{Recipe.of(recipe.kind, **choices).digest}"


def _recipe(complete: Question, study: Study) -> Recipe:
    command, choices = complete.command, choices_of(complete)
    for measure in _measures(complete):
        choices |= {"settings": measure.settings}  # defaults too, which may change
        del choices["k"], choices["set"]
    versions = {command: complete.version}
    for metric in _metrics(complete):
        versions[f"metric {metric}"] = find_metric(metric).version
    # the choices in one part: one may be named as a part of every recipe is, such as models
    only = {} if study.store.only is None else {"only": sorted(study.store.only)}
    return study.recipe(command, (), versions=versions, question=choices, **only)


def _version_keys(complete: Question) -> list[str]:
    """Return the keys of the versions behind an answer, which another that asks for it reads."""
    return [f"answer:{complete.command}", *(f"metric:{metric}" for metric in _metrics(complete))]


def _answer_version(command: str) -> str:
    kind = find_kind(command)
    return str(kind.version) if kind else ABSENT  # a question of another version


def _metric_version(name: str) -> str:
    return str(METRICS[name].version) if name in METRICS else ABSENT


resolve("answer", _answer_version)
resolve("metric", _metric_version)


def _metrics(complete: Question) -> list[str]:
    compared = complete.compared_metrics() if isinstance(complete, StudyQuestion) else ()
    return [*compared, *(one.metric for one in _measures(complete))]


def _measures(part: object) -> Iterator[Measure]:
    """Yield the measures among the parts of a question."""
    if isinstance(part, Measure):
        yield part
    elif is_dataclass(part):
        for value in vars(part).values():
            yield from _measures(value)


def left_out_of(question: StudyQuestion, study: Study) -> Sequence[str]:
    """Return what of a study's store an answer does not take in, and why."""
    values = (one if isinstance(one, list) else [one] for one in choices_of(question).values())
    named = {str(one).partition(":")[0] for value in values for one in value}  # of model:layer
    refused = [why for name, why in study.refused().items() if name not in named]
    said = [*question.left_out(study), *(f"Left out: {why}." for why in refused)]
    models = usual(study.models())
    opened = open_because(models, models["model"])
    return [*said, f"Tests are open: {opened}."] if opened else said
