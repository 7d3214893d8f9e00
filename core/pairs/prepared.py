"""Layers of a model prepared for a metric once, and compared pair by pair on several cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Float, Float64, Int32

from core.errors import FeatureError, MetricError
from core.machine.processes import count_threads
from core.spaces.preprocess import check_space

P = TypeVar("P")
T = TypeVar("T")
Space = Float[np.ndarray, "n _"]
Preprocess = Callable[[Space], Space]
Lists = Int32[np.ndarray, "_ _ _"]  # layers, stimuli, neighbors
Place = tuple[int, int]  # a layer of x and a layer of y, counted from 0


@contextmanager
def one_core_each() -> Iterator[ThreadPoolExecutor]:
    """Give as many threads as there are cores, and keep linear algebra to one core in each:
    decompositions gain little from more cores, and no result then depends on their number.
    """
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(count_threads()) as pool:
        yield pool


@dataclass(frozen=True)
class Prepared(Generic[P]):
    """The layers of a model, ready to be compared.

    layers: as the engine holds them. refusals: why each layer cannot be compared, "" if it can.
    stimuli: how many, if `layers` does not tell.
    """

    layers: P
    refusals: tuple[str, ...]
    stimuli: int = 0


@dataclass(frozen=True)
class Scores:
    """Every layer of x with every layer of y; NaN for a refused pair. refusals: why two layers
    cannot be compared together although each was sound alone.
    """

    values: Float64[np.ndarray, "Lx Ly"]
    refusals: Mapping[Place, str]

    @property
    def flipped(self) -> Scores:
        return Scores(self.values.T, {(a, b): why for (b, a), why in self.refusals.items()})


def mean_of_both(forth: Scores, back: Scores) -> Scores:
    """Return the mean of the scores of both directions, `back` flipped already; a pair that either
    refuses has none.
    """
    return Scores((forth.values + back.values) / 2, {**back.refusals, **forth.refusals})


def each_layer(
    part: Callable[[Space], T], layers: Sequence[Space], preprocess: Preprocess
) -> tuple[list[T | None], tuple[str, ...]]:
    """Preprocess every layer and make a part of it, several layers at once.

    Returns the parts, None for a layer that is refused, and why each is refused, "" if it is not.
    Raises MetricError if every layer is refused, with the first reason.
    """

    def attempt(layer: Space) -> tuple[T | None, str]:
        try:
            space = preprocess(layer)
            check_space(space)
            return part(space), ""
        except (FeatureError, MetricError) as error:
            return None, str(error)

    if len(layers) == 1:  # a pool of threads takes longer
        made = [attempt(layers[0])]
    else:
        with ThreadPoolExecutor(count_threads()) as pool:
            made = list(pool.map(attempt, layers))
    refusals = tuple(why for _, why in made)
    if all(refusals):
        reason = refusals[0] if refusals else "none was given"
        raise MetricError(f"no layer can be compared: {reason}")
    return [one for one, _ in made], refusals


def stacked(parts: Sequence[np.ndarray | None], missing: int | float) -> np.ndarray:
    """Stack the layers' arrays; a layer that was refused is filled with `missing`."""
    like = next(part for part in parts if part is not None)
    return np.stack([np.full_like(like, missing) if part is None else part for part in parts])


def check_same_stimuli(n: int, m: int, what: str = "layers") -> None:
    if n != m:
        raise MetricError(f"expected {what} over the same stimuli; got {n} and {m} stimuli")


def run_shares(loop: Callable[..., None], shares: Iterable[tuple[np.ndarray | slice, ...]]) -> None:
    """Call a compiled loop for each share of the work, each in a thread: Python's rather than
    numba's, whose default threading layer ends the process when two pages compute at once.
    """
    first, *more = shares
    if not more:
        loop(*first)
        return
    with ThreadPoolExecutor(count_threads()) as pool:
        for done in [pool.submit(loop, *share) for share in (first, *more)]:
            done.result()
