"""Which of many p-values are discoveries, when a share of the discoveries may be false."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from core.errors import InputError


def adjust(p: Float64[np.ndarray, "m"]) -> Float64[np.ndarray, "m"]:
    """Adjust p-values for the false discovery rate: q₍ᵢ₎ = minⱼ≥ᵢ p₍ⱼ₎ · m / j, over p₍₁₎ ≤ … ≤
    p₍ₘ₎.

    Of all pairs with q ≤ α, at most a share α is aligned by chance, on average, where the tests are
    independent or positively dependent. p: in [0, 1]; NaN is no test, stays NaN and is not counted
    in m. Returns q in [p, 1], in the order of p. Raises InputError for a p outside [0, 1]. Source:
    Benjamini, Hochberg 1995, procedure (1); Benjamini, Yekutieli 2001, theorem 1.2 (dependence).
    """
    if (wrong := p[(p < 0) | (p > 1)]).size:
        raise InputError(f"p-values must lie in [0, 1]; got {wrong[0]:g}")
    from scipy.stats import false_discovery_control  # a third of a second

    tested, q = ~np.isnan(p), np.full(p.shape, np.nan)
    if tested.any():
        q[tested] = false_discovery_control(p[tested])
    return q
