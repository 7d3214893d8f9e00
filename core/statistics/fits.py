"""Straight lines of one thing over another, with their interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64

from core.errors import InputError
from core.statistics.dealing import exchange
from core.statistics.level_trends import jackknife

Clusters = Sequence[str] | Int64[np.ndarray, " n"] | None  # of each model, which are relatives


@dataclass(frozen=True)
class Fit:
    """A least-squares line and what it is worth; every number is NaN where `reason` says why.

    n: points used. level: of the band. p: two-sided, of the Spearman correlation. points: x and y
    of the points used. band: x, fit, low, high over the range of x: the line and the confidence
    band of the mean; empty with a reason.
    """

    n: int
    level: float
    slope: float
    intercept: float
    r2: float
    spearman: float
    p: float
    points: pd.DataFrame
    band: pd.DataFrame
    reason: str = ""


def competence_fit(
    x: Float64[np.ndarray, "n"],
    y: Float64[np.ndarray, "m"],
    clusters: Clusters = None,
    *,
    level: float = 0.95,
) -> Fit:
    """Fit y = slope · x + intercept by least squares.

    Band at x₀: ŷ ± t · s · √(1/n + (x₀ − x̄)² / Σ(x − x̄)²), where s² = SSE/(n − 2) and t is the (1
    + level)/2 quantile of Student's t at n − 2 degrees of freedom. R² = 1 − SSE/SST. Spearman's p
    is exact up to 8 points (over all orders), above that by the t approximation. x, y: one value
    per model; points with a NaN are left out. level: in (0, 1). clusters: of each model, those that
    are relatives; where two are, p is `clustered_p` and the band a jackknife's over clusters. NaN
    with a reason below LEAST_MODELS points, for constant x or y, and below LEAST_CLUSTERS. Raises
    InputError for level or lengths.
    """
    if not 0 < level < 1:
        raise InputError(f"a confidence level must lie between 0 and 1; got {level}")
    if len(x) != len(y):
        raise InputError(f"expected one competence per alignment; got {len(x)} and {len(y)} values")
    points = np.stack([x, y])
    sound = np.isfinite(points).all(axis=0)
    points, kin = points[:, sound], relatives(clusters, sound)
    if reason := _reason_against(points) or too_few_clusters(kin):
        no, no_band = np.nan, pd.DataFrame(columns=list(BAND), dtype=float)
        return Fit(points.shape[1], level, no, no, no, no, no, _tabled(points), no_band, reason)
    fit = _fit(points[0], points[1], level)
    return fit if kin is None else _clustered(fit, points, kin)


def relatives(
    clusters: Clusters, kept: Bool[np.ndarray, " n"]
) -> Int64[np.ndarray, " kept"] | None:
    """Return the clusters of the models that are kept as numbers, None where no two are of one."""
    if clusters is None:
        return None
    numbers, names = pd.factorize(np.asarray(clusters, dtype=object)[kept])
    return None if len(names) == len(numbers) else numbers.astype(np.int64)


def too_few_clusters(clusters: Int64[np.ndarray, " n"] | None) -> str:
    """Return why nothing is tested over so few clusters, "" where there are enough."""
    if clusters is None or (count := len(np.unique(clusters))) >= LEAST_CLUSTERS:
        return ""
    families = "family" if count == 1 else "families"
    return (
        f"a test needs models of {LEAST_CLUSTERS} families, whose sizes count once; there are"
        f" {len(clusters)} of {count} {families}"
    )


def clustered_p(
    x: Float64[np.ndarray, " n"],
    y: Float64[np.ndarray, " n"],
    clusters: Int64[np.ndarray, " n"],
    *,
    control: Float64[np.ndarray, " n"] | None = None,
    seed: int = 0,
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


LEAST_CLUSTERS = 3  # families, or lines of a side; of two no spread is known


EXCHANGES = 1999


LEAST_MODELS = 5  # of fewer, even a perfect order of ranks has p > 0.05: 2 of 4! orders are 0.083


MOST_EXACT = 8  # 8! = 40,320 orders are counted at once


GRID = 50  # points of a band


BAND = ("x", "fit", "low", "high")


def _tabled(points: Float64[np.ndarray, "2 n"]) -> pd.DataFrame:
    return pd.DataFrame({"x": points[0], "y": points[1]})


def _reason_against(points: Float64[np.ndarray, "2 n"]) -> str:
    if points.shape[1] < LEAST_MODELS:
        return (
            f"a fit needs at least {LEAST_MODELS} models with both values; there are"
            f" {points.shape[1]}"
        )
    for values, name in zip(points, ("competence", "alignment"), strict=True):
        if (values == values[0]).all():
            return f"all {len(values)} models have the same {name}"
    return ""


def _fit(x: Float64[np.ndarray, "n"], y: Float64[np.ndarray, "n"], level: float) -> Fit:
    from scipy.special import stdtrit  # scipy.stats would take half a second of the first plot

    n, middle = len(x), x.mean()
    spread = ((x - middle) ** 2).sum()
    slope = ((x - middle) * (y - y.mean())).sum() / spread
    intercept = y.mean() - slope * middle
    errors = ((y - intercept - slope * x) ** 2).sum()
    at = np.linspace(x.min(), x.max(), GRID)
    fit = intercept + slope * at
    half = stdtrit(n - 2, (1 + level) / 2) * np.sqrt(
        errors / (n - 2) * (1 / n + (at - middle) ** 2 / spread)
    )
    band = pd.DataFrame(dict(zip(BAND, (at, fit, fit - half, fit + half), strict=True)))
    r2 = 1 - errors / ((y - y.mean()) ** 2).sum()
    line = float(slope), float(intercept), float(r2)
    return Fit(n, level, *line, *_spearman(x, y), _tabled(np.stack([x, y])), band)


def _clustered(
    fit: Fit, points: Float64[np.ndarray, "2 n"], clusters: Int64[np.ndarray, " n"]
) -> Fit:
    """Return a fit with p and band as of models of which some are relatives."""
    at = fit.band["x"].to_numpy()
    without = []
    for one in np.unique(clusters):
        x, y = points[:, clusters != one]
        slope = np.polyfit(x, y, 1) if np.ptp(x) else np.full(2, np.nan)
        without.append(np.polyval(slope, at))
    low, high = jackknife(
        fit.band["fit"].to_numpy(), np.array(without), freedom=len(without) - 1, level=fit.level
    )
    x, y = (pd.Series(values).rank().to_numpy() for values in points)
    return replace(fit, p=clustered_p(x, y, clusters), band=fit.band.assign(low=low, high=high))


def _spearman(x: Float64[np.ndarray, "n"], y: Float64[np.ndarray, "n"]) -> tuple[float, float]:
    """Return the rank correlation and its two-sided p-value."""
    n = len(x)
    ranks_x, ranks_y = (pd.Series(one).rank().to_numpy() - (n + 1) / 2 for one in (x, y))
    rho = float(np.corrcoef(ranks_x, ranks_y)[0, 1])
    if n > MOST_EXACT:
        return rho, _p_of(rho, n)
    orders = np.array(list(permutations(range(n))))
    # ours, not scipy.stats.permutation_test, which counts ties by a tolerance and takes longer:
    # ranks are halves and their products quarters, so these sums are exact and ties with the
    # observed one are counted
    extreme = np.abs(ranks_y[orders] @ ranks_x) >= abs(ranks_y @ ranks_x)
    return rho, float(extreme.mean())


def _p_of(rho: float, n: int) -> float:
    """Return the two-sided p of a rank correlation by Student's t."""
    from scipy.special import stdtr

    if abs(rho) >= 1:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(rho) * np.sqrt((n - 2) / (1 - rho * rho))))
