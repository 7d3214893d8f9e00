"""From a question to its table: answered once, kept in the store under its recipe.

    @answers(Alignment, version=1)
    def align(question, study, report): …

    table = ask(question, study)

A version is raised by hand whenever the answer's results change. The recipe takes in the versions
of an answer and of all that it needs, so that a table of an older version is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, Generic, TypeVar

import pandas as pd

from core.errors import StoreError
from core.metrics import find_metric
from core.progress import Progress
from core.questions.question import Question, StudyQuestion, choices_of, read_answer
from core.recipe import Recipe
from core.study.keeping import keep
from core.study.parts import Measure
from core.study.study import Study

S = TypeVar("S", bound=StudyQuestion)
Make = Callable[[S, Study, Progress | None], pd.DataFrame]
Findings = Callable[[S, pd.DataFrame], Sequence[str]]


def as_asked(question: S, _: Study) -> S:
    """Return a question that names everything by itself."""
    return question


def unstamped(_: Question, __: Study) -> Mapping[str, Any]:
    """Depend on nothing beside the question and the store."""
    return {}


def nothing(_: Study) -> Sequence[str]:
    """Leave nothing out."""
    return ()


def always(_: Question) -> bool:
    """Keep every table."""
    return True


def never(_: Question) -> bool:
    """Keep no table: it is made in a moment."""
    return False


@dataclass(frozen=True)
class Answer(Generic[S]):
    """How a question is answered.

    complete: names what depends on the store, such as the models that are meant where none are
    named, and raises what cannot be asked before anything is computed. needs: the questions that
    `make` asks in turn. findings: what the table says, in sentences. kept: whether the store keeps
    the table; not where it is made in a moment. stamp: what else the table depends on, such as
    digests of files outside the store, as plain JSON values. left_out: sentences on
    what of the store no answer of this kind takes in. shown: the columns that a
    terminal has room for, all where none is named; JSON has them all.
    """

    make: Make[S]
    version: int
    complete: Callable[[S, Study], S] = as_asked
    needs: tuple[type[StudyQuestion], ...] = ()
    findings: Findings[S] | None = None
    kept: Callable[[S], bool] = always
    stamp: Callable[[S, Study], Mapping[str, Any]] = unstamped
    left_out: Callable[[Study], Sequence[str]] = nothing
    shown: tuple[str, ...] = ()


ANSWERS: dict[type[Question], Answer[Any]] = {}


def answers(
    kind: type[S],
    *,
    version: int,
    complete: Callable[[S, Study], S] = as_asked,
    needs: tuple[type[StudyQuestion], ...] = (),
    findings: Findings[S] | None = None,
    kept: Callable[[S], bool] = always,
    stamp: Callable[[S, Study], Mapping[str, Any]] = unstamped,
    left_out: Callable[[Study], Sequence[str]] = nothing,
    shown: tuple[str, ...] = (),
) -> Callable[[Make[S]], Make[S]]:
    """Declare the function that answers a question."""

    def declare(make: Make[S]) -> Make[S]:
        ANSWERS[kind] = Answer(
            make, version, complete, needs, findings, kept, stamp, left_out, shown
        )
        return make

    return declare


def ask(question: StudyQuestion, study: Study, report: Progress | None = None) -> pd.DataFrame:
    """Return the table that answers a question, from the store where it is kept there.

    Raises what cannot be asked before anything is computed.
    """
    answer = answer_of(type(question))
    complete = answer.complete(question, study)
    if not answer.kept(complete):
        return answer.make(complete, study, report)
    recipe = _recipe(complete, study)

    def make() -> pd.DataFrame:
        table = answer.make(complete, study, report)
        if _recipe(complete, study) != recipe:
            raise StoreError("a model was embedded again while it was compared; ask once more")
        return table

    return keep(study, recipe, make)


def recipe_of(question: StudyQuestion, study: Study) -> Recipe:
    """Return all that a question's answer depends on."""
    return _recipe(answer_of(type(question)).complete(question, study), study)


def _recipe(complete: StudyQuestion, study: Study) -> Recipe:
    kind = type(complete)
    # in one part: an option may be named as a part of every recipe is, such as models
    choices, versions = choices_of(complete), versions_of(kind)
    for measure in _measures(complete):
        choices |= {"settings": measure.settings}  # defaults too, which may change
        del choices["k"], choices["set"]
    for metric in (*complete.compared_metrics(), *(one.metric for one in _measures(complete))):
        versions[f"metric {metric}"] = find_metric(metric).version
    stamp = dict(answer_of(kind).stamp(complete, study))
    more = {"stamp": stamp} if stamp else {}
    models = complete.models()
    return study.recipe(kind.command, models, versions=versions, question=choices, **more)


def stamp_of(question: StudyQuestion, study: Study) -> Mapping[str, Any]:
    """Return what a question's answer depends on outside the store, such as digests of files."""
    answer = answer_of(type(question))
    return answer.stamp(answer.complete(question, study), study)


def _measures(part: object) -> Iterator[Measure]:
    """Yield the measures among the parts of a question."""
    if isinstance(part, Measure):
        yield part
    elif is_dataclass(part):
        for value in vars(part).values():
            yield from _measures(value)


def versions_of(kind: type[StudyQuestion]) -> dict[str, int]:
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


def left_out_of(kind: type[StudyQuestion], study: Study) -> Sequence[str]:
    """Return what of a study's store no answer of this kind takes in, and why."""
    return answer_of(kind).left_out(study)


def answer_of(kind: type[Question]) -> Answer[Any]:
    """Return how a question is answered; the module that says so is read on first use."""
    if kind not in ANSWERS:
        read_answer(kind)
    return ANSWERS[kind]
