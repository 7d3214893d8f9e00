"""Fits and correlations over models, relatives among them, and the reliability of repeats.

rᵣ = f r / (1 + (f − 1) r)     the reliability of f times as many repeats (Spearman–Brown)
ρ ≤ √rᵣ                        the correlation of what was measured with anything without noise
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from math import comb

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float64, Int64

from core.errors import InputError
from core.statistics.trends import exchange, jackknife

LEVEL = 0.95
SURE = 0.05  # of p, below which a correlation counts as real
LEAST_CLUSTERS = 3  # families, or lines of a side; of two no spread is known
LEAST_MODELS = 5  # of fewer, even a perfect order of ranks has p > 0.05: 2 of 4! orders are 0.083
# models; of 5, draws with replacement put every sixth interval beyond 0 where nothing correlates
FEWEST = 6
MOST_EXACT = 8  # 8! = 40,320 orders are counted at once
EXCHANGES = 1999
GRID = 50  # points of a band
BAND = ("x", "fit", "low", "high")
UNDEFINED = 0.05  # share of draws without a correlation, from which on the others give no interval
ROUNDING = 1e-9
SPLITS = 20  # of the repeats into halves, at most
NO_SPREAD = "without one family there is no correlation, so there is no interval"

Values = Float64[np.ndarray, " n"]
Rows = Float64[np.ndarray, "draws n"]
Numbers = Int64[np.ndarray, " n"]
Clusters = Sequence[str] | Numbers | None  # of each model, which are relatives


@dataclass(frozen=True)
class Fit:
    """A least-squares line and what it is worth; every number is NaN if `reason` says why.

    n: points used. p: two-sided, of the Spearman correlation. points: x and y of the points used.
    band: x, fit, low, high over the range of x: the line and the 95% band of the mean.
    """

    n: int
    slope: float
    intercept: float
    r2: float
    spearman: float
    p: float
    points: pd.DataFrame
    band: pd.DataFrame
    reason: str = ""


@dataclass(frozen=True)
class Correlation:
    """A correlation in [−1, 1] over n models, its interval and its two-sided p; NaN if `reason`
    says why.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    reason: str = ""

    @property
    def sure(self) -> bool:
        """Whether interval and p both differ from 0: with few or tied models either errs."""
        return bool(self.p < SURE and (self.low > 0 or self.high < 0))


def competence_fit(x: Values, y: Float64[np.ndarray, " m"], clusters: Clusters = None) -> Fit:
    """Fit y = slope · x + intercept by least squares.

    Band at x₀: ŷ ± t · s · √(1/n + (x₀ − x̄)² / Σ(x − x̄)²), with s² = SSE/(n − 2) and Student's t at
    n − 2 degrees of freedom. R² = 1 − SSE/SST. Spearman's p is exact up to 8 points, above that by
    the t approximation. Points with a NaN are left out. clusters: of each model, those that are
    relatives; if two are, p is `clustered_p` and the band a jackknife's over clusters. NaN with a
    reason below LEAST_MODELS points, for constant x or y, and below LEAST_CLUSTERS.
    """
    from scipy.special import stdtrit  # scipy.stats would take half a second of the first plot

    sound, (x, y) = _sound(x, y)
    n, kin, points = len(x), relatives(clusters, sound), pd.DataFrame({"x": x, "y": y})
    reason = too_few_clusters(kin)
    if constant := _constant(competence=x, alignment=y):
        reason = constant
    if n < LEAST_MODELS:
        reason = f"a fit needs at least {LEAST_MODELS} models with both values; there are {n}"
    if reason:
        band = pd.DataFrame(columns=list(BAND), dtype=float)
        return Fit(n, *(np.nan,) * 5, points, band, reason)
    middle = x.mean()
    spread = ((x - middle) ** 2).sum()
    slope = ((x - middle) * (y - y.mean())).sum() / spread
    intercept = y.mean() - slope * middle
    errors = ((y - intercept - slope * x) ** 2).sum()
    at = np.linspace(x.min(), x.max(), GRID)
    fit = intercept + slope * at
    half = stdtrit(n - 2, (1 + LEVEL) / 2) * np.sqrt(
        errors / (n - 2) * (1 / n + (at - middle) ** 2 / spread)
    )
    low, high = fit - half, fit + half
    rho, p = _spearman(x, y)
    if kin is not None:
        p = clustered_p(_ranks(x), _ranks(y), kin)
        without = []
        for one in np.unique(kin):
            rest_x, rest_y = x[kin != one], y[kin != one]
            line = np.polyfit(rest_x, rest_y, 1) if np.ptp(rest_x) else np.full(2, np.nan)
            without.append(np.polyval(line, at))
        low, high = jackknife(fit, np.array(without), freedom=len(without) - 1)
    r2 = 1 - errors / ((y - y.mean()) ** 2).sum()
    band = pd.DataFrame(dict(zip(BAND, (at, fit, low, high), strict=True)))
    return Fit(n, float(slope), float(intercept), float(r2), rho, p, points, band)


def relatives(
    clusters: Clusters, kept: Bool[np.ndarray, " n"]
) -> Int64[np.ndarray, " kept"] | None:
    """Return the clusters of the models that are kept as numbers, None if no two are of one."""
    if clusters is None:
        return None
    numbers, names = pd.factorize(np.asarray(clusters, dtype=object)[kept])
    return None if len(names) == len(numbers) else numbers.astype(np.int64)


def too_few_clusters(clusters: Numbers | None) -> str:
    """Return why nothing is tested over so few clusters, "" if there are enough."""
    if clusters is None or (count := len(np.unique(clusters))) >= LEAST_CLUSTERS:
        return ""
    families = "family" if count == 1 else "families"
    return (
        f"a test needs models of {LEAST_CLUSTERS} families, whose sizes count once; there are"
        f" {len(clusters)} of {count} {families}"
    )


def clustered_p(
    x: Values, y: Values, clusters: Numbers, *, control: Values | None = None, seed: int = 0
) -> float:
    """Return the two-sided p of a correlation over models of which some are relatives: twice how
    often `exchange` gives one as far on the side of its sign. control: taken out of y each time.
    """
    x, y = x - x.mean(), y - y.mean()
    dealt = y[exchange(clusters, draws=EXCHANGES, seed=seed)]
    if control is not None:
        z = control - control.mean()
        dealt = dealt - np.outer(dealt @ z / (z @ z), z)
    found = dealt @ x / np.linalg.norm(dealt, axis=1)
    own = float(x @ y / np.linalg.norm(y))
    reached = np.count_nonzero((1 if own >= 0 else -1) * found >= abs(own) * (1 - 1e-9))
    return min(1.0, 2 * (1 + reached) / (1 + EXCHANGES))


def spearman_interval(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " m"],
    clusters: Clusters = None,
    *,
    draws: int = 2000,
    seed: int = 0,
) -> Correlation:
    """Return Spearman's ρ with its 95% percentile interval over draws of the models with
    replacement.

    If more than 5% of draws have no ρ, all x or all y being equal, or if the interval does not hold
    ρ itself, it is NaN with the reason. clusters: as of `competence_fit`; if two models are
    relatives, the interval is the jackknife's over clusters, cut off at ±1. p: as of
    `competence_fit`. NaN with the reason below 6 models or 3 clusters, and for constant x or y.
    Source: Efron, Tibshirani 1993, chapters 11 and 13.
    """
    sound, (x, y) = _sound(x, y)
    kin = relatives(clusters, sound)
    fit = competence_fit(x, y, kin)
    if fit.reason or fit.n < FEWEST:
        return _unknown(fit.n, fit.reason)
    found = Correlation(fit.spearman, np.nan, np.nan, fit.p, fit.n)
    if kin is not None:
        without = [
            correlate_rows(_ranks(x[None, kin != one]), _ranks(y[None, kin != one]))
            for one in np.unique(kin)
        ]
        return _left_out(found, np.concatenate(without))
    drawn = np.random.default_rng(seed).integers(fit.n, size=(draws, fit.n))
    rhos = correlate_rows(_ranks(x[drawn]), _ranks(y[drawn]))
    if (undefined := float(np.isnan(rhos).mean())) > UNDEFINED:
        why = f"so many are equal that {100 * undefined:.0f}% of draws have no ρ"
        return replace(found, reason=why)
    low, high = map(float, np.nanquantile(rhos, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    if not low - ROUNDING <= found.value <= high + ROUNDING:
        return replace(found, reason="the interval of the draws does not hold ρ itself")
    return replace(found, low=low, high=high)


def partial_correlation(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " m"],
    clusters: Clusters = None,
    *,
    control: Float[np.ndarray, " l"],
) -> Correlation:
    """Return the correlation of what a line in `control` leaves of x and of y: (r_xy − r_xz r_yz) /
    √((1 − r_xz²)(1 − r_yz²)).

    control: z, such as the logarithm of the models' sizes. p: two-sided, of t = r √(ν / (1 − r²))
    with ν = n − 3; the interval by Fisher's transform, tanh(artanh r ± 1.96 / √(n − 4)). clusters:
    if two models are relatives, what is left of y is exchanged for p, and the interval is the
    jackknife's. NaN with the reason below 6 models or 3 clusters, for constant values, and if z
    determines all of x or of y. Source: Fisher 1924; Freedman, Lane 1983.
    """
    from scipy.special import ndtri, stdtr

    sound, (x, y, z) = _sound(x, y, control)
    n, kin = len(x), relatives(clusters, sound)
    if n < FEWEST or (reason := too_few_clusters(kin) or _constant(x=x, y=y, control=z)):
        return _unknown(n, "" if n < FEWEST else reason)
    left = [_residuals(values, z) for values in (x, y)]
    if any(
        np.abs(rest).max() <= 1e-9 * np.ptp(values)
        for rest, values in zip(left, (x, y), strict=True)
    ):
        return _unknown(n, "the control determines x or y, so nothing is left to correlate")
    r = float(correlate_rows(left[0][None], left[1][None])[0])
    if abs(r) >= 1 - 1e-12:
        why = "what is left lies on a line, so there is no interval"
        return Correlation(float(np.sign(r)), np.nan, np.nan, 0.0, n, why)
    if kin is not None:
        p = clustered_p(left[0], left[1], kin, control=z)
        kept = [kin != one for one in np.unique(kin)]
        without = [
            correlate_rows(_residuals(x[one], z[one])[None], _residuals(y[one], z[one])[None])
            for one in kept
        ]
        return _left_out(Correlation(r, np.nan, np.nan, p, n), np.concatenate(without))
    p = float(2 * stdtr(n - 3, -abs(r * np.sqrt((n - 3) / (1 - r * r)))))
    half = ndtri((1 + LEVEL) / 2) / np.sqrt(n - 4)
    low, high = np.tanh([np.arctanh(r) - half, np.arctanh(r) + half])
    return Correlation(r, float(low), float(high), p, n)


def _sound(
    *columns: np.ndarray,
) -> tuple[Bool[np.ndarray, " n"], list[Float64[np.ndarray, " sound"]]]:
    if len({len(column) for column in columns}) > 1:
        raise InputError(
            "expected one value of each for every model; got"
            f" {', '.join(str(len(column)) for column in columns)} values"
        )
    sound = np.all([np.isfinite(column) for column in columns], axis=0)
    return sound, [column[sound].astype(np.float64) for column in columns]


def _constant(**columns: Values) -> str:
    for name, values in columns.items():
        if len(values) and np.ptp(values) == 0:
            return f"all {len(values)} models have the same {name}"
    return ""


def _unknown(n: int, reason: str) -> Correlation:
    reason = reason or f"at least {FEWEST} models with all values expected; there are {n}"
    return Correlation(np.nan, np.nan, np.nan, np.nan, n, reason)


def _left_out(found: Correlation, without: Float64[np.ndarray, " c"]) -> Correlation:
    """Add the jackknife's interval from the correlations without each cluster, cut off at ±1."""
    low, high = jackknife(found.value, without, freedom=len(without) - 1)
    low, high = float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1))
    return replace(found, low=low, high=high, reason=NO_SPREAD if np.isnan(low) else "")


def _spearman(x: Values, y: Values) -> tuple[float, float]:
    from scipy.special import stdtr

    n = len(x)
    ranks_x, ranks_y = _ranks(x) - (n + 1) / 2, _ranks(y) - (n + 1) / 2
    rho = float(np.corrcoef(ranks_x, ranks_y)[0, 1])
    if n <= MOST_EXACT:
        orders = np.array(list(permutations(range(n))))
        # ours, not scipy.stats.permutation_test, which counts ties by a tolerance and takes longer:
        # ranks are halves and their products quarters, so these sums are exact and ties with the
        # observed one are counted
        extreme = np.abs(ranks_y[orders] @ ranks_x) >= abs(ranks_y @ ranks_x)
        return rho, float(extreme.mean())
    if abs(rho) >= 1:
        return rho, 0.0
    return rho, float(2 * stdtr(n - 2, -abs(rho) * np.sqrt((n - 2) / (1 - rho * rho))))


def _ranks(values: Float64[np.ndarray, "*draws n"]) -> Float64[np.ndarray, "*draws n"]:
    ranks: np.ndarray = pd.DataFrame(np.atleast_2d(values)).rank(axis=1).to_numpy()
    return ranks.reshape(values.shape)


def correlate_rows(x: Float64[np.ndarray, "#draws n"], y: Rows) -> Float64[np.ndarray, " draws"]:
    """Return Pearson's correlation of each row of both, or of the one row of x with each of y; NaN
    if one of both is constant.
    """
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    lengths = (x * x).sum(axis=1) * (y * y).sum(axis=1)
    correlations: np.ndarray = (x * y).sum(axis=1) / np.sqrt(np.where(lengths > 0, lengths, np.nan))
    return correlations


def _residuals(values: Values, control: Values) -> Values:
    values, control = values - values.mean(), control - control.mean()
    residuals: np.ndarray = values - control * (values @ control) / (control @ control or 1.0)
    return residuals


def draw_splits(
    repeats: int, *, count: int = SPLITS, seed: int = 0
) -> list[tuple[Bool[np.ndarray, " r"], Bool[np.ndarray, " r"]]]:
    """Return splits of at least two repeats into halves of equal size, as masks: all, or `count` of
    more, drawn with the seed. Of an odd number each leaves one out.
    """
    half, places = repeats // 2, range(repeats)
    if comb(repeats, half) * comb(repeats - half, half) // 2 <= count:
        pairs = [
            (first, second)
            for first in combinations(places, half)
            for second in combinations(sorted({*places} - {*first}), half)
            if first < second
        ]
    else:
        rng = np.random.default_rng(seed)
        orders = [tuple(rng.permutation(repeats).tolist()) for _ in range(count)]
        pairs = [(order[:half], order[half : 2 * half]) for order in orders]
    return [(np.isin(places, first), np.isin(places, second)) for first, second in pairs]


def spearman_brown(
    reliability: Float[np.ndarray, "*units"] | float, factor: float
) -> Float64[np.ndarray, "*units"]:
    """Return the reliability of `factor` times as many repeats: f r / (1 + (f − 1) r), at most 1; 0
    for halves that do not agree (r ≤ 0).
    """
    r = np.maximum(np.asarray(reliability, dtype=np.float64), 0.0)
    return np.asarray(factor * r / (1 + (factor - 1) * r))


def grow(repeats: int) -> float:
    """Return how many times as many all repeats are as those of one half."""
    return repeats / (repeats // 2)


def unit_reliability(repeats: Float[np.ndarray, "r n d"]) -> Float64[np.ndarray, " d"]:
    """Return the reliability of each unit's mean over all repeats: the correlation over stimuli of
    the means of two halves, averaged over splits, Spearman–Brown corrected.

    repeats: at least two measurements of n stimuli in d units. In 0 … 1, higher is more reliable;
    NaN for a unit that is constant in a half. Source: Yamins et al. 2014.
    """
    halves = [
        correlate_rows(*(repeats[one].mean(axis=0).astype(np.float64).T for one in split))
        for split in draw_splits(len(repeats))
    ]
    return spearman_brown(np.mean(halves, axis=0), grow(len(repeats)))
