"""Dealing a value anew among the recipes of a line: what a trend could have been by chance, and
which trends that does not refute.

A recipe is one way to train, in all its seeds; a line is a set of recipes that differ in the dealt
value alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import InputError
from core.progress import tell_each

LEVEL = 0.95
DRAWS = 999
ROUNDING = 1e-12


@dataclass(frozen=True)
class DealtTrend:
    """How much a value rises from the lowest level to the highest, or per unit of another.

    rise: in units of the value. low, high: its 95 % interval. p: two-sided. recipes, pairs: how
    many of either counted. NaN where `reason` says why.
    """

    rise: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    recipes: int = 0
    pairs: int = 0
    reason: str = ""

    @property
    def sure(self) -> bool:
        """Return whether it differs from 0."""
        return bool(self.p <= 1 - LEVEL + ROUNDING)


def deal(
    values: Float64[np.ndarray, " r"], lines: Int64[np.ndarray, " r"], *, draws: int, seed: int
) -> Iterator[Float64[np.ndarray, " r"]]:
    """Yield the values of r recipes, dealt anew among those of each line, `draws` times."""
    rng = np.random.default_rng(seed)
    together = np.argsort(lines, kind="stable")
    for _ in tell_each(range(draws), "dealings"):
        dealt = np.empty(len(values))
        dealt[np.lexsort((rng.random(len(values)), lines))] = values[together]
        yield dealt


def exchange(
    clusters: Int64[np.ndarray, " n"], *, draws: int, seed: int
) -> Int64[np.ndarray, "draws n"]:
    """Return random orders of n models that a null allows whose clusters are alike inside: models
    change places within their cluster, and clusters of one size as wholes.

    Where each is a cluster of its own, these are all orders. Source: Winkler et al. 2015
    (multi-level block permutation).
    """
    rng, sizes = np.random.default_rng(seed), np.bincount(clusters)
    orders = np.empty((draws, len(clusters)), dtype=np.int64)
    for size in np.unique(sizes[sizes > 0]):
        alike = np.flatnonzero(sizes == size)
        places = np.stack([np.flatnonzero(clusters == one) for one in alike])
        whole = rng.permuted(np.tile(np.arange(len(alike)), (draws, 1)), axis=1)
        orders[:, places] = rng.permuted(places[whole], axis=2)
    return orders


def beyond_mean(
    values: Float64[np.ndarray, " n"], groups: Int64[np.ndarray, " n"]
) -> Float64[np.ndarray, " n"]:
    """Return what each value has beyond the mean of its group; groups: numbers from 0 on."""
    means = np.bincount(groups, values) / np.maximum(np.bincount(groups), 1)
    beyond: np.ndarray = values - means[groups]
    return beyond


def invert(rise: float, dealt: Float64[np.ndarray, "draws 2"]) -> tuple[float, float, float]:
    """Return the interval of the rises that are not rejected, and the p of none.

    dealt: a and b of each dealing, its rise with the scores and with the levels. Where the true
    rise is δ, it counts against a rejection if |a − δb| ≥ |rise − δ|: for δ between
    (rise − a)/(1 − b) and (rise + a)/(1 + b), and always where it changes nothing (|b| = 1).
    """
    a, b = dealt.T
    moves = np.abs(b) < 1 - ROUNDING  # not so where it is NaN
    against = np.count_nonzero(~(np.abs(a) < abs(rise) * (1 - ROUNDING)))
    p = (1 + against) / (1 + len(dealt))
    a, b, always = a[moves], b[moves], np.count_nonzero(~moves)
    ends = np.stack([(rise - a) / (1 - b), (rise + a) / (1 + b)])
    place = int((1 - LEVEL) * (1 + len(dealt)) + ROUNDING) - 1 - always
    if not 0 <= place < len(a):  # there are too few ways to deal: nothing is rejected
        return np.nan, np.nan, p
    return float(np.sort(ends.min(0))[place]), float(-np.sort(-ends.max(0))[place]), p


def recipe_trend(
    values: Float64[np.ndarray, " r"],
    over: Float64[np.ndarray, " r"],
    lines: Int64[np.ndarray, " r"],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> DealtTrend:
    """Return how a value of each recipe rises with another, within lines.

    rise: the least-squares slope, each line with a mean of its own. p, low, high: as of
    `core.statistics.level_trends.level_trend`, `over` being dealt. Recipes with a NaN are left out.
    """
    if draws < 1:
        raise InputError(f"expected at least 1 draw; got {draws}")
    present = np.isfinite(values) & np.isfinite(over)
    values, over, lines = values[present], over[present], lines[present]
    rise = _slope(values, over, lines)
    if not np.isfinite(rise):
        return DealtTrend(recipes=len(values), reason="no line has recipes that differ")
    dealt = [
        (_slope(values, one, lines), _slope(over, one, lines))
        for one in deal(over, lines, draws=draws, seed=seed)
    ]
    low, high, p = invert(rise, np.array(dealt))
    return DealtTrend(rise, low, high, p, len(values))


def _slope(
    values: Float64[np.ndarray, " r"],
    over: Float64[np.ndarray, " r"],
    lines: Int64[np.ndarray, " r"],
) -> float:
    across = beyond_mean(over, lines)
    spread = across @ across
    return float(across @ beyond_mean(values, lines) / spread) if spread > ROUNDING else np.nan
