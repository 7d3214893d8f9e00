"""Units of work, and this process as the one that does them, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable
from uuid import uuid4

from core.errors import PlatoscopeError
from core.progress import Progress
from core.unexpected import tell_unexpected

RETRIES = 3  # times that a unit starts again after its worker was lost

R = TypeVar("R")


@dataclass(frozen=True)
class Unit(Generic[R]):
    """A call that any machine with the store can make. work: can be pickled; takes a listener to
    its progress.
    """

    name: str
    work: Callable[[Progress | None], R]


class Once(Generic[R]):
    """What several units need, such as open files: each process makes it at its first call. here:
    what this process has already.
    """

    def __init__(self, make: Callable[..., R], *here: R) -> None:
        self._make, self._made = make, list(here)
        self._key = uuid4().hex

    def __call__(self, **choices: object) -> R:
        if not self._made:
            self._made.append(self._make(**choices))
        return self._made[0]

    def __reduce__(self) -> tuple[object, ...]:
        return _arrive, (self._make, self._key)


_arrived: dict[str, Once[object]] = {}  # in a worker of Ray, which ends with the command


def _arrive(make: Callable[..., object], key: str) -> Once[object]:
    return _arrived.setdefault(key, Once(make))


Began = Callable[[Unit[R]], None]


def ignore(_: Unit[R]) -> None:
    """Do nothing when a unit begins."""


@runtime_checkable  # tests check arguments against it
class Crew(Protocol):
    """Does units of work. alone: whether one process does them all."""

    alone: bool

    def run(
        self, units: Sequence[Unit[R]], *, report: Progress | None = None, began: Began[R] = ignore
    ) -> Iterator[tuple[Unit[R], R | PlatoscopeError]]:
        """Yield what each unit returned or which error it ended with, in their order; one that
        fails does not stop the others. A caller that stops asking stops the rest.
        """


class Here:
    """This process."""

    alone = True

    def run(
        self, units: Sequence[Unit[R]], *, report: Progress | None = None, began: Began[R] = ignore
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
