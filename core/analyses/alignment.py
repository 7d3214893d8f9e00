"""How aligned models are, and how alignment goes with competence: from neighbors that were found once per space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int32

from core.errors import InputError, MetricError, UnknownNameError
from core.metrics.inputs import check_k
from core.pairs.overlap import overlaps

LEAST_POINTS = 3  # two points lie on a line exactly, which says nothing
MOST_EXACT = 8  # 8! = 40,320 orders are counted at once
GRID = 50  # points of a band
BAND = ("x", "fit", "low", "high")


def chance(*, k: int, n: int) -> float:
    """Return the mean mutual kNN of unrelated spaces, k/(n − 1): each other stimulus is a neighbor with equal probability.

    It holds for one pair of layers; the best of many pairs lies a little above it. Raises MetricError for k outside 1 … n − 1.
    """
    check_k(k, n)
    return k / (n - 1)


def align(neighbors: Mapping[str, Int32[np.ndarray, "_ n _"]], *, x: Sequence[str], y: Sequence[str], k: int) -> pd.DataFrame:
    """Align every model of x with every model of y, in that order; each row holds the best pair of layers.

    neighbors: (layers, n, kept) of each model, most similar first; a layer of -1 has none and is passed over.
    Returns model_x, model_y, layer_x, layer_y (counted from 0), score in [0, 1], chance (of one pair of layers), n, k. Of equal
    pairs the lowest layer of x wins, then the lowest of y.
    Raises UnknownNameError for a model without neighbors; MetricError for k outside what was kept, or where no layer has any.
    """
    for name in (*x, *y):
        if name not in neighbors:
            raise UnknownNameError("model", name, neighbors)
    rows = []
    for a in x:
        for b in y:
            layer_x, layer_y, score = best_layers(overlaps(neighbors[a], neighbors[b], k=k))
            n = neighbors[a].shape[1]
            rows.append((a, b, layer_x, layer_y, score, chance(k=k, n=n), n, k))
    return pd.DataFrame(rows, columns=["model_x", "model_y", "layer_x", "layer_y", "score", "chance", "n", "k"])


def best_layers(scores: Float64[np.ndarray, "Lx Ly"]) -> tuple[int, int, float]:
    """Return the first highest entry by row, then column, and its value; NaN is never the best.

    Raises MetricError where every entry is NaN.
    """
    if np.isnan(scores).all():
        raise MetricError("no pair of layers can be compared: in one of the models every layer is degenerate; leave it out")
    row, column = np.unravel_index(np.nanargmax(scores), scores.shape)
    return int(row), int(column), float(scores[row, column])


@dataclass(frozen=True)
class Fit:
    """A least-squares line and what it is worth; every number is NaN where `reason` says why.

    n: points used. level: of the band. p: two-sided, of the Spearman correlation. band: x, fit, low, high over the range of x: the
    line and the confidence band of the mean; empty with a reason.
    """

    n: int
    level: float
    slope: float
    intercept: float
    r2: float
    spearman: float
    p: float
    band: pd.DataFrame
    reason: str = ""


def competence_fit(x: Float64[np.ndarray, "n"], y: Float64[np.ndarray, "m"], *, level: float = 0.95) -> Fit:
    """Fit y = slope · x + intercept by least squares.

    Band at x₀: ŷ ± t · s · √(1/n + (x₀ − x̄)² / Σ(x − x̄)²), where s² = SSE/(n − 2) and t is the (1 + level)/2 quantile of
    Student's t at n − 2 degrees of freedom. R² = 1 − SSE/SST. Spearman's p is exact up to 8 points (over all orders), above that by
    the t approximation.
    x, y: one value per model; points with a NaN are left out. level: in (0, 1).
    NaN with a reason below three points and for constant x or y. Raises InputError for level or lengths.
    """
    if not 0 < level < 1:
        raise InputError(f"a confidence level must lie between 0 and 1; given {level}")
    if len(x) != len(y):
        raise InputError(f"one competence per alignment expected; given {len(x)} and {len(y)} values")
    points = np.stack([x, y])
    points = points[:, np.isfinite(points).all(axis=0)]
    if reason := _reason_against(points):
        none = np.nan
        return Fit(points.shape[1], level, none, none, none, none, none, pd.DataFrame(columns=list(BAND), dtype=float), reason)
    return _fit(points[0], points[1], level)


def _reason_against(points: Float64[np.ndarray, "2 n"]) -> str:
    if points.shape[1] < LEAST_POINTS:
        return f"a fit needs at least {LEAST_POINTS} models with both values; there are {points.shape[1]}"
    for values, name in zip(points, ("competence", "alignment"), strict=True):
        if (values == values[0]).all():
            return f"all {len(values)} models have the same {name}"
    return ""


def _fit(x: Float64[np.ndarray, "n"], y: Float64[np.ndarray, "n"], level: float) -> Fit:
    from scipy import stats  # a third of a second that pages without a fit must not pay

    n, middle = len(x), x.mean()
    spread = ((x - middle) ** 2).sum()
    slope = ((x - middle) * (y - y.mean())).sum() / spread
    intercept = y.mean() - slope * middle
    errors = ((y - intercept - slope * x) ** 2).sum()
    at = np.linspace(x.min(), x.max(), GRID)
    fit = intercept + slope * at
    half = stats.t.ppf((1 + level) / 2, n - 2) * np.sqrt(errors / (n - 2) * (1 / n + (at - middle) ** 2 / spread))
    band = pd.DataFrame(dict(zip(BAND, (at, fit, fit - half, fit + half), strict=True)))
    r2 = 1 - errors / ((y - y.mean()) ** 2).sum()
    return Fit(n, level, float(slope), float(intercept), float(r2), *_spearman(x, y), band)


def _spearman(x: Float64[np.ndarray, "n"], y: Float64[np.ndarray, "n"]) -> tuple[float, float]:
    """Return the rank correlation and its two-sided p-value."""
    from scipy import stats

    rho, p = stats.spearmanr(x, y)
    if len(x) > MOST_EXACT:
        return float(rho), float(p)
    ranks_x, ranks_y = stats.rankdata(x) - (len(x) + 1) / 2, stats.rankdata(y) - (len(y) + 1) / 2
    orders = np.array(list(permutations(range(len(x)))))
    # ranks are halves and their products quarters, so these sums are exact and ties with the observed one are counted
    extreme = np.abs(ranks_y[orders] @ ranks_x) >= abs(ranks_y @ ranks_x)
    return float(rho), float(extreme.mean())
