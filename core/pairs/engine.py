"""One interface over all metrics for all layer pairs: make each model ready once, then compare any
two.

No engine knows a metric: `core.metrics` says which it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Integer

from core.pairs.layers import Preprocess, Space
from core.pairs.prepared import Lists, Prepared, Scores
from core.spaces.preprocess import normalize_rows

P = TypeVar("P")


@dataclass(frozen=True)
class FromNeighbors(Generic[P]):
    """How an engine takes neighbor lists that were found before, in place of `prepare`.

    k: how many neighbors of each stimulus it needs; lists may hold more, most similar first.
    """

    k: int
    take: Callable[[Prepared[Lists]], Prepared[P]]


@runtime_checkable
class Engine(Protocol[P]):
    """One metric with its parameters, over all layer pairs of two models. P: layers as it holds
    them.
    """

    @property
    def from_neighbors(self) -> FromNeighbors[P] | None:
        """How it takes neighbor lists; None where neighbors are not all that it compares."""

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[P]:
        """Preprocess each layer of a model and make it ready to be compared.

        layers: (n, d) each, clamped already; widths may differ. A layer that preprocessing or the
        metric refuses has no scores. Raises MetricError where every layer is refused, with the
        first reason.
        """

    def scores(self, x: Prepared[P], y: Prepared[P]) -> Scores:
        """Compare each layer of x with each layer of y.

        Threads, tiles and whatever else is compared change no more than the last bits of float64,
        and of counts nothing. Raises MetricError for other stimuli.
        """

    def permuted(self, prepared: Prepared[P], order: Integer[np.ndarray, "n"]) -> Prepared[P]:
        """Give stimulus i all that stimulus order[i] has, as if the layers' rows had been reordered
        before `prepare`.
        """
