"""A crew does the units of a command: this process does one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from core.crew.units import Unit
from core.errors import PlatoscopeError
from core.progress import Progress
from core.unexpected import tell_unexpected

R = TypeVar("R")
Began = Callable[[Unit[R]], None]


def nobody(_: Unit[R]) -> None:
    """Listen to no beginning."""


@runtime_checkable  # tests check arguments against it
class Crew(Protocol):
    """Who does units of work. alone: whether one process does them all, and has the machine for
    itself.
    """

    alone: bool

    def run(
        self, units: Sequence[Unit[R]], *, report: Progress | None = None, began: Began[R] = nobody
    ) -> Iterator[tuple[Unit[R], R | PlatoscopeError]]:
        """Yield what each unit returned or which error it ended with, in their order; one that
        fails does not stop the others.

        began: called as each begins. Whoever stops asking stops the rest.
        """


class Here:
    """This process."""

    alone = True

    def run(
        self, units: Sequence[Unit[R]], *, report: Progress | None = None, began: Began[R] = nobody
    ) -> Iterator[tuple[Unit[R], R | PlatoscopeError]]:
        for unit in units:
            began(unit)
            try:
                outcome: R | PlatoscopeError = unit.work(report)
            except PlatoscopeError as error:
                outcome = error
            except Exception as error:  # the others go on
                outcome = PlatoscopeError(tell_unexpected(error))
            yield unit, outcome


HERE = Here()


def results(crew: Crew, units: Sequence[Unit[R]], *, report: Progress | None = None) -> Iterator[R]:
    """Yield what each unit returns, in their order; raises the error of the first that fails."""
    for _, outcome in crew.run(units, report=report):
        if isinstance(outcome, PlatoscopeError):
            raise outcome
        yield outcome
