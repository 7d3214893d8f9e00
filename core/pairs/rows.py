"""All layer pairs of the metrics that are one inner product over pairs of stimuli: each layer
becomes a row, the scores a product.

A symmetric kernel of length 1 keeps its upper triangle alone, entries off the diagonal times √2, so
that the inner product of two rows is that of the kernels. Rows are kept in float32: rounding
changes a score by less than 1e-7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64, Integer

from core.errors import MetricError
from core.pairs.layers import Preprocess, Space, each_layer, stacked
from core.spaces.preprocess import normalize_rows

Rows = Float32[np.ndarray, "_ _"]  # layers, pairs of stimuli
TILE = 4096  # pairs of stimuli that are multiplied at once


@dataclass(frozen=True)
class PairRows:
    """Layers as one value per pair of stimuli: those of i < j in order, then where the metric needs
    them those of i = j.
    """

    row: Callable[[Space], Float64[np.ndarray, " pairs"]]

    def prepare(self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows) -> Rows:
        return stacked(
            each_layer(lambda space: self.row(space).astype(np.float32), layers, preprocess),
            missing=np.nan,
        )

    def scores(self, x: Rows, y: Rows) -> Float64[np.ndarray, "Lx Ly"]:
        """Multiply tile by tile in float64, where products of float32 values are exact."""
        if x.shape[1] != y.shape[1]:
            raise MetricError(
                f"rows over the same pairs of stimuli expected; given {x.shape[1]} and {y.shape[1]}"
                " pairs"
            )
        tiles = [slice(start, start + TILE) for start in range(0, x.shape[1], TILE)]
        return sum(
            (x[:, tile].astype(np.float64) @ y[:, tile].astype(np.float64).T for tile in tiles),
            np.zeros((len(x), len(y))),
        )

    def permuted(self, prepared: Rows, order: Integer[np.ndarray, "n"]) -> Rows:
        places = _moved(order)
        if prepared.shape[1] > len(places):  # the diagonal comes last
            places = np.concatenate([places, len(places) + order])
        return prepared[:, places]


def triangle(
    kernel: Float64[np.ndarray, "n n"], *, diagonal: bool
) -> Float64[np.ndarray, " pairs"]:
    """Return a symmetric kernel's entries above the diagonal times √2, then its diagonal if that is
    asked for.
    """
    above = kernel[np.triu_indices(len(kernel), 1)] * np.sqrt(2)
    return np.concatenate([above, np.diagonal(kernel)]) if diagonal else above


def _moved(order: Integer[np.ndarray, "n"]) -> Int64[np.ndarray, " above"]:
    """Return for each pair i < j the place of the pair (order[i], order[j])."""
    n = len(order)
    i, j = np.triu_indices(n, 1)
    low, high = np.minimum(order[i], order[j]).astype(np.int64), np.maximum(order[i], order[j])
    return low * (2 * n - low - 1) // 2 + high - low - 1
