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
from core.pairs.prepared import Prepared, Scores
from core.spaces.preprocess import normalize_rows

Rows = Float32[np.ndarray, "_ _"]  # layers, pairs of stimuli
TILE = 4096  # pairs of stimuli that are multiplied at once


@dataclass(frozen=True)
class PairRows:
    """Layers as one value per pair of stimuli: those of i < j in order, then where the metric needs
    them those of i = j. of_matrix: the same from the dissimilarities of all stimuli, where they are
    all that the metric compares.
    """

    row: Callable[[Space], Float64[np.ndarray, " pairs"]]
    of_matrix: Callable[[Space], Float64[np.ndarray, " pairs"]] | None = None

    @property
    def from_neighbors(self) -> None:
        return None

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Rows]:
        rows, refusals = each_layer(self._row, layers, preprocess)
        return Prepared(stacked(rows, missing=np.nan), refusals)

    def prepare_matrices(self, layers: Sequence[Space]) -> Prepared[Rows]:
        """Make dissimilarities ready, of a metric that has `of_matrix`; raises as `prepare`."""
        assert self.of_matrix is not None
        rows, refusals = each_layer(self.of_matrix, layers, lambda matrix: matrix)
        stack = stacked(rows, missing=np.nan).astype(np.float32)
        return Prepared(stack, refusals)

    def _row(self, space: Space) -> Float32[np.ndarray, " pairs"]:
        return self.row(space).astype(np.float32)

    def scores(self, x: Prepared[Rows], y: Prepared[Rows]) -> Scores:
        """Multiply tile by tile in float64, where products of float32 values are exact."""
        pairs_x, pairs_y = x.layers.shape[1], y.layers.shape[1]
        if pairs_x != pairs_y:
            raise MetricError(
                f"expected rows over the same pairs of stimuli; got {pairs_x} and {pairs_y} pairs"
            )
        values = np.zeros((len(x.layers), len(y.layers)))
        for start in range(0, pairs_x, TILE):
            a, b = (side.layers[:, start : start + TILE].astype(np.float64) for side in (x, y))
            values += a @ b.T
        return Scores(values, {})

    def permuted(self, prepared: Prepared[Rows], order: Integer[np.ndarray, "n"]) -> Prepared[Rows]:
        places = _moved(order)
        if prepared.layers.shape[1] > len(places):  # the diagonal comes last
            places = np.concatenate([places, len(places) + order])
        return Prepared(prepared.layers[:, places], prepared.refusals)


def triangle(
    kernel: Float64[np.ndarray, "n n"], *, diagonal: bool
) -> Float64[np.ndarray, " pairs"]:
    """Return a symmetric kernel's entries above the diagonal times √2, then its diagonal if
    requested.
    """
    above = kernel[np.triu_indices(len(kernel), 1)] * np.sqrt(2)
    return np.concatenate([above, np.diagonal(kernel)]) if diagonal else above


def _moved(order: Integer[np.ndarray, "n"]) -> Int64[np.ndarray, " above"]:
    """Return for each pair i < j the place of the pair (order[i], order[j])."""
    n = len(order)
    i, j = np.triu_indices(n, 1)
    low, high = np.minimum(order[i], order[j]).astype(np.int64), np.maximum(order[i], order[j])
    places: np.ndarray = low * (2 * n - low - 1) // 2 + high - low - 1
    return places
