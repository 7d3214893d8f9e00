"""How far a score would be from itself, had other stimuli been drawn from the same world.

Every interval takes the pair of layers as given. It does not cover that the best pair was chosen
for its score, which is thereby a little too high, nor other weights of a model, nor another world.
Near chance, ask for a p-value (`core.statistics.nulls`) instead. There are two ways, since drawing
stimuli with replacement makes copies, and two copies of one stimulus are no pair: each is the
other's nearest neighbor, as similar as can be in both spaces, which would raise any alignment.
- A mean over stimuli (neighbor metrics): `influences`, then `bootstrap_mean`. Nothing is compared
with its copy.
- Any metric: its scores on random halves, then `half_interval`. A half holds no copies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float64, Int32

from core.errors import MetricError
from core.metrics.spec import MetricSpec
from core.statistics.fits import LEAST_MODELS
from core.statistics.nulls import draw_orders

LEVEL = 0.95

Lists = Int32[np.ndarray, "n k"]


def bootstrap_mean(
    terms: Float64[np.ndarray, "n pairs"], *, count: int, seed: int, level: float = LEVEL
) -> Float64[np.ndarray, "2 pairs"]:
    """Return the percentile interval (low, high) of each column's mean over `count` draws of n
    stimuli with replacement.

    The terms of a neighbor metric give an interval for other stimuli among the same candidates; for
    candidates drawn anew it is too narrow (79 to 91 % coverage in simulations, for 95).
    `influences` in place of terms cover both. Raises MetricError for a level outside (0, 1) and for
    count < 1.
    """
    tails = _tails(level, count)
    n = len(terms)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=count)
    interval: np.ndarray = np.quantile(weights @ terms / n, tails, axis=0)
    return interval


def influences(
    x: Int32[np.ndarray, "n kx"],
    y: Int32[np.ndarray, "n ky"],
    *,
    k: int,
    terms: Callable[[Lists, Lists], Float64[np.ndarray, "n"]],
) -> Float64[np.ndarray, "n"]:
    """Return what each stimulus adds to a neighbor metric: its own term, and what the terms of
    others lose without it.

    They are shifted to have the score as their mean: jackknife pseudo-values. Their bootstrap
    covers stimuli and candidates drawn anew, and rather too often (97 to 100 % in simulations, for
    95): what neighbors do jointly is counted for each of them. x, y: neighbors of one layer each,
    most similar first, at least k + 1 of them. terms: every stimulus's share of the score, from its
    own two lists alone, such as `core.metrics.knn.mutual_terms`. Raises MetricError for fewer
    neighbors and for a layer that has none. Source: Efron, Stein 1981 (the jackknife's variance is
    no smaller than the truth, on average).
    """
    kept = min(x.shape[1], y.shape[1])
    if not 1 <= k < kept:
        raise MetricError(
            f"k must lie in 1 … {kept - 1}, one less than the neighbors kept for each stimulus;"
            f" got {k}"
        )
    if x[0, 0] < 0 or y[0, 0] < 0:
        raise MetricError(
            "this layer has no neighbors: it is constant or has zeros only; choose another layer"
        )
    x, y = x[:, : k + 1], y[:, : k + 1]
    own = terms(x[:, :k], y[:, :k])
    total = own.copy()
    for rank in range(k):
        new = (x[:, :k] != y[:, rank, None]).all(axis=1)  # a neighbor in both counts once
        for left_out, rows in ((x[:, rank], slice(None)), (y[:, rank], new)):
            lost = own - terms(_without(x, left_out), _without(y, left_out))
            np.add.at(total, left_out[rows], lost[rows])
    added: np.ndarray = own.mean() + total - total.mean()
    return added


def _without(
    lists: Int32[np.ndarray, "n more"], left_out: Int32[np.ndarray, "n"]
) -> Int32[np.ndarray, "n k"]:
    """Return each list without one stimulus: the next one moves up; a list that lacks it loses its
    last.
    """
    keep = lists != left_out[:, None]
    keep[keep.all(axis=1), -1] = False
    kept: np.ndarray = lists[keep].reshape(len(lists), -1)
    return kept


def draw_halves(n: int, *, count: int, seed: int) -> Bool[np.ndarray, "count n"]:
    """Draw `count` random halves of n stimuli (one less than the rest where n is odd): true where a
    stimulus is in.
    """
    return draw_orders(n, count=count, seed=seed) < n // 2


def half_interval(
    score: float, halves: Float64[np.ndarray, "count"], *, spec: MetricSpec, level: float = LEVEL
) -> Float64[np.ndarray, "2"]:
    """Return the interval (low, high) of a score from its scores on random halves of the stimuli.

    The score plus the quantiles of halves − their mean, cut off at the ends of the metric's range.
    A half varies around the whole as the whole varies around the world, so no scaling is needed;
    that a metric's level depends on n drops out with the mean. Coverage in simulations, for 95 %:
    CKA and unbiased CKA 95 to 99, mutual kNN of halves at half of k 97 to 99; other metrics were
    not simulated. NaN where a half has no score. halves: the metric on `draw_halves`; of CKA,
    `core.metrics.cka_halves.cka_of_halves`. Raises MetricError for a level outside (0, 1) and for
    no halves. Source: Politis, Romano 1994 (subsampling); Præstgaard, Wellner 1993 (halves as
    weights 0 and 2 of a bootstrap).
    """
    tails = _tails(level, len(halves))
    interval: np.ndarray = np.clip(score + np.quantile(halves - halves.mean(), tails), *spec.range)
    return interval


def mean_interval(values: Float64[np.ndarray, "n"], *, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval (low, high) of the mean over models: x̄ ± t · s / √n, with the (1 +
    level)/2 quantile of Student's t at n − 1 degrees of freedom.

    It covers other models of the same kinds, taken as independent; values that are NaN are left
    out. NaN below LEAST_MODELS values. Raises MetricError for a level outside (0, 1). Source:
    Student 1908.
    """
    _tails(level, 1)
    values = values[np.isfinite(values)]
    n = len(values)
    if n < LEAST_MODELS:
        return math.nan, math.nan
    from scipy import stats  # a third of a second that pages without an interval must not pay

    half = stats.t.ppf((1 + level) / 2, n - 1) * values.std(ddof=1) / math.sqrt(n)
    return float(values.mean() - half), float(values.mean() + half)


def _tails(level: float, count: int) -> tuple[float, float]:
    if not 0 < level < 1:
        raise MetricError(f"a confidence level must lie between 0 and 1; got {level}")
    if count < 1:
        raise MetricError(f"an interval needs at least one draw of the stimuli; got {count}")
    return (1 - level) / 2, (1 + level) / 2
