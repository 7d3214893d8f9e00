"""Scores over many sets of stimuli: what is prepared once is cut down to each set. Neighbors in a
set are the first of it in the ranking of all; other metrics are prepared again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float32, Float64, Int16, Int32, Int64, Integer

from core.errors import MetricError
from core.machine.processes import count_threads
from core.pairs.engine import Engine
from core.pairs.lists import NeighborLists
from core.pairs.prepared import (
    Prepared,
    Preprocess,
    Scores,
    Space,
    check_same_stimuli,
    each_layer,
    one_core_each,
    run_shares,
    stacked,
)
from core.spaces.kernels import ROUNDING, local_kernel
from core.spaces.neighbors import check_ties, nearest, sides_of
from core.spaces.preprocess import normalize_rows

LARGEST = 2048  # stimuli whose rankings are held: n² of them for each space

P = TypeVar("P")
Rows = Int64[np.ndarray, " m"]
SetScores = Callable[[Rows], Float64[np.ndarray, "X Y"]]
Order = Int16[np.ndarray, "L n others"]  # of each stimulus all others, most similar first


@dataclass(frozen=True)
class LocalKernels:
    """Local kernels of length 1: which stimuli are near each one, by rising index, and how similar;
    NaN for a layer without any.
    """

    lists: Int32[np.ndarray, "L n k"]
    values: Float64[np.ndarray, "L n k"]


@dataclass(frozen=True)
class CenteredLocal:
    """CKNNA as in the paper: summed products of two local kernels over common neighbors."""

    k: int

    def score(self, x: Space, y: Space) -> float:
        a, b = (local_kernel(space, k=self.k, variant="paper") for space in (x, y))
        return float(a.multiply(b).sum())

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[LocalKernels]:
        def local(space: Space) -> tuple[Int32[np.ndarray, "n k"], Float64[np.ndarray, "n k"]]:
            kernel, shape = local_kernel(space, k=self.k, variant="paper"), (-1, self.k)
            return kernel.indices.reshape(shape).astype(np.int32), kernel.data.reshape(shape)

        parts, refusals = each_layer(local, layers, preprocess)
        lists = stacked([part and part[0] for part in parts], missing=0)
        values = stacked([part and part[1] for part in parts], missing=np.nan)
        return Prepared(LocalKernels(lists, values), refusals)

    def scores(self, x: Prepared[LocalKernels], y: Prepared[LocalKernels]) -> Scores:
        """Share x's layers among threads, which changes no sum."""
        from core.pairs.loops import add_products  # numba, half a second

        check_same_stimuli(x.layers.lists.shape[1], y.layers.lists.shape[1], "kernels")
        # stimulus first: the loop then walks through memory in order
        (near_x, values_x), (near_y, values_y) = (
            [np.ascontiguousarray(one.transpose(1, 0, 2)) for one in (side.lists, side.values)]
            for side in (x.layers, y.layers)
        )
        totals, threads = np.zeros((len(x.refusals), len(y.refusals))), count_threads()
        shares = zip(
            np.array_split(near_x, threads, axis=1),
            np.array_split(values_x, threads, axis=1),
            np.array_split(totals, threads),
            strict=True,
        )
        run_shares(add_products, ((near, own, near_y, values_y, to) for near, own, to in shares))
        totals[np.isnan(x.layers.values[:, 0, 0])] = np.nan
        totals[:, np.isnan(y.layers.values[:, 0, 0])] = np.nan
        return Scores(totals, {})

    def permuted(
        self, prepared: Prepared[LocalKernels], order: Integer[np.ndarray, "n"]
    ) -> Prepared[LocalKernels]:
        lists, values = prepared.layers.lists, prepared.layers.values
        renamed = np.argsort(order).astype(np.int32)[lists[:, order]]
        rising = np.argsort(renamed, axis=2)
        moved = LocalKernels(
            np.take_along_axis(renamed, rising, axis=2),
            np.take_along_axis(values[:, order], rising, axis=2),
        )
        return Prepared(moved, prepared.refusals)


def score_sets(
    engine: Engine[P], x: Sequence[Space], y: Sequence[Space], *, k: int = 0
) -> SetScores:
    """Return what scores every space of x with every space of y over a set of stimuli, given by its
    rising indices; NaN if the metric refuses it. It may be called from several threads.

    x, y: clamped spaces over the same stimuli. k: the metric's neighbors, 0 if it has none. Raises
    MetricError for refused spaces and, once it is called, for sets of k stimuli or fewer.
    """
    score: SetScores
    if len(x[0]) <= LARGEST and isinstance(engine, NeighborLists | CenteredLocal):
        sides = [[normalize_rows(space) for space in side] for side in (x, y)]
        lists = isinstance(engine, NeighborLists)
        score = _over_lists(engine, sides) if lists else _over_kernels(engine.k, sides)
    else:

        def again(rows: Rows) -> Float64[np.ndarray, "X Y"]:
            try:
                a, b = (engine.prepare([space[rows] for space in spaces]) for spaces in (x, y))
            except MetricError:  # all spaces of a side are degenerate on this set
                return np.full((len(x), len(y)), np.nan)
            return engine.scores(a, b).values

        score = again

    def scores(rows: Rows) -> Float64[np.ndarray, "X Y"]:
        if len(rows) <= k:
            raise MetricError(
                f"k must lie in 1 … {len(rows) - 1} for a set, or a part of one, of {len(rows)}"
                f" stimuli; got {k}: take larger sets or a smaller k"
            )
        return score(rows)

    return scores


def _over_lists(engine: NeighborLists, sides: Sequence[Sequence[Space]]) -> SetScores:
    orders = [_rank_all(spaces, engine.k) for spaces in sides]

    def score(rows: Rows) -> Float64[np.ndarray, "X Y"]:
        a, b = (_lists_within(order, rows, engine.k)[0].transpose(1, 0, 2) for order in orders)
        return engine.compare(a, b, k=engine.k)

    return score


def _over_kernels(k: int, sides: Sequence[Sequence[Space]]) -> SetScores:
    from core.pairs.loops import add_products, centered_within

    def similarities(
        space: Space, order: Int16[np.ndarray, "n others"]
    ) -> Float32[np.ndarray, "n others"]:
        wide = space.astype(np.float64)
        return np.take_along_axis((wide @ wide.T).astype(np.float32), order.astype(int), axis=1)

    held = []  # rankings, their similarities, and all spaces side by side between edges
    for spaces in sides:
        order = _rank_all(spaces, k)
        with one_core_each() as pool:
            similar = np.stack(list(pool.map(similarities, spaces, order)))
        edges = np.cumsum([0, *(space.shape[1] for space in spaces)])
        held.append((order, similar, np.hstack(spaces), edges))

    def score(rows: Rows) -> Float64[np.ndarray, "X Y"]:
        parts = []
        for order, similar, wide, edges in held:
            lists, ranks = _lists_within(order, rows, k)
            values = np.empty(ranks.shape)
            centered_within(similar, wide, edges, rows, ranks, values)
            lengths = np.sqrt((values**2).sum(axis=(0, 2)))
            # rows have length 1: tr(K) = m; NaN where centering leaves no more than rounding
            sound = np.where(lengths > ROUNDING * len(rows), lengths, np.nan)
            parts.append((lists, values / sound[:, None]))
        (near_x, values_x), (near_y, values_y) = parts
        totals = np.zeros((values_x.shape[1], values_y.shape[1]))
        add_products(near_x, values_x, near_y, values_y, totals)
        totals[np.isnan(values_x[0, :, 0])] = np.nan
        totals[:, np.isnan(values_y[0, :, 0])] = np.nan
        return totals

    return score


def _rank_all(spaces: Sequence[Space], k: int) -> Order:
    def rank(space: Space) -> Int16[np.ndarray, "n others"]:
        order = nearest(space, k=len(space) - 1).astype(np.int16)
        check_ties(sides_of(space), k)  # again, since `nearest` checked for all others as neighbors
        return order

    with one_core_each() as pool:
        return np.stack(list(pool.map(rank, spaces)))


def _lists_within(
    order: Order, rows: Rows, k: int
) -> tuple[Int32[np.ndarray, "m L k"], Int32[np.ndarray, "m L k"]]:
    from core.pairs.loops import first_within

    place = np.full(order.shape[1], -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    lists, ranks = (np.empty((len(rows), len(order), k), dtype=np.int32) for _ in range(2))
    first_within(order, rows, place, lists, ranks)
    return lists, ranks
