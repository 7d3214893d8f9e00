"""What a person can ask: one class holds a question's options, command, version, answer and plot.

@dataclass(frozen=True)
class CaptionAlignment(StudyQuestion):
    "Do longer captions align better with vision models?"

    command, version = "captions alignment", 3
    columns = {"slope": "change in alignment per doubling of words", …}

    comparison: Comparison = part(Comparison)

    def answer(self, study): return Answer(table, findings)
    def plot(self, table): return Plot(…)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from core.options import options_of, part, value_of
from core.questions.finding import Finding
from core.study.parts import Scope

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd

    from core.figures.grammar import Plot
    from core.study.study import Study


@dataclass(frozen=True)
class Answer:
    """The table that answers a question, and what it says. All statistics are computed here."""

    table: pd.DataFrame
    findings: Sequence[Finding] = ()


@dataclass(frozen=True)
class Question:
    """Something that a person can ask and that one table answers.

    The first line of the docstring is the question. Questions are hashable: they key every cache.

    command: its words after `platoscope`. version: raised by hand whenever results change.
    columns: what each column of the table means, with its unit. listed: whether it has a command of
    its own. shown: the columns that a terminal has room for (if empty, all but the hidden ones).
    """

    command: ClassVar[str]
    version: ClassVar[int] = 0
    columns: ClassVar[Mapping[str, str]] = {}
    listed: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ()
    hidden: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def title(cls) -> str:
        """Return the question as a person asks it."""
        return (cls.__doc__ or "").strip().splitlines()[0]

    def answer(self, study: Any) -> Answer:
        """Answer the complete question; study: None for a question that needs no store."""
        raise TypeError(f"{type(self).__name__} has no answer")

    def plot(self, table: pd.DataFrame) -> Plot:
        """Return the main figure of the answer's table."""
        raise TypeError(f"{type(self).__name__} has no plot")

    def is_kept(self) -> bool:
        """Return whether keeping the answer in the store saves time."""
        return True

    def complete(self, study: Any) -> Self:
        """Name what the question leaves open, such as the models that are meant if none is named;
        refuse what cannot be answered before anything is computed.
        """
        return self


@dataclass(frozen=True)
class StudyQuestion(Question):
    """A question about the models of one dataset in the store."""

    # where it is answered by default: "auto" prefers a GPU; None if no GPU would help
    device: ClassVar[str | None] = "cpu"

    scope: Scope = part(Scope)

    def compared_metrics(self) -> tuple[str, ...]:
        """Return the metrics that the answer depends on, besides those of its measures."""
        return ()

    @classmethod
    def left_out(cls, study: Study) -> Sequence[str]:
        """Return sentences on what of the store no answer of this kind takes in."""
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
