"""Straight lines of one thing over another, with their interval."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import InputError


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
    x: Float64[np.ndarray, "n"], y: Float64[np.ndarray, "m"], *, level: float = 0.95
) -> Fit:
    """Fit y = slope · x + intercept by least squares.

    Band at x₀: ŷ ± t · s · √(1/n + (x₀ − x̄)² / Σ(x − x̄)²), where s² = SSE/(n − 2) and t is the (1
    + level)/2 quantile of Student's t at n − 2 degrees of freedom. R² = 1 − SSE/SST. Spearman's p
    is exact up to 8 points (over all orders), above that by the t approximation. x, y: one value
    per model; points with a NaN are left out. level: in (0, 1). NaN with a reason below
    LEAST_MODELS points and for constant x or y. Raises InputError for level or lengths.
    """
    if not 0 < level < 1:
        raise InputError(f"a confidence level must lie between 0 and 1; got {level}")
    if len(x) != len(y):
        raise InputError(f"expected one competence per alignment; got {len(x)} and {len(y)} values")
    points = np.stack([x, y])
    points = points[:, np.isfinite(points).all(axis=0)]
    if reason := _reason_against(points):
        no, no_band = np.nan, pd.DataFrame(columns=list(BAND), dtype=float)
        return Fit(points.shape[1], level, no, no, no, no, no, _tabled(points), no_band, reason)
    return _fit(points[0], points[1], level)


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
