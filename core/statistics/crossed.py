"""Scores over two samples that are crossed, every one of the one with every one of the other, or
over all pairs of one sample: their mean, and their correlation with other scores.
"""

from __future__ import annotations

import math
from itertools import permutations, product
from math import factorial
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from core.statistics.dealing import exchange
from core.statistics.fits import LEAST_MODELS, Clusters, relatives, too_few_clusters
from core.statistics.intervals import LEVEL, student_interval

LEAST_SIDE = 3  # rows or columns of a grid; draws of two are mostly of one alone
EVERY = 5_000  # rearrangements of a grid at most that are all gone through
ALONE = "either side takes at least two trainings"
UNSCORED = "some two models have no score together"
ALIKE = "all scores are the same, so their spread is unknown"


class CrossedMean(NamedTuple):
    """A mean with its 95 % interval and the two-sided p of a t-test against a level; reason: why
    these are NaN.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    reason: str = ""


def crossed_mean(
    scores: Float64[np.ndarray, "a b"],
    *,
    level: float = 0.0,
    fixed: Literal["", "rows", "columns"] = "",
) -> CrossedMean:
    """Return the mean of all scores, and whether it differs from a level.

    Both sides are samples, such as trainings and stimuli: what a row has in common, and what a
    column has, does not average out over the other side. The squared error is s²(row means)/a +
    s²(column means)/b, which counts what is left of the noise twice and so is a little too large;
    freedom by Satterthwaite. fixed: the side that is all there is, and no sample. NaN for a sample
    of one, and for scores that are not finite. Source: Owen 2007 (The pigeonhole bootstrap, section
    3: variance of a mean of crossed random effects); Satterthwaite 1946.
    """
    from scipy import stats  # a third of a second

    value = float(scores.mean()) if scores.size else math.nan
    means = {"rows": scores.mean(axis=1), "columns": scores.mean(axis=0)}
    sides = [side for name, side in means.items() if name != fixed]
    if min(map(len, sides)) < 2:
        return CrossedMean(value, reason=ALONE)
    if not math.isfinite(value):
        return CrossedMean(value, reason=UNSCORED)
    parts = np.array([side.var(ddof=1) / len(side) for side in sides])
    if not parts.sum() > 0:
        return CrossedMean(value, reason=ALIKE)
    freedom = parts.sum() ** 2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True)
    )
    error = math.sqrt(parts.sum())
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * error
    p = float(2 * stats.t.sf(abs(value - level) / error, freedom))
    return CrossedMean(value, value - half, value + half, p)


def pair_interval(
    scores: Float64[np.ndarray, " pairs"],
    x: Int64[np.ndarray, " pairs"],
    y: Int64[np.ndarray, " pairs"],
    *,
    models: int,
) -> tuple[float, float]:
    """Return the 95 % interval (low, high) of a mean over pairs of models: ± t · `pair_error`, with
    models − 1 degrees of freedom. NaN below LEAST_MODELS models and where that error is.
    """
    error = pair_error(scores, x, y, models=models)
    if models < LEAST_MODELS or not math.isfinite(error):
        return math.nan, math.nan
    low, high = student_interval(float(scores.mean()), error, freedom=models - 1)
    return float(low), float(high)


def pair_error(
    scores: Float64[np.ndarray, " pairs"],
    x: Int64[np.ndarray, " pairs"],
    y: Int64[np.ndarray, " pairs"],
    *,
    models: int,
) -> float:
    """Return the standard error of a mean over pairs of models, by the jackknife over models: √((m
    − 1)/m · Σᵢ (θ₍ᵢ₎ − θ̄)²), where θ₍ᵢ₎ is the mean without the pairs of model i.

    Pairs share models, so counting pairs is not enough; on average this is no smaller than the
    truth. x, y: the two models of each pair, as numbers below `models`; each is in some pair. NaN
    where one model is in all pairs. Source: Efron, Stein 1981.
    """
    sums, counts = (
        np.bincount(x, values, minlength=models) + np.bincount(y, values, minlength=models)
        for values in (scores, np.ones(len(scores)))
    )
    left = len(scores) - counts
    if (left == 0).any():
        return math.nan
    without = (scores.sum() - sums) / left
    return float(np.sqrt((models - 1) / models * ((without - without.mean()) ** 2).sum()))


def grid_interval(
    x: Float64[np.ndarray, "rows columns"],
    y: Float64[np.ndarray, "rows columns"],
    *,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the 95 % interval (low, high) of Spearman's ρ over all pairs of a grid, whose rows and
    columns are both samples: percentiles over draws of either with replacement.

    A draw in which all x or all y are equal has no ρ and is left out. NaN where one side has fewer
    than LEAST_SIDE, or x or y is constant or has a NaN. Source: Owen 2007 (the pigeonhole
    bootstrap, whose variance is no smaller than the truth).
    """
    if min(x.shape) < LEAST_SIDE or not np.isfinite([x, y]).all() or not np.ptp(x) * np.ptp(y):
        return math.nan, math.nan
    dice = np.random.default_rng(seed)
    rows, columns = (dice.integers(side, size=(draws, side)) for side in x.shape)
    cells = rows[:, :, None], columns[:, None, :]
    drawn = [grid[cells].reshape(draws, -1) for grid in (x, y)]
    mixed = np.all([np.ptp(one, axis=1) > 0 for one in drawn], axis=0)
    ranks = [_ranks(one[mixed]) for one in drawn]
    low, high = np.quantile((ranks[0] * ranks[1]).mean(1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _ranks(values: Float64[np.ndarray, "draws n"]) -> Float64[np.ndarray, "draws n"]:
    """Return standardized ranks, row by row."""
    from scipy.stats import rankdata

    ranks: np.ndarray = rankdata(values, axis=1)
    ranks = ranks - ranks.mean(axis=1, keepdims=True)
    ranks /= ranks.std(axis=1, keepdims=True)
    return ranks


def grid_correlation(
    x: Float64[np.ndarray, "rows columns"],
    y: Float64[np.ndarray, "rows columns"],
    kin: tuple[Clusters, Clusters] | None = None,
    *,
    draws: int,
    seed: int,
) -> tuple[float, float]:
    """Return Spearman's ρ over all pairs of a grid, and its two-sided p.

    Pairs share their models, so they are not independent: p deals the rows of y anew, and its
    columns, each as a whole. All rearrangements are gone through where there are EVERY or fewer,
    else `draws` of them beside the identity. kin: the clusters of rows and of columns; where two of
    a side are relatives, either side is dealt as `exchange` does, and p is twice that of its sign,
    NaN of fewer than LEAST_CLUSTERS on a side. NaN where x or y is constant, has a NaN, or where no
    rearrangement could give p < 0.05. Source: Mantel 1967; Hubert, Schultz 1976 (quadratic
    assignment).
    """
    rows, columns = x.shape
    if not np.isfinite([x, y]).all() or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, np.nan
    left, right = (_ranks(each.reshape(1, -1)).reshape(x.shape) for each in (x, y))
    value = float((left * right).mean())
    kept = [np.full(side, True) for side in x.shape]
    clusters = [relatives(*one) for one in zip(kin or (), kept, strict=False)]
    if any(one is not None for one in clusters):
        if any(map(too_few_clusters, clusters)):
            return value, np.nan
        sides = (
            exchange(np.arange(side) if one is None else one, draws=draws, seed=seed + place)
            for place, (side, one) in enumerate(zip((rows, columns), clusters, strict=True))
        )
        found = [(left * right[np.ix_(*deal)]).mean() for deal in zip(*sides, strict=True)]
        reached = np.sign(value) * np.array([value, *found]) >= abs(value) - 1e-12
        return value, min(1.0, 2 * float(reached.mean()))
    count = factorial(rows) * factorial(columns)
    if count < 20:
        return value, np.nan
    if count <= EVERY:
        deals = product(permutations(range(rows)), permutations(range(columns)))
        dealt = [(left * right[np.ix_(*deal)]).mean() for deal in deals]
    else:
        dice = np.random.default_rng(seed)
        ways = [(dice.permutation(rows), dice.permutation(columns)) for _ in range(draws)]
        dealt = [value, *((left * right[np.ix_(*deal)]).mean() for deal in ways)]
    return value, float(np.mean(np.abs(dealt) >= abs(value) - 1e-12))
