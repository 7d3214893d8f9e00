"""Questions that need no store: two files compared, a world that is simulated.

@answers_alone(Score, version=1)
def score(question, report): …

table = ask_alone(question)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pandas as pd

from core.progress import Progress
from core.questions.question import Question, choices_of, read_answer
from core.recipe import Recipe

Q = TypeVar("Q", bound=Question)
Make = Callable[[Q, Progress | None], pd.DataFrame]
Findings = Callable[[Q, pd.DataFrame], Sequence[str]]
Facts = Callable[[Q, pd.DataFrame], Mapping[str, object]]


def as_asked(question: Q) -> Q:
    """Return a question that names everything by itself."""
    return question


@dataclass(frozen=True)
class AnswerAlone(Generic[Q]):
    """How a question is answered without a store; see `core.questions.asking.Answer`.

    facts: what the command's JSON has beside the rows, plain values by name; where there are none
    it is the rows alone.
    """

    make: Make[Q]
    version: int
    complete: Callable[[Q], Q] = as_asked
    findings: Findings[Q] | None = None
    facts: Facts[Q] | None = None


ANSWERS_ALONE: dict[type[Question], AnswerAlone[Any]] = {}


def answers_alone(
    kind: type[Q],
    *,
    version: int,
    complete: Callable[[Q], Q] = as_asked,
    findings: Findings[Q] | None = None,
    facts: Facts[Q] | None = None,
) -> Callable[[Make[Q]], Make[Q]]:
    """Declare the function that answers a question without a store."""

    def declare(make: Make[Q]) -> Make[Q]:
        ANSWERS_ALONE[kind] = AnswerAlone(make, version, complete, findings, facts)
        return make

    return declare


def ask_alone(question: Question, report: Progress | None = None) -> pd.DataFrame:
    """Return the table that answers a question without a store; raises what cannot be asked."""
    answer = _answer_of(type(question))
    table: pd.DataFrame = answer.make(answer.complete(question), report)
    return table


def recipe_alone(question: Question) -> Recipe:
    """Return all that a question's answer depends on."""
    kind = type(question)
    answer = _answer_of(kind)
    complete = answer.complete(question)
    return Recipe.of(kind.command, versions={kind.command: answer.version}, **choices_of(complete))


def findings_alone(question: Question, table: pd.DataFrame) -> Sequence[str]:
    """Return what a question's table says, in plain sentences; none where nobody wrote any."""
    findings = _answer_of(type(question)).findings
    return findings(question, table) if findings else ()


def facts_alone(question: Question, table: pd.DataFrame) -> Mapping[str, object]:
    """Return what stands beside a question's rows; nothing where they are all there is."""
    facts = _answer_of(type(question)).facts
    return facts(question, table) if facts else {}


def _answer_of(kind: type[Question]) -> AnswerAlone[Any]:
    if kind not in ANSWERS_ALONE:
        read_answer(kind)
    return ANSWERS_ALONE[kind]
