"""Directed alignment: how far down one space's order the other's nearest neighbors lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int32, Integer

from core.metrics.spec import SPECS, Chance, Metric
from core.pairs.engine import EachPair
from core.spaces.neighbors import nearest


class Ranked(NamedTuple):
    """A space as orders: each stimulus's nearest other, and the rank of every other for it, from 1
    for the nearest; 0 for itself.
    """

    first: Int32[np.ndarray, " n"]
    ranks: Int32[np.ndarray, "n n"]


def rank_all(space: Float[np.ndarray, "n d"]) -> Ranked:
    n = len(space)
    lists = nearest(space, k=n - 1)
    ranks = np.zeros((n, n), np.int32)
    np.put_along_axis(ranks, lists, np.arange(1, n, dtype=np.int32)[None], axis=1)
    return Ranked(lists[:, 0], ranks)


def imbalance(x: Ranked, y: Ranked) -> float:
    """Return Δ(x → y) = 2/n · mean over i of the rank in y of i's nearest neighbor in x."""
    n = len(x.first)
    return float(2 / n * y.ranks[np.arange(n), x.first].mean())


def imbalance_terms(
    x: Ranked, y: Ranked
) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """Return each stimulus's term of Δ(x → y), and its influence: that, and what the terms of
    others lose without it.
    """
    n = len(x.first)
    at, own = np.arange(n), y.ranks[np.arange(n), x.first]
    second = y.ranks[at, (x.ranks == 2).argmax(axis=1)]
    lost = (y.ranks < own[:, None]).astype(np.float64)
    lost[at, at] = 0
    lost[at, x.first] = own - second + (own < second)
    return 2 / n * own, 2 / n * (own + lost.sum(axis=0))


def _reorder(part: Ranked, order: Integer[np.ndarray, " n"]) -> Ranked:
    renamed = np.argsort(order).astype(np.int32)
    return Ranked(renamed[part.first[order]], part.ranks[np.ix_(order, order)])


INFORMATION_IMBALANCE = Metric(
    SPECS["information_imbalance"],
    engine=lambda: EachPair(rank_all, imbalance, _reorder),
    every_pair=True,
    chance=Chance(lambda *, n: 1.0, "1"),  # noqa: ARG005 - the mean rank is n/2 for any n
)
