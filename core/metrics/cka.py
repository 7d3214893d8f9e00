"""Kernel alignment: each space becomes one centered kernel of length 1, and two are compared by one
inner product; CKNNA restricts it to pairs of stimuli that are neighbors in both spaces.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Float64

from core.errors import MetricError
from core.machine.memory import check_memory
from core.metrics.spec import (
    SPECS,
    AnyEngine,
    Chance,
    CpuEngine,
    Metric,
    PairChance,
)
from core.pairs.engine import EachPair, PairRows, Sums, streamed, triangle
from core.pairs.subsets import CenteredLocal
from core.spaces.kernels import (
    ROUNDING,
    centered,
    check_length,
    check_unbiased,
    linear,
    local_kernel,
    rbf,
    u_centered,
)
from core.spaces.preprocess import check_space

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array


def cka_of_sums(sums: Sums) -> float:
    """Return linear CKA from products of features: ‖XᵀY‖² / (‖XᵀX‖ ‖YᵀY‖), X and Y centered
    (Kornblith et al. 2019, equation 4).
    """
    xx, xy, yy = map(np.linalg.norm, sums.blocks)
    return float((xy / xx) * (xy / yy))


def unbiased_cka_of_sums(sums: Sums) -> float:
    """Return unbiased linear CKA from products of features and squared lengths.

    With K = XXᵀ of centered X, whose rows sum to 0, n(n − 3) HSIC₁(K, L) = ‖XᵀY‖² + tr(K)tr(L) /
    ((n − 1)(n − 2)) − n/(n − 2) Σ kᵢᵢlᵢᵢ. Raises MetricError as `u_centered`. Source: Song et al.
    2012, equation 5.
    """
    n, (xx, xy, yy) = sums.total.n, sums.blocks
    check_unbiased(n)
    own_x, both, own_y = (
        np.linalg.norm(block) ** 2
        + np.trace(one) * np.trace(other) / ((n - 1) * (n - 2))
        - length * n / (n - 2)
        for block, one, other, length in zip(
            (xx, xy, yy), (xx, xx, yy), (xx, yy, yy), sums.lengths, strict=True
        )
    )
    for own, block in ((own_x, xx), (own_y, yy)):
        check_length(np.sqrt(max(own, 0)), n, np.linalg.norm(block))
    return float(both / (np.sqrt(own_x) * np.sqrt(own_y)))


def cka_chance(round_x: float, round_y: float, *, n: int) -> float:
    """Return the mean of biased linear CKA over all permutations of y's stimuli: tr(Kc) · tr(Lc) /
    ((n − 1) · ‖Kc‖ · ‖Lc‖), Kc and Lc centered; round_x, round_y: the `roundness` of each space.
    """
    return round_x * round_y / (n - 1)


def roundness(space: Float[np.ndarray, "n d"]) -> float:
    """Return tr(Kc) / ‖Kc‖ of the centered linear kernel, in [1, √(n − 1)]."""
    check_space(space)
    centered = space.astype(np.float64)
    centered -= centered.mean(axis=0)
    narrow = centered.shape[1] < len(centered)
    small = centered.T @ centered if narrow else centered @ centered.T
    return float(np.trace(small) / np.linalg.norm(small))


def _kernels_on_torch(device: torch.device, *, center: str) -> AnyEngine:
    from core.pairs import on_torch  # seconds of torch

    return on_torch.TorchKernels(device, getattr(on_torch, center))


def cka_of_halves(
    x: Float64[np.ndarray, "n n"],
    y: Float64[np.ndarray, "n n"],
    halves: Bool[np.ndarray, "count n"],
    *,
    unbiased: bool,
) -> Float64[np.ndarray, "count"]:
    """Return CKA on every half, NaN if a half's similarities are all equal. x, y: kernels."""
    if unbiased:
        check_unbiased(int(halves.sum(axis=1).min()))
    # over all stimuli: no half's HSIC changes, and digits are saved
    x, y = map(u_centered if unbiased else centered, (x, y))
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
    column: sums over a half are products with its weights. Source: Song et al. 2012, equation 5.
    """
    m = weights.sum(axis=0)
    rows, whole = (m - 2, (m - 1) * (m - 2)) if unbiased else (m, m**2)
    sums_x, sums_y = x @ weights, y @ weights
    pairs = (weights * ((x * y) @ weights)).sum(axis=0)
    chains = (weights * sums_x * sums_y).sum(axis=0)
    ends = (weights * sums_x).sum(axis=0) * (weights * sums_y).sum(axis=0)
    hsic: np.ndarray = pairs - 2 * chains / rows + ends / whole
    return hsic


CKA = Metric(
    SPECS["cka"],
    engine=lambda: PairRows(lambda x: triangle(centered(linear(x)), diagonal=True)),
    every_pair=True,
    streamed=lambda: streamed(cka_of_sums),
    on_torch=partial(_kernels_on_torch, center="centered"),
    pair_chance=PairChance(roundness, cka_chance),
    halves=lambda x, y, halves: cka_of_halves(linear(x), linear(y), halves, unbiased=False),
)

UNBIASED_CKA = Metric(
    SPECS["unbiased_cka"],
    engine=lambda: PairRows(lambda x: triangle(u_centered(linear(x)), diagonal=False)),
    every_pair=True,
    streamed=lambda: streamed(unbiased_cka_of_sums),
    on_torch=partial(_kernels_on_torch, center="u_centered"),
    attenuates=True,
    chance=Chance(lambda **_: 0.0, "0"),  # exactly its mean over all permutations
    halves=lambda x, y, halves: cka_of_halves(linear(x), linear(y), halves, unbiased=True),
)

RBF_CKA = Metric(
    SPECS["rbf_cka"],
    engine=lambda **width: PairRows(lambda x: triangle(centered(rbf(x, **width)), diagonal=True)),
    every_pair=True,
)


def compare_masked(x: csr_array, y: csr_array) -> float:
    """Compare two local kernels (variant "released") by the unbiased HSIC of what is left of them
    on common neighbors; raise MetricError if that of one with itself is not positive.
    """
    own = [_masked_hsic(kernel, kernel) for kernel in (x, y)]
    for kernel, value in zip((x, y), own, strict=True):
        if value <= kernel.shape[0] * ROUNDING**2 * (kernel.data @ kernel.data):
            raise MetricError(
                f"the local kernel of one space has an HSIC of {value:.3g} with itself, which has"
                " no root to divide by; choose another k, or the variant paper"
            )
    return _masked_hsic(x, y) / float(np.sqrt(own[0]) * np.sqrt(own[1]))


def _masked_hsic(x: csr_array, y: csr_array) -> float:
    """Return n(n − 3) times the unbiased HSIC of x and y, each with zeros where the other has no
    neighbor: tr(XY) + ΣX ΣY / ((n − 1)(n − 2)) − 2 · 1ᵀXY1 / (n − 2) for kernels without a
    diagonal. Masks are not symmetric: the trace is over reciprocal pairs alone, and the last term
    depends on which space comes first.
    """
    n, patterns = x.shape[0], [x.copy(), y.copy()]
    for pattern in patterns:  # 1 for each neighbor, one of similarity 0 included
        pattern.data[:] = 1
    x, y = x.multiply(patterns[1]), y.multiply(patterns[0])
    crossed = x.sum(axis=0) @ y.sum(axis=1)
    ends = x.sum() * y.sum() / ((n - 1) * (n - 2))
    return float(x.multiply(y.T).sum() + ends - 2 * crossed / (n - 2))


def _local_engine(*, k: int, variant: str) -> CpuEngine:
    if variant == "paper":
        return CenteredLocal(k)
    return EachPair(
        partial(local_kernel, k=k, variant=variant),
        compare_masked,
        lambda kernel, order: kernel[order][:, order],
    )


def _local_on_torch(device: torch.device, *, k: int, variant: str) -> AnyEngine:
    from core.pairs.on_torch import TorchLocal  # seconds of torch

    if variant != "paper":
        raise MetricError(
            f"on a GPU cknna has the variant paper alone; for {variant} use device cpu or auto"
        )
    return TorchLocal(device, k)


# K̄ᵢⱼ = Kᵢⱼ − (1/n) Σₗ Kᵢₗ, and α(i, j) = 1 if j ≠ i is one of the k nearest of i in both spaces.
# "paper", the default, lies in [−1, 1] by the Cauchy–Schwarz inequality, is symmetric, and is 0
# without common neighbors. "released", for comparison with published numbers, takes
# A = HSICᵤ(α ∘ K, α ∘ L), as the paper's code does (less the 1e-6 that it adds to the denominator):
# it masks first, so zeros are centered as if they were similarities; it counts reciprocal pairs
# alone, can exceed 1, and is not quite symmetric. At k = n − 1 "released" is unbiased CKA; "paper"
# is CKA there only in spaces of mean 0 and without the kernels' diagonals, since centering rows
# alone leaves K̄ᵢⱼ ≠ K̄ⱼᵢ, so that Σᵢⱼ K̄ᵢⱼ L̄ᵢⱼ ≠ tr(K̄L̄).
CKNNA = Metric(
    SPECS["cknna"],
    engine=_local_engine,
    on_torch=_local_on_torch,
)
