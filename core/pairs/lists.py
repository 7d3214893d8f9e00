"""Neighbor metrics of all layer pairs, from each layer's neighbor lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from jaxtyping import Float64, Int32, Integer

from core.pairs.engine import FromNeighbors
from core.pairs.layers import Preprocess, Space, each_layer, stacked
from core.pairs.overlap import check_lists
from core.pairs.prepared import Lists, Prepared, Scores
from core.progress import tell_each
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows


@dataclass(frozen=True)
class NeighborLists:
    """Layers as neighbor lists, most similar first, at least k of them; -1 in a refused layer."""

    compare: Callable[..., np.ndarray]  # lists of two models and k to the scores of all layer pairs
    k: int
    shuffled: Callable[..., np.ndarray] | None = None  # the same for many orders of y's stimuli

    @property
    def from_neighbors(self) -> FromNeighbors[Lists]:
        return FromNeighbors(self.k, lambda lists: lists)

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Lists]:
        lists, refusals = each_layer(partial(nearest, k=self.k), layers, preprocess)
        return Prepared(stacked(lists, missing=-1), refusals)

    def scores(self, x: Prepared[Lists], y: Prepared[Lists]) -> Scores:
        return Scores(self.compare(x.layers, y.layers, k=self.k), {})

    def permuted(
        self, prepared: Prepared[Lists], order: Integer[np.ndarray, "n"]
    ) -> Prepared[Lists]:
        lists = np.argsort(order).astype(np.int32)[prepared.layers[:, order]]
        lists[prepared.layers[:, 0, 0] < 0] = -1
        return Prepared(lists, prepared.refusals)


def lists_of(terms: Callable[..., np.ndarray]) -> Callable[..., NeighborLists]:
    """Return what makes the engine of a mean of terms from k."""
    return partial(NeighborLists, partial(mean_terms, terms))


def mean_terms(
    terms: Callable[..., np.ndarray],
    x: Int32[np.ndarray, "Lx n kx"],
    y: Int32[np.ndarray, "Ly m ky"],
    *,
    k: int,
) -> Float64[np.ndarray, "Lx Ly"]:
    """Return the mean over stimuli of a metric's terms, pair by pair; NaN for a layer of -1, which
    has no neighbors.
    """
    check_lists(x, y, k=k)
    scores = np.full((len(x), len(y)), np.nan)
    ready = list(product(np.flatnonzero(x[:, 0, 0] >= 0), np.flatnonzero(y[:, 0, 0] >= 0)))
    for a, b in tell_each(ready, "pairs of layers"):
        scores[a, b] = terms(x[a, :, :k], y[b, :, :k]).mean()
    return scores
