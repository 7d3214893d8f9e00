"""CKA on many halves of the stimuli at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Float64

from core.machine.memory import check_memory
from core.spaces.kernels import ROUNDING, centered, check_unbiased, linear, u_centered


def halves_of_spaces(
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "n dy"],
    halves: Bool[np.ndarray, "count n"],
    *,
    unbiased: bool,
) -> Float64[np.ndarray, " count"]:
    """Return linear CKA of two spaces on every half, as `cka_of_halves` of their kernels."""
    return cka_of_halves(linear(x), linear(y), halves, unbiased=unbiased)


def cka_of_halves(
    x: Float64[np.ndarray, "n n"],
    y: Float64[np.ndarray, "n n"],
    halves: Bool[np.ndarray, "count n"],
    *,
    unbiased: bool,
) -> Float64[np.ndarray, "count"]:
    """Return CKA on every half: HSIC(K, L) / √(HSIC(K, K) · HSIC(L, L)).

    x, y: kernels of one layer each, centered or not. unbiased: HSIC as in `unbiased_cka`, else as
    in `cka`. NaN where a half's similarities are all equal. Raises MetricError where those of all
    stimuli are, and where unbiased for halves of fewer than four.
    """
    if unbiased:
        check_unbiased(int(halves.sum(axis=1).min()))
    center = (
        u_centered if unbiased else centered
    )  # over all stimuli: no half's HSIC changes, and digits are saved
    x, y = center(x), center(y)
    check_memory(
        8 * 8 * halves.size,  # about eight arrays of a number for each stimulus and half
        f"{len(halves):,} halves of {len(x):,} stimuli",
        "ask for fewer",
    )
    weights = halves.T.astype(np.float64)
    xy, xx, yy = (_hsic(*pair, weights, unbiased=unbiased) for pair in ((x, y), (x, x), (y, y)))
    defined = np.minimum(xx, yy) > (len(x) * ROUNDING) ** 2  # of kernels of length 1
    return xy / np.sqrt(np.where(defined, xx * yy, np.nan))


def _hsic(
    x: Float64[np.ndarray, "n n"],
    y: Float64[np.ndarray, "n n"],
    weights: Float64[np.ndarray, "n count"],
    *,
    unbiased: bool,
) -> Float64[np.ndarray, "count"]:
    """Return tr(KHLH), or m(m − 3) times the unbiased HSIC, of the m stimuli with weight 1 in each
    column.

    Sums over a half are products with its weights, so all halves cost three matrix products.
    Source: Song et al. 2012, equation 5.
    """
    m = weights.sum(axis=0)
    rows, whole = (m - 2, (m - 1) * (m - 2)) if unbiased else (m, m**2)
    sums_x, sums_y = x @ weights, y @ weights
    pairs = (weights * ((x * y) @ weights)).sum(axis=0)
    chains = (weights * sums_x * sums_y).sum(axis=0)
    hsic: np.ndarray = (
        pairs
        - 2 * chains / rows
        + (weights * sums_x).sum(axis=0) * (weights * sums_y).sum(axis=0) / whole
    )
    return hsic
