"""How each question is answered: declared below the function that makes its table.

    def align(question, study, report): …

    declare(Alignment, Answer(align, version=1))

A version is raised by hand whenever the answer's results change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from core.progress import Progress
from core.questions.question import Question, read_answer

if TYPE_CHECKING:
    import pandas as pd

Q = TypeVar("Q", bound=Question)
W = TypeVar("W")  # what is asked: a Study, or None for a question that needs no store
Findings = Callable[[Q, "pd.DataFrame"], Sequence[str]]
Facts = Callable[[Q, "pd.DataFrame"], Mapping[str, object]]


def as_it_is(question: Q, _: object) -> Q:
    """Return a question that names everything by itself."""
    return question


def nothing(_: object) -> Sequence[str]:
    """Leave nothing out."""
    return ()


def always(_: Question) -> bool:
    """Keep every table."""
    return True


def never(_: Question) -> bool:
    """Keep no table: it is made in a moment."""
    return False


@dataclass(frozen=True)
class Answer(Generic[Q, W]):
    """How a question is answered, over a study or, where it needs no store, over None.

    make: the table, from the complete question, the study and the report of progress.
    complete: names what the question leaves open, such as the models that are meant where none are
    named, and refuses what cannot be answered before anything is computed.
    findings: what the table says, in sentences.
    facts: plain values by name that the command's JSON has beside the rows.
    kept: whether keeping the table in the store saves time; no table is kept without a study. What
    an answer depends on is noted while it is computed, so this cannot make one stale.
    left_out: sentences on what of the store no answer of this kind takes in.
    shown: the columns that a terminal has room for, all where none is named; hidden: those for
    which it has none. JSON has them all.
    """

    make: Callable[[Q, W, Progress | None], pd.DataFrame]
    version: int
    complete: Callable[[Q, W], Q] = as_it_is
    findings: Findings[Q] | None = None
    facts: Facts[Q] | None = None
    kept: Callable[[Q], bool] = always
    left_out: Callable[[W], Sequence[str]] = nothing
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


ANSWERS: dict[type[Question], Answer[Any, Any]] = {}


def declare(kind: type[Q], answer: Answer[Q, W]) -> None:
    """Declare how a question is answered."""
    ANSWERS[kind] = answer


def answer_of(kind: type[Question]) -> Answer[Any, Any]:
    """Return how a question is answered; the module that declares it is imported on first use."""
    if kind not in ANSWERS:
        read_answer(kind)
    return ANSWERS[kind]
