"""Scores over two samples that are crossed, every one of the one with every one of the other: their
mean, and their correlation with other scores.
"""

from __future__ import annotations

import math
from itertools import permutations, product
from math import factorial
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float64

from core.statistics.intervals import LEVEL

EVERY = 5_000  # rearrangements of a grid at most that are all gone through
ALONE = "either side takes at least two trainings"
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
    if min(map(len, sides)) < 2 or not math.isfinite(value):
        return CrossedMean(value, reason=ALONE)
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


def grid_correlation(
    x: Float64[np.ndarray, "rows columns"],
    y: Float64[np.ndarray, "rows columns"],
    *,
    draws: int,
    seed: int,
) -> tuple[float, float]:
    """Return Spearman's ρ over all pairs of a grid, and its two-sided p.

    Pairs share their models, so they are not independent: p deals the rows of y anew, and its
    columns, each as a whole. All rearrangements are gone through where there are EVERY or fewer,
    else `draws` of them beside the identity. NaN where x or y is constant, has a NaN, or where no
    rearrangement could give p < 0.05. Source: Mantel 1967; Hubert, Schultz 1976 (quadratic
    assignment).
    """
    from scipy.stats import rankdata

    rows, columns = x.shape
    if not np.isfinite([x, y]).all() or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, np.nan
    left, right = (_standardized(rankdata(each).reshape(x.shape)) for each in (x, y))
    value = float((left * right).mean())
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


def _standardized(ranks: Float64[np.ndarray, "r c"]) -> Float64[np.ndarray, "r c"]:
    standardized: np.ndarray = (ranks - ranks.mean()) / ranks.std()
    return standardized
