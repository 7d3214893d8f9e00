"""For topics whose answers are declared apart from their classes, until each class has its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from core.progress import Progress
from core.questions import question as classes
from core.questions.finding import Finding
from core.questions.question import Question, StudyQuestion

if TYPE_CHECKING:
    import pandas as pd

Q = TypeVar("Q", bound=Question)


def never(_: Question) -> bool:
    """Keep no table: it is made in a moment."""
    return False


@dataclass(frozen=True)
class Answer:
    """How a question is answered: what its class will have as methods and attributes."""

    make: Callable[[Any, Any, Progress | None], pd.DataFrame]
    version: int
    complete: Callable[[Any, Any], Any] | None = None
    findings: Callable[[Any, pd.DataFrame], Sequence[str]] | None = None
    facts: Callable[[Any, pd.DataFrame], Mapping[str, object]] | None = None
    kept: Callable[[Any], bool] | None = None
    left_out: Callable[[Any], Sequence[str]] | None = None
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


def declare(kind: type[Q], way: Answer) -> None:
    """Give a class its answer."""

    def answer(self: Q, study: Any, report: Progress | None) -> classes.Answer:
        return classes.Answer(way.make(self, study, report))

    methods: dict[str, Any] = {
        "answer": answer,
        "version": way.version,
        "shown": way.shown,
        "hidden": way.hidden,
        "is_kept": way.kept,
        "declared_findings": way.findings,
        "complete": way.complete,
        "facts": way.facts,
        "left_out": way.left_out and staticmethod(way.left_out),
    }
    usual = {**vars(Question), "left_out": vars(StudyQuestion)["left_out"]}
    for name, method in methods.items():  # not those of a declared question that it extends
        setattr(kind, name, usual.get(name) if method is None else method)


def ready(kind: type[Question]) -> type[Question]:
    """Return a class with its answer; the module that declares it is imported on first use."""
    if not kind.version:
        import_module(f"{kind.__module__.rpartition('.')[0]}.answer")
    return kind


def declared_findings(question: Question, table: pd.DataFrame) -> tuple[Finding, ...]:
    """Return the sentences of a topic that still words its findings itself."""
    say = getattr(type(question), "declared_findings", None)
    said = say(question, table) if say else ()
    return tuple(Finding(sentence.removesuffix(".")) for sentence in said)
