"""One interface over all metrics for all layer pairs: make each model ready once, then compare any
two.

What `prepare` returns belongs to its engine; of neighbor metrics it is the lists themselves, so
that cached ones can be given. No engine knows a metric: `core.metrics` says which it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Integer

from core.pairs.layers import Preprocess, Space
from core.spaces.preprocess import normalize_rows


@runtime_checkable
class Engine(Protocol):
    """One metric with its parameters, over all layer pairs of two models."""

    def prepare(self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows) -> Any:
        """Preprocess each layer of a model and make it ready to be compared.

        layers: (n, d) each, clamped already; widths may differ. A layer that preprocessing or the
        metric refuses has no scores. Raises MetricError where every layer is refused, with the
        first reason.
        """

    def scores(self, x: Any, y: Any) -> Float64[np.ndarray, "Lx Ly"]:
        """Compare each layer of x with each layer of y: the metric of every pair, NaN where it
        refuses one.

        Threads, tiles and whatever else is compared change no more than the last bits of float64,
        and of counts nothing. Raises MetricError for other stimuli.
        """

    def permuted(self, prepared: Any, order: Integer[np.ndarray, "n"]) -> Any:
        """Give stimulus i all that stimulus order[i] has, as if the layers' rows had been reordered
        before `prepare`.
        """
