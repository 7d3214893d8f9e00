"""How far a score would be from itself, had other stimuli or other models been drawn.

Intervals over stimuli take the layers as given, and never draw with replacement: two copies of one
stimulus are each other's nearest neighbors. Scores over two crossed samples, or over all pairs of
one, share their models: `crossed_mean`, `pair_error`, `grid_correlation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations, product
from math import factorial
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int32, Int64

from core.errors import MetricError
from core.metrics.spec import MetricSpec
from core.progress import tell_each
from core.statistics.correlations import LEAST_MODELS, Clusters, relatives, too_few_clusters
from core.statistics.nulls import draw_orders
from core.statistics.trends import exchange

LEVEL = 0.95
TAILS = (1 - LEVEL) / 2, (1 + LEVEL) / 2
FEWEST_DRAWS = 40  # put one beyond each end of an interval
LEAST_SIDE = 3  # rows or columns of a grid; draws of two are mostly of one alone
EVERY = 5_000  # rearrangements of a grid at most that are all gone through
ALONE = "either side takes at least two trainings"
UNSCORED = "some two models have no score together"
ALIKE = "all scores are the same, so their spread is unknown"

Values = Float64[np.ndarray, " n"]
Grid = Float64[np.ndarray, "rows columns"]
Members = Int64[np.ndarray, " pairs"]
Pair = Float64[np.ndarray, "2"]  # low and high
Lists = Int32[np.ndarray, "n _"]
Share = Callable[[Int64[np.ndarray, " counts"], int], Float64[np.ndarray, " counts"]]


def draw_halves(n: int, *, count: int, seed: int) -> Bool[np.ndarray, "count n"]:
    """Draw `count` random halves of n stimuli, rounded down: true where a stimulus is in."""
    return draw_orders(n, count=count, seed=seed) < n // 2


def half_interval(score: float, halves: Float64[np.ndarray, " count"], *, spec: MetricSpec) -> Pair:
    """Return the 95% interval (low, high) of a score from its scores on random halves of the
    stimuli: the score plus the quantiles of halves − their mean, cut off at the metric's range.

    A half varies around the whole as the whole around the world, so nothing is scaled. A metric
    that counts neighbors has half of k in a half, so its interval may be up to √2 times too wide.
    Coverage in ten worlds, of CKA 90 to 97% (`tests/benchmarks/coverage.py`). NaN if a half has no
    score. halves: the metric on `draw_halves`, `FEWEST_DRAWS` or more. Source: Politis, Romano 1994
    (subsampling); Præstgaard, Wellner 1993.
    """
    ends = score + np.quantile(halves - halves.mean(), TAILS)
    interval: np.ndarray = np.clip(ends, *spec.range)
    return interval


def check_draws(count: int) -> None:
    if count < FEWEST_DRAWS:
        raise MetricError(
            f"a 95% interval from quantiles needs at least {FEWEST_DRAWS} draws; got {count}"
        )


def student_interval(score: float, error: float, *, freedom: float) -> Pair:
    """Return score ± t · error, with the 97.5% quantile of Student's t."""
    from scipy.special import stdtrit  # scipy.stats takes a third of a second

    half = stdtrit(freedom, TAILS[1]) * error
    return np.array([score - half, score + half])


def mean_interval(values: Values) -> tuple[float, float]:
    """Return the 95% interval (low, high) of the mean over models: x̄ ± t · s / √n at n − 1 degrees
    of freedom. It covers other models of the same kinds, taken as independent. NaN values are left
    out; NaN below LEAST_MODELS.
    """
    values = values[np.isfinite(values)]
    n = len(values)
    if n < LEAST_MODELS:
        return math.nan, math.nan
    low, high = student_interval(values.mean(), values.std(ddof=1) / math.sqrt(n), freedom=n - 1)
    return float(low), float(high)


def t_test(values: Values) -> tuple[float, float, float, float]:
    """Return the mean, its 95% interval and the p that it is 0, by Student's t; NaN if a value is
    NaN, and neither interval nor p for fewer than two or for equal ones, whose spread is unknown.
    """
    from scipy.special import stdtr  # as above

    mean, freedom = float(values.mean()), len(values) - 1
    if not math.isfinite(mean) or len(np.unique(values)) < 2:
        return mean, math.nan, math.nan, math.nan
    error = float(values.std(ddof=1) / math.sqrt(len(values)))
    low, high = map(float, student_interval(mean, error, freedom=freedom))
    return mean, low, high, float(2 * stdtr(freedom, -abs(mean) / error))


def ratio_interval(over: Values, under: Values) -> tuple[float, float, float]:
    """Return mean(over) / mean(under) of paired values, and its 95% interval (low, high): the
    ratios θ that a t-test of mean(over − θ under) = 0 does not refuse. NaN if mean(under) does not
    differ from 0, and below LEAST_MODELS pairs. Source: Fieller 1954.
    """
    from scipy.special import stdtrit  # as above

    n = len(over)
    if n < LEAST_MODELS:
        return (math.nan,) * 3
    x, y = float(over.mean()), float(under.mean())
    reach = stdtrit(n - 1, TAILS[1]) ** 2 / n
    (xx, xy), (_, yy) = reach * np.cov(over, under)
    square, middle = y**2 - yy, x * y - xy
    if square <= 0:
        return (math.nan,) * 3
    root = math.sqrt(max(0.0, middle**2 - square * (x**2 - xx)))
    return x / y, float(middle - root) / float(square), float(middle + root) / float(square)


def halved(k: int) -> int:
    return (k + 1) // 2


def depth_for_halves(k: int, n: int) -> int:
    """Return how many neighbors lists of n stimuli must hold, so that within any half those are
    among them that an interval at k asks for: in one list of 10¹¹ they are not.
    """
    half = halved(k)
    return min(n - 1, math.ceil(2 * half + 9 * math.sqrt(half) + 38))


def neighbor_interval(
    x: Int32[np.ndarray, "n kx"],
    y: Int32[np.ndarray, "n ky"],
    *,
    k: int,
    share: Share,
    count: int,
    seed: int,
) -> Pair:
    """Return the 95% interval (low, high) of a neighbor metric, had as many other stimuli been
    drawn from the same world: its mean over stimuli ± t times the standard error.

    Two halves of the stimuli share none, so how far they lie apart tells the variance of a half
    without bias; with half of k their neighborhoods reach as far as those of the whole. Per
    stimulus that variance is V = a + b / k′: a differs between places of the world, b / k′ comes of
    counting few neighbors. The jackknife tells them apart: it is a + c / k (Efron, Stein 1981), so
    a = (r J − J′) / (r − 1), with r = k / k′ and J, J′ the jackknife of the whole and of halves,
    within 0 and V. t has `count` degrees of freedom, at most ⌊n / 2⌋ − 1. In ten simulated worlds
    the interval of mutual k-NN held the mean in 91 to 99% of draws (`tests/benchmarks/coverage.py`,
    `count` = 100, n = 256).

    x, y: neighbors of one layer each, most similar first, `depth_for_halves` of them. share: what a
    stimulus adds to the mean, from how many of its k neighbors are common. count: pairs of halves.
    Raises MetricError for a k that halves do not allow, a layer without neighbors and lists that
    are too short.
    """
    own, influences = find_influences(x, y, k=k, share=share)
    both = np.stack([lists[:, : min(x.shape[1], y.shape[1])] for lists in (x, y)])
    apart, spread, half_k = [], [], halved(k)
    halves = draw_halves(len(x), count=count, seed=seed)
    for half in tell_each(halves, "halves of the stimuli"):
        parts = [
            find_influences(*within(both, rows, k=half_k + 1), k=half_k, share=share)
            for rows in (half, ~half)
        ]
        (one, other), sizes = ((own.mean() for own, _ in parts), [len(own) for own, _ in parts])
        apart.append((one - other) ** 2 * math.prod(sizes) / sum(sizes))
        spread += [each.var(ddof=1) for _, each in parts]
    whole = float(np.mean(apart))
    fewer, lasting = k / half_k, 0.0
    if fewer > 1:
        lasting = (fewer * influences.var(ddof=1) - float(np.mean(spread))) / (fewer - 1)
    variance = (whole + (fewer - 1) * min(max(lasting, 0.0), whole)) / fewer
    freedom = min(count, len(own) // 2 - 1)
    error = math.sqrt(variance / len(own))
    return student_interval(float(own.mean()), error, freedom=freedom)


def find_influences(
    x: Int32[np.ndarray, "n kx"], y: Int32[np.ndarray, "n ky"], *, k: int, share: Share
) -> tuple[Values, Values]:
    """Return each stimulus's own term, and its influence: that, and what the terms of others lose
    without it.
    """
    from core.pairs.loops import add_influences  # half a second of numba

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
    own, influences = np.zeros((2, len(x)))
    add_influences(x, y, k, share(np.arange(k + 1), k), own, influences)
    return own, influences


def within(
    lists: Int32[np.ndarray, "2 n depth"], rows: Bool[np.ndarray, " n"], *, k: int
) -> Int32[np.ndarray, "2 m k"]:
    """Return the k nearest of each stimulus of a set among the others of it, counted within the
    set, in both spaces.
    """
    from core.pairs.loops import first_within  # half a second of numba

    place = np.where(rows, np.cumsum(rows) - 1, -1).astype(np.int32)
    nearest, ranks = np.full((2, rows.sum(), 2, k), -1, dtype=np.int32)
    first_within(lists, np.flatnonzero(rows), place, nearest, ranks)
    if nearest[:, :, -1].min() < 0:
        raise MetricError(
            f"half of the stimuli hold fewer than {k} of some stimulus's {lists.shape[2]}"
            " neighbors; keep more of them, or choose a smaller k"
        )
    by_space: np.ndarray = nearest.transpose(1, 0, 2)
    return by_space


class CrossedMean(NamedTuple):
    """A mean with its 95% interval and the two-sided p of a t-test; NaN if `reason` says why."""

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
    s²(column means)/b; freedom by Satterthwaite. fixed: the side that is no sample. NaN for a
    sample of one and for scores that are not finite. Source: Owen 2007, section 3; Satterthwaite
    1946.
    """
    from scipy.special import stdtr  # as above

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
    freedoms = np.array([len(side) - 1 for side in sides])
    freedom, error = parts.sum() ** 2 / (parts**2 / freedoms).sum(), math.sqrt(parts.sum())
    low, high = map(float, student_interval(value, error, freedom=freedom))
    return CrossedMean(value, low, high, float(2 * stdtr(freedom, -abs(value - level) / error)))


def pair_interval(
    scores: Float64[np.ndarray, " pairs"], x: Members, y: Members, *, models: int
) -> tuple[float, float]:
    """Return the 95% interval (low, high) of a mean over pairs of models: ± t · `pair_error`, with
    models − 1 degrees of freedom. NaN below LEAST_MODELS models and if that error is.
    """
    error = pair_error(scores, x, y, models=models)
    if models < LEAST_MODELS or not math.isfinite(error):
        return math.nan, math.nan
    low, high = student_interval(float(scores.mean()), error, freedom=models - 1)
    return float(low), float(high)


def pair_error(
    scores: Float64[np.ndarray, " pairs"], x: Members, y: Members, *, models: int
) -> float:
    """Return the standard error of a mean over pairs of models, by the jackknife over models: √((m
    − 1)/m · Σᵢ (θ₍ᵢ₎ − θ̄)²), with θ₍ᵢ₎ the mean without the pairs of model i.

    Pairs share models, so counting pairs is not enough; on average this is no smaller than the
    truth. x, y: the two models of each pair, as numbers below `models`; each is in some pair. NaN
    if one model is in all pairs. Source: Efron, Stein 1981.
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


def grid_interval(x: Grid, y: Grid, *, draws: int = 2000, seed: int = 0) -> tuple[float, float]:
    """Return the 95% interval (low, high) of Spearman's ρ over all pairs of a grid, whose rows and
    columns are both samples: percentiles over draws of either with replacement, without those in
    which all x or all y are equal.

    NaN if one side has fewer than LEAST_SIDE, or x or y is constant or has a NaN. Source: Owen 2007
    (the pigeonhole bootstrap, whose variance is no smaller than the truth).
    """
    if min(x.shape) < LEAST_SIDE or not np.isfinite([x, y]).all() or not np.ptp(x) * np.ptp(y):
        return math.nan, math.nan
    dice = np.random.default_rng(seed)
    rows, columns = (dice.integers(side, size=(draws, side)) for side in x.shape)
    cells = rows[:, :, None], columns[:, None, :]
    drawn = [grid[cells].reshape(draws, -1) for grid in (x, y)]
    mixed = np.all([np.ptp(one, axis=1) > 0 for one in drawn], axis=0)
    ranks = [_standard_ranks(one[mixed]) for one in drawn]
    low, high = np.quantile((ranks[0] * ranks[1]).mean(1), TAILS)
    return float(low), float(high)


def _standard_ranks(values: Float64[np.ndarray, "draws n"]) -> Float64[np.ndarray, "draws n"]:
    from scipy.stats import rankdata

    ranks: np.ndarray = rankdata(values, axis=1)
    ranks = ranks - ranks.mean(axis=1, keepdims=True)
    ranks /= ranks.std(axis=1, keepdims=True)
    return ranks


def grid_correlation(
    x: Grid, y: Grid, kin: tuple[Clusters, Clusters] | None = None, *, draws: int, seed: int
) -> tuple[float, float]:
    """Return Spearman's ρ over all pairs of a grid, and its two-sided p.

    Pairs share their models, so p permutes the rows of y, and its columns, each as a whole: in all
    ways if they are EVERY or fewer, else `draws` of them next to the identity. kin: the clusters of
    rows and of columns; if two of a side are relatives, either side is permuted as `exchange` does,
    and p is twice that of its sign, NaN of fewer than LEAST_CLUSTERS on a side. NaN if x or y is
    constant, has a NaN, or if no rearrangement could give p < 0.05. Source: Mantel 1967; Hubert,
    Schultz 1976 (quadratic assignment).
    """
    rows, columns = x.shape
    if not np.isfinite([x, y]).all() or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, np.nan
    left, right = (_standard_ranks(each.reshape(1, -1)).reshape(x.shape) for each in (x, y))
    value = float((left * right).mean())
    clusters = [
        relatives(one, np.full(side, True)) for one, side in zip(kin or (), x.shape, strict=False)
    ]
    related = any(one is not None for one in clusters)
    count = factorial(rows) * factorial(columns)
    orders: list[tuple[np.ndarray, np.ndarray]] | product[tuple[tuple[int, ...], ...]]
    if related:
        if any(map(too_few_clusters, clusters)):
            return value, np.nan
        sides = (
            exchange(np.arange(side) if one is None else one, draws=draws, seed=seed + place)
            for place, (side, one) in enumerate(zip((rows, columns), clusters, strict=True))
        )
        orders = list(zip(*sides, strict=True))
    elif count < 20:
        return value, np.nan
    elif count <= EVERY:
        orders = product(permutations(range(rows)), permutations(range(columns)))
    else:
        dice = np.random.default_rng(seed)
        orders = [(dice.permutation(rows), dice.permutation(columns)) for _ in range(draws)]
    found = np.array([(left * right[np.ix_(*order)]).mean() for order in orders])
    if related:
        reached = np.sign(value) * np.append(found, value) >= abs(value) - 1e-12
        return value, min(1.0, 2 * float(reached.mean()))
    if count > EVERY:
        found = np.append(found, value)
    return value, float(np.mean(np.abs(found) >= abs(value) - 1e-12))
