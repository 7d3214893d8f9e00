"""How far a score would be from itself, had other stimuli been drawn from the same world.

Every interval takes the pair of layers as given. It does not cover that the best pair was chosen
for its score, which is thereby a little too high, nor other weights of a model, nor another world.
Near chance, ask for a p-value (`core.statistics.nulls`) instead. Stimuli are never drawn with
replacement: that makes copies, and two copies of one stimulus are no pair: each is the other's
nearest neighbor, as similar as can be in both spaces, which would raise any alignment. Random
halves hold no copies. A metric that counts common neighbors has an interval of its own,
`core.statistics.neighbor_intervals`; any other has that of its scores on halves, `half_interval`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float64, Int32

from core.errors import MetricError
from core.metrics.spec import MetricSpec
from core.statistics.fits import LEAST_MODELS
from core.statistics.nulls import draw_orders

LEVEL = 0.95

Lists = Int32[np.ndarray, "n k"]


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
    A half varies around the whole as the whole varies around the world, so nothing is scaled; that
    a metric's level depends on n drops out with the mean. A metric that counts neighbors has half
    of k in a half, so what comes of counting few of them is twice the variance there, and its
    interval may be up to √2 times too wide. Coverage in simulations of ten worlds, for 95 %: of CKA
    90 to 97, 99 of unrelated spaces (`tests/benchmarks/coverage.py`); other metrics were not
    simulated. NaN where a half has no score. halves: the metric on `draw_halves`, `fewest_draws` or
    more; of CKA, `core.metrics.cka_halves.cka_of_halves`. Raises MetricError for a level outside
    (0, 1) and for no halves. Source: Politis, Romano 1994 (subsampling); Præstgaard, Wellner 1993
    (halves as weights 0 and 2 of a bootstrap).
    """
    tails = tails_of(level, len(halves))
    interval: np.ndarray = np.clip(score + np.quantile(halves - halves.mean(), tails), *spec.range)
    return interval


def fewest_draws(level: float = LEVEL) -> int:
    """Return how many draws there must be for one of them to lie beyond each end of an interval."""
    return math.ceil(2 / (1 - Fraction(str(level))))


def check_draws(count: int) -> None:
    """Refuse fewer draws than the quantiles of an interval need; raises MetricError."""
    if count < fewest_draws():
        raise MetricError(
            f"a {100 * LEVEL:g} % interval from quantiles needs at least {fewest_draws()} draws;"
            f" got {count}"
        )


def student_interval(
    score: float, error: float, *, freedom: int, level: float = LEVEL
) -> Float64[np.ndarray, "2"]:
    """Return score ± t · error, with the (1 + level)/2 quantile of Student's t."""
    from scipy import stats  # a third of a second that pages without an interval must not pay

    _, upper = tails_of(level, freedom)
    half = stats.t.ppf(upper, freedom) * error
    return np.array([score - half, score + half])


def mean_interval(values: Float64[np.ndarray, "n"], *, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval (low, high) of the mean over models: x̄ ± t · s / √n, with the (1 +
    level)/2 quantile of Student's t at n − 1 degrees of freedom.

    It covers other models of the same kinds, taken as independent; values that are NaN are left
    out. NaN below LEAST_MODELS values. Raises MetricError for a level outside (0, 1). Source:
    Student 1908.
    """
    values = values[np.isfinite(values)]
    n = len(values)
    if n < LEAST_MODELS:
        return math.nan, math.nan
    error = values.std(ddof=1) / math.sqrt(n)
    low, high = student_interval(float(values.mean()), error, freedom=n - 1, level=level)
    return float(low), float(high)


def ratio_interval(
    over: Float64[np.ndarray, "n"], under: Float64[np.ndarray, "n"], *, level: float = LEVEL
) -> tuple[float, float, float]:
    """Return mean(over) / mean(under) of paired values, and its interval (low, high): the ratios θ
    that a t-test of mean(over − θ under) = 0 does not refuse.

    NaN where mean(under) is not told from 0, so that any ratio may be, and below LEAST_MODELS
    pairs. Source: Fieller 1954.
    """
    from scipy import stats  # as above

    n = len(over)
    if n < LEAST_MODELS:
        return (math.nan,) * 3
    x, y = float(over.mean()), float(under.mean())
    reach = stats.t.ppf(tails_of(level, n)[1], n - 1) ** 2 / n
    (xx, xy), (_, yy) = reach * np.cov(over, under)
    square, middle = y**2 - yy, x * y - xy
    if square <= 0:
        return (math.nan,) * 3
    root = math.sqrt(max(0.0, middle**2 - square * (x**2 - xx)))
    return x / y, float(middle - root) / float(square), float(middle + root) / float(square)


def tails_of(level: float, count: int) -> tuple[float, float]:
    if not 0 < level < 1:
        raise MetricError(f"a confidence level must lie between 0 and 1; got {level}")
    if count < 1:
        raise MetricError(f"an interval needs at least one draw of the stimuli; got {count}")
    return (1 - level) / 2, (1 + level) / 2
