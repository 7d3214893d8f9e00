"""The mean of a score over two samples that are crossed: every one of the one with every one of the
other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from core.statistics.intervals import LEVEL

ALONE = "either side takes at least two trainings"
ALIKE = "all scores are the same, so their spread is unknown"


@dataclass(frozen=True)
class CrossedMean:
    """A mean with its 95 % interval and the two-sided p of a t-test against a level; reason: why
    these are NaN.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    reason: str = ""


def crossed_mean(
    scores: Float64[np.ndarray, "a b"], *, level: float, fixed: bool = False
) -> CrossedMean:
    """Return the mean of all scores, and whether it differs from a level.

    Both sides are samples: what a row has in common, and what a column has, does not average out
    over the other side. The squared error is s²(row means)/a + s²(column means)/b, which counts
    what is left of the noise twice and so is a little too large; freedom by Satterthwaite. fixed:
    the columns are all there are and no sample. NaN for a side of one. Source: Owen 2007 (The
    pigeonhole bootstrap, section 3: variance of a mean of crossed random effects); Satterthwaite
    1946.
    """
    from scipy import stats  # a third of a second

    value = float(scores.mean()) if scores.size else math.nan
    sides = [scores.mean(axis=1)] if fixed else [scores.mean(axis=1), scores.mean(axis=0)]
    if min(map(len, sides)) < 2:
        return CrossedMean(value, reason=ALONE)
    parts = np.array([side.var(ddof=1) / len(side) for side in sides])
    if not parts.sum() > 0:
        return CrossedMean(value, reason=ALIKE)
    freedom = parts.sum() ** 2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True)
    )
    error = math.sqrt(parts.sum())
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * error
    p = float(2 * stats.t.sf(abs(value - level) / error, freedom))
    return CrossedMean(value, value - half, value + half, p)
