"""How many directions a space uses: measures of the simplicity of a representation."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Float64

from core.errors import MetricError


def effective_rank(space: Float32[np.ndarray, "n d"]) -> float:
    """Return the effective rank of a centered space: exp(−Σ pᵢ log pᵢ), pᵢ = σᵢ / Σ σ, σ its
    singular values.

    In [1, min(n − 1, d)]: 1 where all stimuli lie on a line, d where all directions matter alike.
    It does not change with rotation, offset or scale. Raises MetricError for a space in which all
    stimuli are equal. Source: Roy, Vetterli 2007, definition 1.
    """
    values = _singular_values(space)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def participation_ratio(space: Float32[np.ndarray, "n d"]) -> float:
    """Return the participation ratio of a centered space: (Σ λᵢ)² / Σ λᵢ², λ the variances along
    its principal directions.

    In [1, min(n − 1, d)], as `effective_rank`, with less weight on small directions. Raises
    MetricError for a space in which all stimuli are equal. Source: Gao et al. 2017, equation 5.
    """
    variances = _singular_values(space) ** 2
    return float(variances.sum() ** 2 / (variances**2).sum())


def _singular_values(space: Float32[np.ndarray, "n d"]) -> Float64[np.ndarray, " r"]:
    centered = space.astype(np.float64)
    centered -= centered.mean(0)
    values: np.ndarray = np.linalg.svd(centered, compute_uv=False)
    noise = values.max(initial=0) * max(space.shape) * np.finfo(np.float64).eps
    floor = np.abs(space).max(initial=0) * np.sqrt(space.size) * np.finfo(np.float32).eps
    if values.max(initial=0) <= floor:
        raise MetricError("all stimuli lie at one point of this space, so it has no rank")
    kept: np.ndarray = values[values > noise]
    return kept
