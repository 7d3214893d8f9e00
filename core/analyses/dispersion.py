"""Which stimuli models agree on: each stimulus's distance to the consensus, in one model and over models.

Source: the single-stimulus dispersion method (Generalized Procrustes), equations 1 and 2, and its supplements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from core.analyses.procrustes_consensus import Consensus, Space, generalized_procrustes
from core.errors import MetricError
from core.metrics.kernels import ROUNDING
from core.progress import Progress

SUMMARIES = ("mean", "pc1", "median", "trimmed")
TRIMMED = 0.25  # of the models, at each end

Residuals = Float64[np.ndarray, "n M"]
PerStimulus = Float64[np.ndarray, " n"]


class Summary(NamedTuple):
    """A stimulus's dispersion over models, four ways, and the share of the residuals' variance that lies along the first axis."""

    mean: PerStimulus
    pc1: PerStimulus
    median: PerStimulus
    trimmed: PerStimulus
    explained: float


class Relation(NamedTuple):
    """How two values of the same stimuli go together: correlations with their p-values, and the line of least squares."""

    n: int
    pearson: float
    pearson_low: float
    pearson_high: float
    pearson_p: float
    spearman: float
    spearman_p: float
    slope: float
    intercept: float


def residuals(consensus: Consensus) -> Residuals:
    """Return the distance of every stimulus to the consensus in each space: rᵢⱼ = ‖(NᵢTᵢ)ⱼ − Cⱼ‖.

    Spaces have Frobenius norm 1, so √n times a residual is in units of a typical stimulus's distance from the mean. Lower is more
    agreement; copies of one stimulus have equal residuals.
    """
    return np.stack([np.linalg.norm(turned - consensus.joint, axis=1) for turned in consensus.turned], axis=1)


def leave_one_out(
    spaces: Sequence[Space], *, centering: str = "features", report: Progress | None = None
) -> tuple[Residuals, Residuals]:
    """Compare each space with the consensus of the others alone.

    Returns a column per space left out: the mean residual of the others in their own consensus (their dispersion), and the
    residual of the space left out once it is turned onto that consensus (its deviation). It has no part in the former.
    Raises MetricError for fewer than three spaces, and as `generalized_procrustes`.
    """
    if len(spaces) < 3:
        raise MetricError(f"a consensus of the others needs at least three spaces; given {len(spaces)}: add a model")
    dispersions, deviations = [], []
    for left_out in range(len(spaces)):
        weights = np.ones(len(spaces))
        weights[left_out] = 0
        found = residuals(generalized_procrustes(spaces, centering=centering, weights=weights.tolist()))
        dispersions.append(np.delete(found, left_out, axis=1).mean(axis=1))
        deviations.append(found[:, left_out])
        if report:
            report(left_out + 1, len(spaces), "spaces left out of the consensus")
    return np.stack(dispersions, axis=1), np.stack(deviations, axis=1)


def summarize(residuals: Residuals) -> Summary:
    """Summarize each stimulus's residuals over models.

    mean: sensitive to one odd model. pc1: the score on the first principal axis of the residuals around each model's own mean, its
    sign such that it grows with the mean; it passes over an odd model only where that one's residuals vary less than what the
    others share, and else follows it. median; trimmed: the mean without the lowest and highest quarter of the models, rounded
    down, so that it is the mean of two or three models and the median of four. explained: the first axis's share of the variance.
    pc1 and explained are NaN where all spaces are one space turned, so that residuals are rounding.
    """
    from scipy.stats import trim_mean

    mean = residuals.mean(axis=1)
    pc1, explained = _first_axis(residuals, mean)
    return Summary(mean, pc1, np.median(residuals, axis=1), trim_mean(residuals, TRIMMED, axis=1), explained)


def _first_axis(residuals: Residuals, mean: PerStimulus) -> tuple[PerStimulus, float]:
    if np.linalg.norm(residuals) <= np.sqrt(residuals.shape[1]) * ROUNDING:  # spaces have norm 1
        return np.full(len(residuals), np.nan), np.nan
    left, sizes, _ = np.linalg.svd(residuals - residuals.mean(axis=0), full_matrices=False)
    if sizes[0] == 0:  # every stimulus is as dispersed as the next
        return np.full(len(residuals), np.nan), np.nan
    scores = left[:, 0] * sizes[0]
    return scores * (1 if scores @ (mean - mean.mean()) >= 0 else -1), float(sizes[0] ** 2 / (sizes**2).sum())


def relate(x: PerStimulus, y: PerStimulus) -> Relation:
    """Correlate two values of the same stimuli, and fit y = slope · x + intercept.

    The interval of Pearson's r is Fisher's, at 95 %; the p-values are two-sided; all take stimuli as independent, which a common
    consensus makes them only nearly.
    Raises MetricError for fewer than four stimuli and where either value is the same everywhere.
    """
    from scipy.stats import linregress, pearsonr, spearmanr

    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise MetricError(f"a correlation needs at least four stimuli whose values differ; given {len(x)} stimuli")
    linear, ranked, line = pearsonr(x, y), spearmanr(x, y), linregress(x, y)
    low, high = linear.confidence_interval(0.95)
    figures = linear.statistic, low, high, linear.pvalue, ranked.statistic, ranked.pvalue, line.slope, line.intercept
    return Relation(len(x), *map(float, figures))
