"""Local kernels: the similarities of each stimulus to its k nearest alone, as a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from core.errors import MetricError
from core.spaces.kernels import check_unbiased, of_length_one
from core.spaces.neighbors import nearest

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
        raise MetricError(f"the variant is {' or '.join(VARIANTS)}; given {variant}")
    n = len(space)
    neighbors = np.sort(nearest(space, k=k), axis=1)
    wide = space.astype(np.float64)
    if variant == "paper":
        similar = wide @ (wide - wide.mean(axis=0)).T
        local = of_length_one(np.take_along_axis(similar, neighbors, axis=1), similar)
    else:
        check_unbiased(n)
        local = np.take_along_axis(wide @ wide.T, neighbors, axis=1)
    return csr_array((local.ravel(), neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
