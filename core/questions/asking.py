"""From a question to its table: over a study it is made once and kept in the store by its recipe.

    table = ask(Alignment(), study)
    table = ask(Score("a.npy", "b.npy"))

The recipe takes in the versions of an answer and of all that it needs, so that a table of an older
version is made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import pandas as pd

from core.errors import StoreError
from core.metrics import find_metric
from core.progress import Patient, Progress, heard_by
from core.questions.question import Question, StudyQuestion, choices_of
from core.questions.registry import answer_of, nothing_more
from core.recipe import Recipe
from core.study.keeping import keep, kept_table
from core.study.parts import Measure
from core.study.study import Study


def ask(
    question: Question, study: Study | None = None, report: Progress | None = None
) -> pd.DataFrame:
    """Return the table that answers a question, from the store where it is kept there.

    study: of a `StudyQuestion`; other questions need none. Refuses what cannot be answered before
    anything is computed.
    """
    answer = answer_of(type(question))
    complete = answer.complete(question, study)

    def make() -> pd.DataFrame:
        with heard_by(report and Patient(report)):
            table: pd.DataFrame = answer.make(complete, study, report)
        return table

    if study is None or not answer.kept(complete):
        return make()
    recipe = _recipe(complete, study)

    def make_unchanged() -> pd.DataFrame:
        table = make()
        if _recipe(complete, study) != recipe:
            raise StoreError("a model was embedded again while it was compared; ask once more")
        return table

    return keep(study, recipe, make_unchanged)


def recall(question: StudyQuestion, study: Study) -> pd.DataFrame | None:
    """Return the kept answer to a question, None where it would have to be computed; raises what
    makes the question impossible.
    """
    return kept_table(study, recipe_of(question, study))


def recipe_of(question: Question, study: Study | None = None) -> Recipe:
    """Return all that a question's answer depends on."""
    return _recipe(answer_of(type(question)).complete(question, study), study)


def _recipe(complete: Question, study: Study | None) -> Recipe:
    kind = type(complete)
    choices, versions = choices_of(complete), versions_of(kind)
    if study is None:
        return Recipe.of(kind.command, versions=versions, **choices)
    assert isinstance(complete, StudyQuestion)
    for measure in _measures(complete):
        choices |= {"settings": measure.settings}  # defaults too, which may change
        del choices["k"], choices["set"]
    for metric in (*complete.compared_metrics(), *(one.metric for one in _measures(complete))):
        versions[f"metric {metric}"] = find_metric(metric).version
    answer = answer_of(kind)
    stamp = {**answer.reads(complete, study), **answer.stamp(complete, study)}
    more = {"stamp": stamp} if stamp else {}
    # the choices in one part: one may be named as a part of every recipe is, such as models
    return study.recipe(
        kind.command, complete.models(), versions=versions, question=choices, **more
    )


def stamp_of(question: StudyQuestion, study: Study) -> Mapping[str, Any]:
    """Return what a question's answer depends on outside the store, such as digests of files."""
    answer = answer_of(type(question))
    if answer.stamp is nothing_more:  # spares the question's completion
        return {}
    return answer.stamp(answer.complete(question, study), study)


def _measures(part: object) -> Iterator[Measure]:
    """Yield the measures among the parts of a question."""
    if isinstance(part, Measure):
        yield part
    elif is_dataclass(part):
        for value in vars(part).values():
            yield from _measures(value)


def versions_of(kind: type[Question]) -> dict[str, int]:
    """Return the versions of a question's answer and of all answers it needs, by command."""
    answer = answer_of(kind)
    versions = {kind.command: answer.version}
    for needed in answer.needs:
        versions |= versions_of(needed)
    return versions


def findings_of(question: Question, table: pd.DataFrame) -> Sequence[str]:
    """Return what a question's table says, in plain sentences; none where nobody wrote any."""
    findings = answer_of(type(question)).findings
    return findings(question, table) if findings else ()


def facts_of(question: Question, table: pd.DataFrame) -> Mapping[str, object]:
    """Return what a command's JSON has beside the rows; nothing where they are all there is."""
    facts = answer_of(type(question)).facts
    return facts(question, table) if facts else {}


def left_out_of(kind: type[Question], study: Study) -> Sequence[str]:
    """Return what of a study's store no answer of this kind takes in, and why."""
    return answer_of(kind).left_out(study)
