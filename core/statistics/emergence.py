"""Does one thing grow with another all along, or only from a point on? A line against a broken
stick, judged on points left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64

from core.errors import InputError

LEAST = 6  # points: a stick has four numbers, and one point is left out
DISTINCT = 5  # different x
ROUNDING = 1e-9  # of the range of y, below which an error on a point left out is none
COLUMNS = (
    *("fit", "parameters", "points", "cv_rmse", "cv_r2", "gain", "gain_se"),
    *("intercept", "slope", "bend", "knot", "reason"),
)

Points = Float64[np.ndarray, " n"]


@dataclass(frozen=True)
class Stick:
    """y = intercept + slope · x + bend · max(0, x − knot); a line has the bend 0 and no knot."""

    intercept: float
    slope: float
    bend: float = 0.0
    knot: float = np.nan

    def at(self, x: Float[np.ndarray, " n"]) -> Points:
        line = self.intercept + self.slope * x
        return line + self.bend * np.maximum(0.0, x - self.knot) if self.bend else line


Fit = Callable[[Points, Points], Stick]


def fit_line(x: Points, y: Points) -> Stick:
    """Fit y = intercept + slope · x by least squares; raises InputError if x is constant."""
    if not len(x) or np.ptp(x) == 0:
        raise InputError("a line needs two different x")
    slope = (x - x.mean()) @ y / ((x - x.mean()) ** 2).sum()
    return Stick(float(y.mean() - slope * x.mean()), float(slope))


def fit_stick(x: Points, y: Points) -> Stick:
    """Fit the broken stick with the least squared error of all: continuous, one knot, between the
    second and the last but one x.

    The best knot is a point, or where the lines through both sides cross between their nearest
    points; of equally good ones the first. Raises InputError for fewer than four different x.
    Source: Hudson 1966.
    """
    places = np.unique(x)
    if len(places) < 4:
        raise InputError(f"a broken stick needs four different x; got {len(places)}")
    fits = []
    for knot in np.sort([*places[1:-1], *_crossings(x, y, places)]):
        design = np.stack([np.ones_like(x), x, np.maximum(0.0, x - knot)], axis=1)
        numbers = np.linalg.lstsq(design, y, rcond=None)[0]
        fits.append((((y - design @ numbers) ** 2).sum(), knot, numbers))
    least = min(error for error, *_ in fits) + ROUNDING**2 * np.ptp(y) ** 2
    knot, numbers = next((knot, numbers) for error, knot, numbers in fits if error <= least)
    intercept, slope, bend = map(float, numbers)
    return Stick(intercept, slope, bend, float(knot))


def left_out_errors(fit: Fit, x: Points, y: Points) -> Points:
    others = ~np.eye(len(x), dtype=bool)
    return np.array(
        [y[i] - fit(x[others[i]], y[others[i]]).at(x[i : i + 1])[0] for i in range(len(x))]
    )


def compare_fits(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " m"]) -> pd.DataFrame:
    """Return how well a line and a broken stick predict points left out, a row for each.

    cv_rmse: the root of the mean squared error. cv_r2: 1 − Σ error² / Σ error² of the others' mean.
    gain: the line's squared error minus the fit's own, and gain_se its standard error, sd/√n. Of
    lines with noise, one in twenty has a gain above its standard error. The other columns describe
    the fit to all points. NaN, with the reason, below 6 points, 5 different x, and for constant y.
    Source: Huh et al. 2024, figure 4 (the question); Stone 1974 (leaving one out).
    """
    if len(x) != len(y):
        raise InputError(f"expected one y for each x; got {len(x)} and {len(y)} values")
    sound = np.isfinite(x) & np.isfinite(y)
    x, y = x[sound].astype(np.float64), y[sound].astype(np.float64)
    reason, line_errors = _reason_against(x, y), np.zeros(0)
    fits: tuple[tuple[str, int, Fit], ...] = ("line", 2, fit_line), ("broken stick", 4, fit_stick)
    rows = []
    for name, size, fit in fits:
        numbers = [np.nan] * 8
        if not reason:
            errors = left_out_errors(fit, x, y)
            errors = np.where(np.abs(errors) > ROUNDING * np.ptp(y), errors**2, 0.0)
            line_errors = errors if name == "line" else line_errors
            means = (y - y.mean()) * len(y) / (len(y) - 1)  # y minus the mean of the others
            gains, found = line_errors - errors, fit(x, y)
            worth = np.sqrt(errors.mean()), 1 - errors.sum() / (means @ means), gains.mean()
            shape = found.intercept, found.slope, found.bend, found.knot
            numbers = [*worth, gains.std(ddof=1) / np.sqrt(len(y)), *shape]
        rows.append((name, size, len(x), *numbers, reason))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _reason_against(x: Points, y: Points) -> str:
    if len(x) < LEAST:
        return (
            f"a comparison of fits needs at least {LEAST} models with both values; there are"
            f" {len(x)}"
        )
    if (different := len(np.unique(x))) < DISTINCT:
        return f"a broken stick needs {DISTINCT} different x; there are {different}"
    return f"all {len(y)} models have the same value" if np.ptp(y) == 0 else ""


def _crossings(x: Points, y: Points, places: Float64[np.ndarray, " places"]) -> list[float]:
    """Return where the best lines up to a place and beyond it cross, if between the two."""
    crossings = []
    for last, first in pairwise(places[1:-1]):
        left, right = fit_line(x[x <= last], y[x <= last]), fit_line(x[x >= first], y[x >= first])
        if left.slope != right.slope:
            cross = (right.intercept - left.intercept) / (left.slope - right.slope)
            crossings += [cross] if last < cross < first else []
    return crossings
