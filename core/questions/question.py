"""What every question has in common: where its answer comes from, and how it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from core.options import options_of, part, value_of
from core.study.parts import Scope


@dataclass(frozen=True)
class Question:
    """Something that a person can ask and that one table answers.

    command: its words on the command line, after `platoscope`. The first line of a question's
    docstring is the question itself. Questions are hashable: they key every cache.
    """

    command: ClassVar[str]

    @classmethod
    def title(cls) -> str:
        """Return the question as a person asks it."""
        return (cls.__doc__ or "").strip().splitlines()[0]


@dataclass(frozen=True)
class StudyQuestion(Question):
    """A question about the models of one dataset in the store."""

    # where it is answered by default: "auto" prefers a GPU; None where no GPU would help
    device: ClassVar[str | None] = "cpu"

    scope: Scope = part(Scope)

    def compared_metrics(self) -> tuple[str, ...]:
        """Return the metrics that the answer depends on, beside those of its measures."""
        return ()


def choices_of(question: Question) -> dict[str, Any]:
    """Return what a question says, by option name, as plain JSON values, without its scope."""
    return {
        one.name: _plain(value_of(question, one))
        for one in options_of(type(question))
        if one.path[0] != "scope"
    }


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def read_answer(kind: type[Question]) -> None:
    """Import the module `answer` beside a question's, which declares how it is answered."""
    folder = kind.__module__.rpartition(".")[0]
    import_module(f"{folder}.answer")
