"""Scores over many sets of stimuli: what is made ready of all stimuli once is cut down to each set.

A metric over neighbors needs no search in a set: its neighbors are the first of it in the ranking of all. Other metrics are made
ready anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int32, Int64

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.inputs import check_k
from core.metrics.kernels import of_length_one
from core.metrics.neighbors import check_ties, nearest, unit_scaled
from core.metrics.preprocess import normalize_rows
from core.pairs.engine import make_engine
from core.pairs.layers import Space
from core.pairs.lists import NeighborLists
from core.pairs.local import CenteredLocal, LocalKernels

LARGEST = 2048  # stimuli whose rankings are held: n² of them for each space

Rows = Int64[np.ndarray, " m"]
SetScores = Callable[[Rows, float], Float64[np.ndarray, "X Y"]]


@dataclass(frozen=True)
class Ranked:
    """Normalized spaces, and each one's neighbors of each stimulus, all of them, most similar first."""

    spaces: list[Float64[np.ndarray, "n _"]]
    order: list[Int32[np.ndarray, "n others"]]


def score_sets(x: Sequence[Space], y: Sequence[Space], *, metric: str, **parameters: Any) -> SetScores:
    """Return what scores every space of x with every space of y over a set of stimuli.

    It takes the set's indices, rising, and a share: k, of metrics that have one, is that share of itself, rounded, 1 at least; a
    half of a set is given 0.5, so that neighborhoods stay as wide. Each score is what the metric gives for these rows of the
    normalized spaces, NaN where it refuses them; only which of equally similar stimuli are neighbors may differ. It may be called
    from several threads.
    x, y: clamped spaces over the same stimuli.
    Raises UnknownNameError for the metric, MetricError for its parameters and for spaces that it refuses over all stimuli.
    """
    whole = make_engine(metric, **parameters)
    complete = METRICS[metric].complete(parameters)
    ranks = isinstance(whole, (NeighborLists, CenteredLocal)) and len(x[0]) <= LARGEST
    held = [_rank_all(spaces, complete["k"]) for spaces in (x, y)] if ranks else []

    def scores(rows: Rows, share: float) -> Float64[np.ndarray, "X Y"]:
        shared = {"k": max(1, round(share * complete["k"]))} if "k" in complete else {}
        if shared:
            check_k(shared["k"], len(rows))
        engine = make_engine(metric, **{**complete, **shared})
        try:
            if held:
                return engine.scores(*(_cut(ranked, rows, engine) for ranked in held))
            return engine.scores(*(engine.prepare([space[rows] for space in spaces]) for spaces in (x, y)))
        except MetricError:  # all spaces of a side are degenerate on this set
            return np.full((len(x), len(y)), np.nan)

    return scores


def _rank_all(spaces: Sequence[Space], k: int) -> Ranked:
    order = []
    for space in (normalized := [normalize_rows(space) for space in spaces]):
        order.append(nearest(space, k=len(space) - 1))
        check_ties(unit_scaled(space), k)
    return Ranked([space.astype(np.float64) for space in normalized], order)


def _cut(ranked: Ranked, rows: Rows, engine: Any) -> Any:
    """Return what the engine, of neighbor lists or of local kernels, would make ready of these rows."""
    lists = np.stack([_lists_within(order, rows, engine.k) for order in ranked.order])
    if isinstance(engine, NeighborLists):
        return lists
    lists.sort(axis=2)
    return LocalKernels(lists, np.stack([_centered(near, space[rows]) for near, space in zip(lists, ranked.spaces, strict=True)]))


def _lists_within(order: Int32[np.ndarray, "n others"], rows: Rows, k: int) -> Int32[np.ndarray, "m k"]:
    from core.pairs.walks import first_within

    place = np.full(len(order), -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    lists = np.empty((len(rows), k), dtype=np.int32)
    first_within(order, rows, place, lists)
    return lists


def _centered(lists: Int32[np.ndarray, "m k"], space: Float64[np.ndarray, "m _"]) -> Float64[np.ndarray, "m k"]:
    """Return the local kernel's values, NaN where centering leaves none; see `core.metrics.cknna.local_kernel`."""
    similar = space @ (space - space.mean(axis=0)).T
    try:
        return of_length_one(np.take_along_axis(similar, lists, axis=1), similar)
    except MetricError:
        return np.full(lists.shape, np.nan)
