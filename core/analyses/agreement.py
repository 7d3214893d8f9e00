"""On which stimuli two models agree."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64


def shared_neighbors(x: Int32[np.ndarray, "n k"], y: Int32[np.ndarray, "n k"]) -> Int64[np.ndarray, "n"]:
    """Count the neighbors that two spaces share at each stimulus: |Aᵢ ∩ Bᵢ|, in 0 … k; the mean over k is their mutual kNN."""
    return np.array([np.intersect1d(a, b, assume_unique=True).size for a, b in zip(x, y, strict=True)], dtype=np.int64)
