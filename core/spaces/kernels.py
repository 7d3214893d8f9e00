"""Kernels: a space as the similarities of all pairs of its stimuli, or of each with its nearest.

First a kernel (`linear`, `rbf`), then `centered` or `u_centered`, which also scale it to length 1.
All kernels are float64. What centering would remove is left out from the start, so that differences
keep all their digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float64, Int32, Int64

from core.errors import MetricError
from core.spaces.neighbors import BLOCK_BYTES, nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNITS = ("median", "feature")
VARIANTS = ("paper", "released")
FEWEST_UNBIASED = 4
ROUNDING = float(np.finfo(np.float32).eps)  # of features: structure below it is no model's


def linear(space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n n"]:
    """Return the inner products of all pairs of stimuli around their mean: ⟨xᵢ − x̄, xⱼ − x̄⟩."""
    around = space - space.mean(axis=0, dtype=np.float64)
    kernel: np.ndarray = around @ around.T
    return kernel


def rbf(
    space: Float[np.ndarray, "n d"], *, bandwidth: float, unit: str
) -> Float64[np.ndarray, "n n"]:
    """Return exp(−‖xᵢ − xⱼ‖² / 2σ²) − 1 of all pairs of stimuli; centering would remove the 1.

    bandwidth: σ as a multiple of the median distance between two stimuli (unit "median"), or in the
    features' own unit ("feature"). A wide kernel gives linear CKA. Raises MetricError for another
    unit, a bandwidth that is not positive and finite, a median of 0, and a σ so small that no
    stimulus resembles another.
    """
    products = linear(space)
    lengths = np.diagonal(products)
    # rounding leaves duplicates a little below 0
    squares = np.maximum(lengths[:, None] + lengths - 2 * products, 0)
    np.fill_diagonal(squares, 0)
    apart = squares[np.triu_indices(len(space), 1)]
    if unit not in UNITS:
        raise MetricError(f"the unit of a bandwidth is {' or '.join(UNITS)}; got {unit}")
    one = 1.0 if unit == "feature" else float(np.median(np.sqrt(apart)))
    if one == 0:
        raise MetricError(
            "half of all pairs are duplicates, so their median distance is 0; give the bandwidth in"
            " unit feature"
        )
    sigma = bandwidth * one
    twice = 2 * sigma * sigma
    if not (sigma > 0 and 0 < twice < np.inf):
        raise MetricError(
            f"expected a positive, finite width of the kernel; got bandwidth = {bandwidth}, which"
            f" makes it {sigma}"
        )
    if np.exp(-apart.min() / twice) < np.finfo(np.float64).eps:
        raise MetricError(
            f"a width of {sigma:.3g} leaves every stimulus similar to itself alone, since the"
            f" nearest two are {np.sqrt(apart.min()):.3g} apart; choose a larger bandwidth than"
            f" {bandwidth}"
        )
    kernel: np.ndarray = np.expm1(-squares / twice)
    return kernel


def centered(kernel: Float64[np.ndarray, "n n"]) -> Float64[np.ndarray, "n n"]:
    """Return HKH / ‖HKH‖, H = I − 11ᵀ/n. Raises MetricError if nothing is left but rounding."""
    means = kernel.mean(axis=1)
    return of_length_one(kernel - means[:, None] - means + means.mean(), kernel)


def u_centered(kernel: Float64[np.ndarray, "n n"]) -> Float64[np.ndarray, "n n"]:
    """Return the kernel centered as if it had no diagonal, of length 1; inner products of such
    kernels estimate HSIC without bias.

    K̃ᵢⱼ = Kᵢⱼ − Σₗ Kᵢₗ / (n − 2) − Σₗ Kₗⱼ / (n − 2) + Σₗₘ Kₗₘ / ((n − 1)(n − 2)) for i ≠ j over a
    diagonal of 0, and K̃ᵢᵢ = 0. Σ K̃ᵢⱼ L̃ᵢⱼ / (n(n − 3)) equals the estimator of Song et al. 2012
    (HSIC₁), so that a kernel's own is a sum of squares. Raises MetricError for fewer than four
    stimuli and if nothing is left but rounding. Source: Székely and Rizzo 2014, definition 2.
    """
    n = len(kernel)
    check_unbiased(n)
    off = kernel.copy()
    np.fill_diagonal(off, 0)
    means = off.sum(axis=1) / (n - 2)
    off += means.sum() / (n - 1) - means[:, None] - means
    np.fill_diagonal(off, 0)
    return of_length_one(off, kernel)


def of_length_one(
    rest: Float64[np.ndarray, "n _"], kernel: Float64[np.ndarray, "n n"]
) -> Float64[np.ndarray, "n _"]:
    """Scale what centering has left of a kernel to length 1; raises MetricError if that is no more
    than rounding: each ⟨xᵢ, xⱼ⟩ is off by at most eps ‖xᵢ‖ ‖xⱼ‖, all together by eps tr(K) ≤ eps √n
    ‖K‖.
    """
    length = np.linalg.norm(rest)
    check_length(length, len(kernel), np.linalg.norm(kernel))
    unit: np.ndarray = rest / length
    return unit


def check_length(length: float | np.floating, n: int, whole: float | np.floating) -> None:
    if length <= np.sqrt(n) * ROUNDING * whole:
        raise MetricError(
            "all similarities in this space are equal, so that centering leaves only rounding;"
            " choose another layer"
        )


def check_unbiased(n: int) -> None:
    if n < FEWEST_UNBIASED:
        raise MetricError(
            f"the unbiased estimator needs at least {FEWEST_UNBIASED} stimuli; got {n}"
        )


def local_kernel(space: Float[np.ndarray, "n d"], *, k: int, variant: str) -> csr_array:
    """Return an (n, n) matrix of the similarities of each stimulus i to its k nearest j, itself
    excluded.

    paper: ⟨xᵢ, xⱼ⟩ − (1/n) Σₗ ⟨xᵢ, xₗ⟩, the mean over all n stimuli, i included, scaled so that all
    squares sum to 1. released: ⟨xᵢ, xⱼ⟩. Raises MetricError for another variant, as `nearest`, if
    centering leaves nothing (paper), and for fewer than four stimuli (released).
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
    together, in blocks.
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


def order_alike(kernel: Float[np.ndarray, "n n"]) -> Int64[np.ndarray, "n"]:
    """Return an order in which items that are alike are adjacent. kernel: cosines or correlations.

    The leaves of average linkage of 1 − cosine, turned so that neighbors are as alike as they can
    be. Source: Sokal, Michener 1958; Bar-Joseph, Gifford, Jaakkola 2001 (order).
    """
    from scipy.cluster import hierarchy  # a third of a second
    from scipy.spatial import distance

    apart = np.clip(1 - (kernel + kernel.T) / 2, 0, None)
    np.fill_diagonal(apart, 0)
    condensed = distance.squareform(apart, checks=False)
    tree = hierarchy.linkage(condensed, method="average", optimal_ordering=True)
    return hierarchy.leaves_list(tree).astype(np.int64)
