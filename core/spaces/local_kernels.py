"""Local kernels: the similarities of each stimulus to its k nearest alone, as a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float64, Int32

from core.errors import MetricError
from core.spaces.kernels import check_length, check_unbiased
from core.spaces.neighbors import BLOCK_BYTES, nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

VARIANTS = ("paper", "released")


def local_kernel(space: Float[np.ndarray, "n d"], *, k: int, variant: str) -> csr_array:
    """Return an (n, n) matrix of the similarities of each stimulus i to its k nearest j, itself
    excluded.

    paper: ⟨xᵢ, xⱼ⟩ − (1/n) Σₗ ⟨xᵢ, xₗ⟩, the mean over all n stimuli, i included, scaled so that all
    squares sum to 1. released: ⟨xᵢ, xⱼ⟩. Raises MetricError for another variant, k outside 1 … n −
    1, degenerate spaces, where centering leaves nothing (paper), and for fewer than four stimuli
    (released).
    """
    from scipy.sparse import csr_array

    if variant not in VARIANTS:
        raise MetricError(f"the variant is {' or '.join(VARIANTS)}; got {variant}")
    n = len(space)
    neighbors = np.sort(nearest(space, k=k), axis=1)
    if variant == "paper":
        around = space.astype(np.float64) - space.mean(axis=0, dtype=np.float64)
        similar, whole = _similarities(space, around, neighbors)
        length = np.linalg.norm(similar)
        check_length(length, n, whole)
        local = similar / length
    else:
        check_unbiased(n)
        local, _ = _similarities(space, space.astype(np.float64), neighbors)
    return csr_array((local.ravel(), neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def _similarities(
    x: Float[np.ndarray, "n d"], y: Float64[np.ndarray, "n d"], near: Int32[np.ndarray, "n k"]
) -> tuple[Float64[np.ndarray, "n k"], float]:
    """Return ⟨xᵢ, yⱼ⟩ of each stimulus i with those near it, and the length of all ⟨xᵢ, yⱼ⟩
    together. In blocks, so that no matrix of all pairs is made.
    """
    n, squares = len(x), 0.0
    rows = max(1, BLOCK_BYTES // (8 * n))
    local = np.empty(near.shape)
    for start in range(0, n, rows):
        block = slice(start, start + rows)
        similar = x[block].astype(np.float64) @ y.T
        local[block] = np.take_along_axis(similar, near[block], axis=1)
        squares += float(np.vdot(similar, similar))
    return local, float(np.sqrt(squares))
