"""Means over stimuli and trainings at once, and how sure they are for other stimuli and other
trainings.
"""

from __future__ import annotations

from itertools import permutations, product
from math import factorial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

EVERY = 5_000  # rearrangements of a grid at most that are all gone through


class Mean(NamedTuple):
    """A mean with its 95 % interval, and the two-sided p that it is 0; NaN where unknown."""

    value: float
    low: float
    high: float
    p: float


def crossed_mean(values: Float64[np.ndarray, "trainings n"]) -> Mean:
    """Return the mean over n stimuli and all trainings, each of which met every stimulus.

    The squared error is the variance of stimuli (each averaged over trainings) / n plus that of
    trainings (each averaged over stimuli) / their number; what both share is counted twice, which
    makes the interval a little too wide. Student's t with Satterthwaite's degrees of freedom. The
    interval covers other stimuli and, given two trainings or more, other trainings. Neither
    interval nor p of fewer than two stimuli, and of values without any spread. Source:
    Satterthwaite 1946.
    """
    from scipy.stats import t  # a third of a second

    mean = float(values.mean())
    parts = [(values.mean(axis), values.shape[1 - axis]) for axis in (0, 1)]
    squares = [(float(part.var(ddof=1)) / n, n - 1) for part, n in parts if n > 1]
    error = sum(square for square, _ in squares)
    if not np.isfinite(mean) or values.shape[1] < 2 or error == 0:
        return Mean(mean, np.nan, np.nan, np.nan)
    freedom = error**2 / sum(square**2 / free for square, free in squares)
    reach = float(t.ppf(0.975, freedom)) * error**0.5
    p = float(2 * t.sf(abs(mean) / error**0.5, freedom))
    return Mean(mean, mean - reach, mean + reach, p)


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
