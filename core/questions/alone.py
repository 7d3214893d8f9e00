"""Questions that need no store: two files compared, a world that is simulated.

@answers_alone(Score, version=1)
def score(question, report): …

table = ask_alone(question)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pandas as pd

from core.progress import Progress
from core.questions.question import Question, choices_of, read_answer
from core.recipe import Recipe

Q = TypeVar("Q", bound=Question)
Make = Callable[[Q, Progress | None], pd.DataFrame]
Findings = Callable[[Q, pd.DataFrame], Sequence[str]]


@dataclass(frozen=True)
class AnswerAlone(Generic[Q]):
    """How a question is answered without a store; see `core.questions.asking.Answer`."""

    make: Make[Q]
    version: int
    findings: Findings[Q] | None = None


ANSWERS_ALONE: dict[type[Question], AnswerAlone[Any]] = {}


def answers_alone(
    kind: type[Q], *, version: int, findings: Findings[Q] | None = None
) -> Callable[[Make[Q]], Make[Q]]:
    """Declare the function that answers a question without a store."""

    def declare(make: Make[Q]) -> Make[Q]:
        ANSWERS_ALONE[kind] = AnswerAlone(make, version, findings)
        return make

    return declare


def ask_alone(question: Question, report: Progress | None = None) -> pd.DataFrame:
    """Return the table that answers a question without a store; raises what cannot be asked."""
    table: pd.DataFrame = _answer_of(type(question)).make(question, report)
    return table


def recipe_alone(question: Question) -> Recipe:
    """Return all that a question's answer depends on."""
    kind = type(question)
    versions = {kind.command: _answer_of(kind).version}
    return Recipe.of(kind.command, versions=versions, **choices_of(question))


def findings_alone(question: Question, table: pd.DataFrame) -> Sequence[str]:
    """Return what a question's table says, in plain sentences; none where nobody wrote any."""
    findings = _answer_of(type(question)).findings
    return findings(question, table) if findings else ()


def _answer_of(kind: type[Question]) -> AnswerAlone[Any]:
    if kind not in ANSWERS_ALONE:
        read_answer(kind)
    return ANSWERS_ALONE[kind]
