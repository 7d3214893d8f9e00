"""Engines of metrics that count common neighbors, and null distributions by shuffled stimuli.

Shuffling a space renames its stimuli and reorders their lists. Unrelated lists rarely share a
neighbor (k²/(n − 1) of them per stimulus), so the work is a look-up for each of y's neighbors and a
step for each shared one, for all models of x at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float64, Int32, Int64, Integer

from core.errors import MetricError
from core.machine.processes import count_threads
from core.pairs.engine import Engine
from core.pairs.prepared import (
    Lists,
    Prepared,
    Preprocess,
    Scores,
    Space,
    check_same_stimuli,
    each_layer,
    mean_of_both,
    run_shares,
    stacked,
)
from core.progress import tell_each
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows

LEAST_WORK = 2**22  # neighbors compared per thread; fewer take less than a pool of threads does
HELD = 32  # models that are ready at once: kernels of all pairs of stimuli would fill the memory

P = TypeVar("P")
Order = Int64[np.ndarray, " n"]
Scoring = Callable[[Int64[np.ndarray, "P n"]], Float64[np.ndarray, "P Lx Ly"]]
Prepare = Callable[[Sequence[str]], Mapping[str, Prepared[P]]]


def overlaps(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly m ky"], *, k: int
) -> Float64[np.ndarray, "Lx Ly"]:
    """Return mutual kNN for each layer of x with each layer of y: (1/n) Σᵢ |Aᵢ ∩ Bᵢ| / k.

    x, y: neighbors of each layer, most similar first, as `core.spaces.neighbors.nearest` gives
    them; the first k are compared. A layer of -1 has no neighbors (its space is degenerate) and its
    scores are NaN. Counts are integers, so threads cannot change the result. Raises MetricError for
    other stimuli and for k outside 1 … kx, ky.
    """
    from core.pairs.loops import count_common

    check_lists(x, y, k=k)
    n, work = x.shape[1], x.shape[0] * x.shape[1] * k * y.shape[0]
    shares = max(1, min(count_threads(), work // LEAST_WORK))
    totals = np.zeros((shares, len(x), len(y)), dtype=np.int64)

    def count(part: slice, total: np.ndarray) -> None:
        count_common(by_stimulus(x[:, part], k), by_stimulus(y[:, part], k), n, total)

    edges = np.linspace(0, n, shares + 1).astype(int)
    parts = list(zip(map(slice, edges[:-1], edges[1:]), totals, strict=True))
    run_shares(count, parts)
    scores: np.ndarray = totals.sum(axis=0) / (n * k)
    scores[x[:, 0, 0] < 0] = np.nan
    scores[:, y[:, 0, 0] < 0] = np.nan
    return scores


def check_lists(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly m ky"], *, k: int
) -> None:
    check_same_stimuli(x.shape[1], y.shape[1], "neighbors")
    kept = min(x.shape[2], y.shape[2])
    if not 1 <= k <= kept:
        raise MetricError(
            f"k must lie in 1 … {kept}, the neighbors kept for each stimulus; got {k}"
        )


def by_stimulus(neighbors: Int32[np.ndarray, "L n kept"], k: int) -> Int32[np.ndarray, "n L k"]:
    """Copy the first k neighbors, stimulus first: the loop then walks through memory in order."""
    return np.array(neighbors[:, :, :k].transpose(1, 0, 2), order="C")


def find_lists(
    layers: Sequence[Space], *, k: int, preprocess: Preprocess = normalize_rows
) -> Prepared[Lists]:
    """Find the k nearest neighbors of each stimulus in each layer, which list engines take."""
    lists, refusals = each_layer(partial(nearest, k=k), layers, preprocess)
    return Prepared(stacked(lists, missing=-1), refusals)


@dataclass(frozen=True)
class NeighborLists:
    """Layers as neighbor lists, most similar first, at least k of them; -1 in a refused layer."""

    compare: Callable[..., np.ndarray]  # lists of two models and k to the scores of all layer pairs
    k: int
    shuffled: Callable[..., np.ndarray] | None = None  # the same for many orders of y's stimuli

    def take(self, lists: Prepared[Lists]) -> Prepared[Lists]:
        return lists

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Lists]:
        return find_lists(layers, k=self.k, preprocess=preprocess)

    def score(self, x: Space, y: Space) -> float:
        lists = (nearest(space, k=self.k)[None] for space in (x, y))
        return float(self.compare(*lists, k=self.k)[0, 0])

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
    """Return the mean of a metric's terms, pair by pair; NaN for a layer without neighbors."""
    check_lists(x, y, k=k)
    scores = np.full((len(x), len(y)), np.nan)
    ready = list(product(np.flatnonzero(x[:, 0, 0] >= 0), np.flatnonzero(y[:, 0, 0] >= 0)))
    for a, b in tell_each(ready, "pairs of layers"):
        scores[a, b] = terms(x[a, :, :k], y[b, :, :k]).mean()
    return scores


def scores_among(
    engine: Engine[P], names: Sequence[str], prepare: Prepare[P], *, symmetric: bool
) -> Iterator[tuple[str, str, Scores]]:
    """Score all layers of every two models against each other: the earlier name, the later one, the
    scores of their layers.

    prepare: gives what `engine.prepare` makes of each model by name, without those that are
    refused; pairs with them are left out. symmetric: whether the metric is; else each pair of
    layers has the mean of both directions.
    """

    def score(x: Prepared[P], y: Prepared[P]) -> Scores:
        # for neighbor lists it is faster if the model with few layers comes first
        back = engine.scores(y, x).flipped
        return back if symmetric else mean_of_both(engine.scores(x, y), back)

    for start in range(0, len(names), HELD):
        block = names[start : start + HELD]
        held = prepare(block)
        models: list[Any] = [held[name] for name in block if name in held]
        stacked: Lists | None = None
        if isinstance(engine, NeighborLists) and models:
            # one call costs more than a pair of layers; a stimulus's lists are side by side
            lists = np.concatenate([model.layers[:, :, : engine.k] for model in models])
            stacked = by_stimulus(lists, engine.k).transpose(1, 0, 2)
        for place in range(start + 1, len(names)):
            other = names[place]
            ready = held if other in block else prepare([other])
            earlier = [name for name in names[start : min(place, start + HELD)] if name in held]
            if other not in ready or not earlier:
                continue
            first = models[: len(earlier)]
            if stacked is None:
                found = [score(model, ready[other]) for model in first]
            else:  # no two layers of lists are refused together
                ends = np.cumsum([len(model.refusals) for model in first])
                together: Any = Prepared(stacked[: ends[-1]], ("",) * ends[-1])
                values = score(together, ready[other]).values
                found = [Scores(each, {}) for each in np.split(values, ends[:-1])]
            for name, scores in zip(earlier, found, strict=True):
                yield name, other, scores


def shuffled_scores(
    engine: Engine[P], x: Sequence[Prepared[P]], y: Sequence[Prepared[P]]
) -> Scoring:
    """Return what scores all layers of x's models with all of y's, the stimuli of y in any order.

    x, y: one or more models each, as `engine.prepare` gives them.
    """
    if isinstance(engine, NeighborLists) and engine.shuffled is not None:
        models: tuple[Sequence[Prepared[Any]], ...] = x, y
        lists = [np.concatenate([one.layers[:, :, : engine.k] for one in side]) for side in models]
        return partial(engine.shuffled, *lists, k=engine.k)

    def score(order: Order) -> Float64[np.ndarray, "Lx Ly"]:
        models = [engine.permuted(model, order) for model in y]
        return np.block([[engine.scores(a, b).values for b in models] for a in x])

    return lambda orders: np.stack([score(order) for order in orders])


def permuted_overlaps(
    x: Int32[np.ndarray, "Lx n kx"],
    y: Int32[np.ndarray, "Ly m ky"],
    orders: Integer[np.ndarray, "P _"],
    *,
    k: int,
) -> Float64[np.ndarray, "P Lx Ly"]:
    """Return `overlaps` of x with y, y's stimuli in each of the given orders: stimulus i becomes
    order[i].

    x, y: neighbors of each layer, of one model or of many stacked. It equals finding the shuffled
    space's neighbors again, but exact ties keep the order that they had. Raises MetricError as
    `overlaps`, and for an order that is no permutation.
    """
    from core.pairs.loops import count_permuted

    check_lists(x, y, k=k)
    n = x.shape[1]
    if orders.shape[1] != n or (np.sort(orders, axis=1) != np.arange(n)).any():
        raise MetricError(
            f"permutations of 0 … {n - 1} expected, one in each row; draw them with draw_orders"
        )
    alive_x, alive_y = (np.flatnonzero(lists[:, 0, 0] >= 0) for lists in (x, y))
    first, second = by_stimulus(x[alive_x], k), by_stimulus(y[alive_y], k)
    orders = orders.astype(np.int32)
    renamed = np.argsort(orders, axis=1).astype(np.int32)
    totals = np.zeros((len(orders), len(alive_y), len(alive_x)), dtype=np.int32)
    shares = [np.array_split(each, count_threads()) for each in (orders, renamed, totals)]
    run_shares(count_permuted, ((first, second, *share) for share in zip(*shares, strict=True)))
    scores = np.full((len(orders), len(x), len(y)), np.nan)
    scores[:, alive_x[:, None], alive_y] = totals.transpose(0, 2, 1) / (n * k)
    return scores
