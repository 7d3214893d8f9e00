"""What a metric gives on average for unrelated spaces, where a formula tells; elsewhere
`core.statistics.nulls` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from core.spaces.inputs import check_k, check_space


def known_chance(metric: str, *, n: int, **parameters: Any) -> float:
    """Return the chance level of a metric that needs no look at the spaces; NaN for the others."""
    if metric == "mutual_knn":
        return mutual_knn_chance(n=n, **parameters)
    if metric == "cycle_knn":
        return cycle_knn_chance(n=n, **parameters)
    return (
        0.0 if metric in ("unbiased_cka", "rsa") else np.nan
    )  # correlations: exactly their mean over all permutations


def mutual_knn_chance(*, k: int, n: int) -> float:
    """Return the mean mutual kNN of unrelated spaces, k/(n − 1): each other stimulus is a neighbor
    with equal probability.

    It holds for one pair of layers; the best of many pairs lies a little above it. Raises
    MetricError for k outside 1 … n − 1.
    """
    check_k(k, n)
    return k / (n - 1)


def cycle_knn_chance(*, k: int, n: int) -> float:
    """Return the share of stimuli that lie on a cycle by chance, about 1 − (1 − k/(n − 1))ᵏ: one of
    k random steps leads back.

    An approximation: it takes every stimulus to be a neighbor of k others, and the k steps to be
    independent. It is within 0.01 for Gaussian spaces of 3 to 1,000 dimensions (n of 256 and 1,024,
    k up to 50); where a few stimuli are neighbors of most others, chance is lower. Raises
    MetricError for k outside 1 … n − 1.
    """
    check_k(k, n)
    return 1 - (1 - k / (n - 1)) ** k


def cka_chance(round_x: float, round_y: float, *, n: int) -> float:
    """Return the mean of biased linear CKA over all permutations of y's stimuli: tr(Kc) · tr(Lc) /
    ((n − 1) · ‖Kc‖ · ‖Lc‖).

    Kc, Lc: the centered linear kernels. It is far above 0 where there are more dimensions than
    stimuli; unbiased CKA's is 0. round_x, round_y: the `roundness` of each space, over n stimuli.
    Range (0, 1].
    """
    return round_x * round_y / (n - 1)


def roundness(space: Float[np.ndarray, "n d"]) -> float:
    """Return tr(Kc) / ‖Kc‖, centered linear kernel: the root of the number of dimensions that the
    variance would fill evenly.

    Range [1, √(n − 1)]. Raises MetricError for a degenerate space.
    """
    check_space(space)
    centered = space.astype(np.float64)
    centered -= centered.mean(axis=0)
    small: Float64[np.ndarray, "m m"] = (
        centered.T @ centered if centered.shape[1] < len(centered) else centered @ centered.T
    )
    return float(np.trace(small) / np.linalg.norm(small))
