"""The agreement of two sets of dissimilarities of the same colors, and that of shuffled ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from jaxtyping import Float64, Integer

from core.errors import MetricError
from core.machine.memory import check_memory
from core.progress import tell_each
from core.statistics.intervals import LEVEL
from core.statistics.nulls import draw_orders

MANY = 4000  # values: all pairs of more would take gigabytes
FEWEST = 5  # colors; of fewer, shuffling gives hardly any other order

Square = Float64[np.ndarray, "n n"]
Rows = Integer[np.ndarray, " _"]
Ranks = Float64[np.ndarray, " pairs"]


def rank_agreement(
    x: Square, y: Square, *, permutations: int, draws: int = 0, seed: int = 0
) -> dict[str, float]:
    """Return Kendall's τ-b of the dissimilarities of all pairs of colors, with its chance, p, low
    and high.

    chance, p: see `permuted`. low, high: 95% interval for other colors, from `draws` of them with
    replacement: τ plus the quantiles of the draws around their mean; a color and its copy are no
    pair. NaN without draws, or if τ has no value. Raises MetricError for fewer than FEWEST colors,
    if all colors of a side are equally dissimilar. Source: Kriegeskorte et al. 2008 (RSA and its
    permutation test); Abdou et al. 2021 (τ over color terms).
    """
    n = len(x)
    if n < FEWEST:
        raise MetricError(
            f"at least {FEWEST} colors expected, since fewer have hardly any other order; got {n}"
        )
    first, second = np.triu_indices(n, 1)
    if min(np.ptp(side[first, second]) for side in (x, y)) == 0:
        raise MetricError(
            "all colors are equally dissimilar in one of the sources, so that nothing correlates"
            " with it"
        )
    ranks_x, ranks_y = (_ranks(side, first, second) for side in (x, y))

    def tau(own: Rows, other: Rows) -> float:
        pairs = own[first] != own[second]
        i, j = first[pairs], second[pairs]
        return _kendall(ranks_x[own[i], own[j]], ranks_y[other[i], other[j]])

    same = np.arange(n)
    found = permuted(lambda order: tau(same, order), n, permutations=permutations, seed=seed)
    low = high = math.nan
    if draws:
        check_memory(8 * draws * n, f"{draws:,} draws of {n:,} colors", "ask for fewer")
        drawn = np.random.default_rng(seed).integers(n, size=(draws, n))
        taus = np.array([tau(take, take) for take in tell_each(drawn, "draws of colors")])
        ends = np.quantile(taus - taus.mean(), ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        low, high = np.clip(found["value"] + ends, -1, 1).tolist()
    return {**found, "low": low, "high": high}


def permuted(
    score: Callable[[Rows], float],
    n: int,
    *,
    permutations: int,
    seed: int = 0,
    higher_is_more_similar: bool = True,
) -> dict[str, float]:
    """Return a score of colors in their order (value), its mean over orders (chance), and the share
    of orders that are at least as similar (p): (1 + #) / (permutations + 1), one-sided.
    """
    value, toward = score(np.arange(n)), 1 if higher_is_more_similar else -1
    orders = draw_orders(n, count=permutations, seed=seed)
    null = np.array([score(order) for order in tell_each(orders, "permutations")])
    if not len(null) or np.isnan(value) or np.isnan(null).any():
        return {"value": value, "chance": math.nan, "p": math.nan}
    p = (1 + np.count_nonzero(toward * null >= toward * value)) / (len(null) + 1)
    return {"value": value, "chance": float(null.mean()), "p": float(p)}


def _ranks(matrix: Square, first: Rows, second: Rows) -> Square:
    """Return the ranks of all pairs as a matrix: they stay if colors change places."""
    from scipy.stats import rankdata

    ranks = np.zeros_like(matrix)
    ranks[first, second] = ranks[second, first] = rankdata(matrix[first, second])
    return ranks


def _kendall(x: Ranks, y: Ranks) -> float:
    """Return τ-b of ranks; of a few, scipy's function spends most of its time on a p-value."""
    if len(x) > MANY:
        from scipy.stats import kendalltau

        return float(kendalltau(x, y).statistic)
    first, second = _pairs(len(x))
    a, b = (np.sign((ranks[first] - ranks[second]).astype(np.float32)) for ranks in (x, y))
    ordered = float(a @ a) * float(b @ b)  # how many are in x, and in y; exact below 2²⁴ pairs
    return float(a @ b) / math.sqrt(ordered) if ordered else math.nan


@cache
def _pairs(count: int) -> tuple[Rows, Rows]:
    return np.triu_indices(count, 1)
