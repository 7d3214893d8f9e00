"""Whether two measures of the same pairs of models go together, though pairs share their models."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.statistics.correlations import FEWEST, Correlation
from core.statistics.trends import exchange, jackknife

Matrix = Float64[np.ndarray, "m m"]


def correlate_pairs(
    x: Matrix, y: Matrix, groups: Float64[np.ndarray, " m"], *, draws: int = 999, seed: int = 0
) -> Correlation:
    """Return Spearman's ρ of two symmetric matrices over their pairs, with its interval and p.

    x, y: NaN for pairs that do not count. groups: numbers; models of one are left out together, as
    the seeds of a recipe are. Interval: jackknife over groups, cut off at ±1. p: two-sided, of
    random renamings of the models of one matrix, groups as wholes, (1 + #{|ρ| ≥}) / (1 + draws). n
    counts models; NaN with a reason below six groups and where either is constant. Source: Mantel
    1967.
    """
    count, members = len(x), np.unique(groups)
    rho = _rho(x, y)
    if len(members) < FEWEST or not np.isfinite(rho):
        reason = (
            "all pairs have the same value"
            if len(members) >= FEWEST
            else f"at least {FEWEST} recipes with pairs expected; there are {len(members)}"
        )
        return Correlation(np.nan, np.nan, np.nan, np.nan, count, reason)
    orders = exchange(groups.astype(np.int64), draws=draws, seed=seed)
    reached = sum(abs(_rho(x[np.ix_(one, one)], y)) >= abs(rho) - 1e-12 for one in orders)
    kept = [groups != one for one in members]
    without = np.array([_rho(x[np.ix_(one, one)], y[np.ix_(one, one)]) for one in kept])
    low, high = np.clip(jackknife(rho, without, freedom=len(members) - 1), -1, 1)
    return Correlation(rho, float(low), float(high), (1 + reached) / (1 + draws), count)


def _rho(x: Matrix, y: Matrix) -> float:
    upper = np.triu_indices(len(x), 1)
    pairs = pd.DataFrame({"x": x[upper], "y": y[upper]}).dropna()
    if len(pairs) < 3 or pairs.nunique().min() < 2:
        return np.nan
    return float(pairs["x"].rank().corr(pairs["y"].rank()))
