"""How aligned models are: the best pair of layers for every pair of models, from neighbors that were found once per space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int32

from core.errors import MetricError, UnknownNameError
from core.pairs.overlap import overlaps

COLUMNS = ("model_x", "model_y", "layer_x", "layer_y", "score", "chance", "n", "k")


def chance(*, k: int, n: int) -> float:
    """Return the mean mutual kNN of unrelated spaces, k/(n − 1): each neighbor is one of the n − 1 others with equal chance.

    It holds for one pair of layers; the best of many pairs lies a little above it.
    """
    if not 1 <= k <= n - 1:
        raise MetricError(f"k must lie in 1 … {n - 1} for {n} stimuli; given {k}")
    return k / (n - 1)


def layer_map(
    neighbors_x: Int32[np.ndarray, "Lx n kx"], neighbors_y: Int32[np.ndarray, "Ly n ky"], *, k: int
) -> Float64[np.ndarray, "Lx Ly"]:
    """Return mutual kNN of every layer of one model (rows) with every layer of another (columns), in [0, 1]."""
    return overlaps(neighbors_x, neighbors_y, k=k)


def align(neighbors: Mapping[str, Int32[np.ndarray, "L n kept"]], *, x: Sequence[str], y: Sequence[str], k: int) -> pd.DataFrame:
    """Align every model of x with every model of y, in that order; a row holds the best pair of layers.

    neighbors: of each layer of each model, most similar first; layers are counted from 0. Of equal pairs the lowest layer of x
    wins, then the lowest of y. `chance` is that of one pair of layers.
    Raises UnknownNameError for a model without neighbors, MetricError for k outside what was kept.
    """
    for name in (*x, *y):
        if name not in neighbors:
            raise UnknownNameError("model", name, neighbors)
    rows = [(a, b, *_best(layer_map(neighbors[a], neighbors[b], k=k))) for a in x for b in y]
    table = pd.DataFrame(rows, columns=list(COLUMNS[:5]))
    n = 0 if table.empty else neighbors[x[0]].shape[1]
    return table.assign(chance=chance(k=k, n=n) if n else np.nan, n=n, k=k)


def _best(scores: Float64[np.ndarray, "Lx Ly"]) -> tuple[int, int, float]:
    """Return the first of the highest entries, by row and then by column: (row, column, score)."""
    row, column = np.unravel_index(np.argmax(scores), scores.shape)
    return int(row), int(column), float(scores[row, column])
