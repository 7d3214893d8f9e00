"""Units of work: what one process does of a command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import uuid4

from core.progress import Progress

RETRIES = 3  # times that a unit is begun again whose worker was lost

R = TypeVar("R")


def unknown() -> None:
    """Return no size."""


@dataclass(frozen=True)
class Unit(Generic[R]):
    """A call that any machine with the store can make.

    name: for people. work: the call, which can be pickled; takes what listens to its progress.
    weights: returns the bytes of the model's weights in memory, None where nobody knows; asked only
    where room is shared out.
    """

    name: str
    work: Callable[[Progress | None], R]
    weights: Callable[[], int | None] = unknown


class Once(Generic[R]):
    """What several units need and each process makes for itself, such as open files: made by the
    first call in a process, and shared by all that follow there. here: what this process has
    already.
    """

    def __init__(self, make: Callable[..., R], *here: R) -> None:
        self._make, self._made = make, list(here)
        self._key = uuid4().hex

    def __call__(self, **choices: object) -> R:
        """Return it; choices: of how it is made, where it is not made yet."""
        if not self._made:
            self._made.append(self._make(**choices))
        return self._made[0]

    def __reduce__(self) -> tuple[object, ...]:
        return _arrive, (self._make, self._key)


_arrived: dict[str, Once[object]] = {}  # in a worker of Ray, which ends with the command


def _arrive(make: Callable[..., object], key: str) -> Once[object]:
    return _arrived.setdefault(key, Once(make))
