"""Engines of metrics that count common neighbors, and null distributions by shuffled stimuli."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np
from jaxtyping import Float64, Int32, Int64, Integer

from core.errors import MetricError
from core.machine.processes import count_threads
from core.pairs.engine import Engine, FromNeighbors
from core.pairs.prepared import (
    Lists,
    Prepared,
    Preprocess,
    Scores,
    Space,
    each_layer,
    mean_of_both,
    split_rows,
    stacked,
)
from core.progress import tell_each
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows

LEAST_WORK = 2**22  # neighbors compared per thread; fewer take less than a pool of threads does


def overlaps(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly m ky"], *, k: int
) -> Float64[np.ndarray, "Lx Ly"]:
    """Return mutual kNN for each layer of x with each layer of y: (1/n) Σᵢ |Aᵢ ∩ Bᵢ| / k.

    x, y: neighbors of each layer, most similar first, as `core.spaces.neighbors.nearest` gives
    them; the first k are compared. A layer of -1 has no neighbors (its space is degenerate) and its
    scores are NaN. Range [0, 1], higher is more aligned. Counts are integers, so threads cannot
    change the result. Raises MetricError where k is not in 1 … kx, ky or the stimuli differ.
    """
    check_lists(x, y, k=k)
    scores: np.ndarray = _common(x, y, k) / (x.shape[1] * k)
    scores[x[:, 0, 0] < 0] = np.nan
    scores[:, y[:, 0, 0] < 0] = np.nan
    return scores


def check_lists(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly m ky"], *, k: int
) -> None:
    """Refuse neighbors over other stimuli, and k outside what was kept of both."""
    if x.shape[1] != y.shape[1]:
        raise MetricError(
            f"expected neighbors over the same stimuli; got {x.shape[1]} and {y.shape[1]} stimuli"
        )
    kept = min(x.shape[2], y.shape[2])
    if not 1 <= k <= kept:
        raise MetricError(
            f"k must lie in 1 … {kept}, the neighbors kept for each stimulus; got {k}"
        )


def by_stimulus(neighbors: Int32[np.ndarray, "L n kept"], k: int) -> Int32[np.ndarray, "n L k"]:
    """Copy the first k neighbors, stimulus first: the loop then walks through memory in order."""
    return np.array(neighbors[:, :, :k].transpose(1, 0, 2), order="C")


def _common(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly n ky"], k: int
) -> Int64[np.ndarray, "Lx Ly"]:
    """Count common neighbors over all stimuli, a share of the stimuli in each thread where there
    are many.

    Python's threads rather than numba's: its default threading layer ends the process when two
    pages compute at once.
    """
    n, work = x.shape[1], x.shape[0] * x.shape[1] * k * y.shape[0]
    shares = max(1, min(count_threads(), work // LEAST_WORK))
    if shares == 1:
        return _count(x, y, k, slice(None))
    edges = np.linspace(0, n, shares + 1).astype(int)
    with ThreadPoolExecutor(shares) as pool:
        counts = pool.map(lambda part: _count(x, y, k, part), map(slice, edges[:-1], edges[1:]))
        common: np.ndarray = np.sum(list(counts), axis=0)
        return common


def _count(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly n ky"], k: int, part: slice
) -> Int64[np.ndarray, "Lx Ly"]:
    """Count common neighbors over a part of the stimuli."""
    from core.pairs.loops import count_common

    total = np.zeros((len(x), len(y)), dtype=np.int64)
    count_common(by_stimulus(x[:, part], k), by_stimulus(y[:, part], k), x.shape[1], total)
    return total


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


P = TypeVar("P")

HELD = 32  # models that are ready at once: kernels of all pairs of stimuli would fill the memory

Prepare = Callable[[Sequence[str]], Mapping[str, Prepared[P]]]


def scores_among(
    engine: Engine[P], names: Sequence[str], prepare: Prepare[P], *, symmetric: bool
) -> Iterator[tuple[str, str, Scores]]:
    """Score all layers of every two models against each other: the earlier name, the later one, the
    scores of their layers.

    prepare: gives what `engine.prepare` makes of each model by name, without those that are
    refused; pairs with them are left out. symmetric: whether the metric is; else each pair of
    layers has the mean of both directions.
    """
    for start in range(0, len(names), HELD):
        block = names[start : start + HELD]
        held = prepare(block)
        models = [held[name] for name in block if name in held]
        against = _against(engine, models, symmetric=symmetric)
        for place in range(start + 1, len(names)):
            other = names[place]
            ready = held if other in block else prepare([other])
            earlier = [name for name in names[start : min(place, start + HELD)] if name in held]
            if other in ready and earlier:
                for name, scores in zip(earlier, against(ready[other], len(earlier)), strict=True):
                    yield name, other, scores


def _against(
    engine: Engine[P], models: Sequence[Prepared[P]], *, symmetric: bool
) -> Callable[[Prepared[P], int], list[Scores]]:
    """Return what scores the first so many of the models against another."""
    if models and isinstance(engine, NeighborLists):
        return _lists_against(engine, models, symmetric=symmetric)
    return lambda other, first: [
        _score(engine, model, other, symmetric=symmetric) for model in models[:first]
    ]


def _score(engine: Engine[P], x: Prepared[P], y: Prepared[P], *, symmetric: bool) -> Scores:
    # back is quicker than forth for neighbor lists: the model with few layers comes first
    back = engine.scores(y, x).flipped
    return back if symmetric else mean_of_both(engine.scores(x, y), back)


def _lists_against(
    engine: NeighborLists, models: Sequence[Prepared[Lists]], *, symmetric: bool
) -> Callable[[Prepared[Lists], int], list[Scores]]:
    """Stack all models: one call costs more than a pair of layers."""
    lists = np.concatenate([model.layers[:, :, : engine.k] for model in models])
    # each stimulus's lists side by side in memory
    stacked = by_stimulus(lists, engine.k).transpose(1, 0, 2)
    ends = np.cumsum([len(model.layers) for model in models]).tolist()

    def against(other: Prepared[Lists], first: int) -> list[Scores]:
        x = Prepared(stacked[: ends[first - 1]], ("",) * ends[first - 1])
        return split_rows(_score(engine, x, other, symmetric=symmetric), ends[: first - 1])

    return against


Order = Int64[np.ndarray, " n"]
Orders = Int64[np.ndarray, "P n"]
Scoring = Callable[[Orders], Float64[np.ndarray, "P Lx Ly"]]


def shuffled_scores(
    engine: Engine[P], x: Sequence[Prepared[P]], y: Sequence[Prepared[P]]
) -> Scoring:
    """Return what scores all layers of x's models with all of y's, the stimuli of y in any order.

    x, y: one or more models each, as `engine.prepare` gives them.
    """
    if isinstance(engine, NeighborLists) and engine.shuffled is not None:
        return _at_once(engine.shuffled, engine.k, x, y)

    def score(order: Order) -> Float64[np.ndarray, "Lx Ly"]:
        models = [engine.permuted(model, order) for model in y]
        return np.block([[engine.scores(a, b).values for b in models] for a in x])

    return lambda orders: np.stack([score(order) for order in orders])


def _at_once(
    shuffled: Callable[..., np.ndarray],
    k: int,
    x: Sequence[Prepared[Lists]],
    y: Sequence[Prepared[Lists]],
) -> Scoring:
    lists_x, lists_y = (
        np.concatenate([model.layers[:, :, :k] for model in models]) for models in (x, y)
    )
    return lambda orders: shuffled(lists_x, lists_y, orders, k=k)


def permuted_overlaps(
    x: Int32[np.ndarray, "Lx n kx"],
    y: Int32[np.ndarray, "Ly m ky"],
    orders: Integer[np.ndarray, "P _"],
    *,
    k: int,
) -> Float64[np.ndarray, "P Lx Ly"]:
    """Return `core.pairs.lists.overlaps` of x with y, y's stimuli in each of the given orders:
    stimulus i becomes order[i].

    x, y: neighbors of each layer, of one model or of many stacked, most similar first. A layer of
    -1 has no neighbors, and its scores are NaN. Equal to finding the shuffled space's neighbors
    anew, but exact ties keep the order that they had. Range [0, 1], higher is more aligned. Counts
    are integers, so threads cannot change the result. Raises MetricError where k is not in 1 … kx,
    ky, the stimuli differ, or an order is no permutation of them.
    """
    check_lists(x, y, k=k)
    n = x.shape[1]
    check_orders(orders, n)
    alive_x, alive_y = (np.flatnonzero(lists[:, 0, 0] >= 0) for lists in (x, y))
    counts = _counts(by_stimulus(x[alive_x], k), by_stimulus(y[alive_y], k), orders)
    scores = np.full((len(orders), len(x), len(y)), np.nan)
    scores[:, alive_x[:, None], alive_y] = counts.transpose(0, 2, 1) / (n * k)
    return scores


def check_orders(orders: Integer[np.ndarray, "P m"], n: int) -> None:
    """Refuse rows that are not permutations of 0 … n − 1."""
    if orders.shape[1] != n or (np.sort(orders, axis=1) != np.arange(n)).any():
        raise MetricError(
            f"permutations of 0 … {n - 1} expected, one in each row; draw them with draw_orders"
        )


def _counts(
    x: Int32[np.ndarray, "n Lx k"],
    y: Int32[np.ndarray, "n Ly k"],
    orders: Integer[np.ndarray, "P n"],
) -> Int32[np.ndarray, "P Ly Lx"]:
    """Count the shared neighbors, a share of the permutations in each thread."""
    from core.pairs.loops import count_permuted

    orders = orders.astype(np.int32)
    renamed = np.argsort(orders, axis=1).astype(np.int32)
    totals = np.zeros((len(orders), y.shape[1], x.shape[1]), dtype=np.int32)
    threads = count_threads()
    with ThreadPoolExecutor(threads) as pool:
        shares = [np.array_split(each, threads) for each in (orders, renamed, totals)]
        done = [pool.submit(count_permuted, x, y, *share) for share in zip(*shares, strict=True)]
        for each in done:
            each.result()
    return totals
