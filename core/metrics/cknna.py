"""Centered kernel nearest-neighbor alignment: CKA restricted to pairs of stimuli that are neighbors
in both spaces.

Per space: `core.spaces.local_kernels.local_kernel`. Per pair: `compare_centered` or
`compare_masked`, which touch only the n · k entries of each.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from core.errors import MetricError
from core.metrics.spec import NEIGHBORS, AnyEngine, Metric, MetricSpec
from core.pairs.local import CenteredLocal
from core.pairs.parts import EachPair, reorder_both
from core.spaces.kernels import ROUNDING
from core.spaces.local_kernels import VARIANTS, local_kernel

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array


def compare_centered(x: csr_array, y: csr_array) -> float:
    """Sum the products of two local kernels (variant "paper") over the pairs that are neighbors in
    both: the alignment.
    """
    return float(x.multiply(y).sum())


def compare_masked(x: csr_array, y: csr_array) -> float:
    """Compare two local kernels (variant "released") by the unbiased HSIC of what is left of them
    on common neighbors.

    Raises MetricError where the HSIC of either with itself is not positive beyond rounding; small k
    and few stimuli can make it so.
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
    neighbor.

    The estimator is tr(XY) + ΣX ΣY / ((n − 1)(n − 2)) − 2 · 1ᵀXY1 / (n − 2) for kernels without a
    diagonal. Masks are not symmetric: the trace is over reciprocal pairs alone, and the last term
    depends on which space comes first.
    """
    n = x.shape[0]
    x, y = x.multiply(_pattern(y)), y.multiply(_pattern(x))
    crossed = x.sum(axis=0) @ y.sum(axis=1)
    return float(
        x.multiply(y.T).sum() + x.sum() * y.sum() / ((n - 1) * (n - 2)) - 2 * crossed / (n - 2)
    )


def _pattern(kernel: csr_array) -> csr_array:
    """Return 1 for each neighbor, one of similarity 0 included."""
    pattern = kernel.copy()
    pattern.data[:] = 1
    return pattern


def cknna(
    x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, k: int, variant: str
) -> float:
    """Return the alignment of two kernels over the pairs that are neighbors in both: A(K, L) /
    √(A(K, K) A(L, L)).

    A(K, L) = Σᵢⱼ α(i, j) K̄ᵢⱼ L̄ᵢⱼ with K̄ᵢⱼ = Kᵢⱼ − (1/n) Σₗ Kᵢₗ, and α = 1 where j ≠ i is one of
    the k nearest of i in both spaces.

    x, y: spaces over the same stimuli, clamped and normalized by the caller. k: in 1 … n − 1.
    variant: "paper", as above, is the default: it lies in [−1, 1] by the Cauchy–Schwarz inequality,
    is symmetric, and centers a space in the same way whatever it is compared with. "released", for
    comparison with published numbers, takes A = HSICᵤ(α ∘ K, α ∘ L), as the paper's code does (less
    the 1e-6 that it adds to the denominator): it masks first, so that zeros are centered as if they
    were similarities; it counts reciprocal pairs alone, can exceed 1, and is not quite symmetric.

    At k = n − 1 "released" is unbiased CKA. "paper" is CKA there only in spaces whose mean is 0,
    and without the kernels' diagonals, although its authors expect CKA: centering rows alone leaves
    K̄ᵢⱼ ≠ K̄ⱼᵢ, so that Σᵢⱼ K̄ᵢⱼ L̄ᵢⱼ ≠ tr(K̄L̄).

    Higher is more aligned; without common neighbors "paper" is 0. Raises MetricError for k outside
    its range and degenerate spaces; in "released" also for fewer than four stimuli and where an
    HSIC under the root is not positive. Source: Huh et al. 2024, appendix A, and their released
    code.
    """
    local_x, local_y = (local_kernel(space, k=k, variant=variant) for space in (x, y))
    return (
        compare_centered(local_x, local_y)
        if variant == "paper"
        else compare_masked(local_x, local_y)
    )


def _engine(*, k: int, variant: str) -> AnyEngine:
    if variant == "paper":
        return CenteredLocal(k)
    return EachPair(partial(local_kernel, k=k, variant=variant), compare_masked, reorder_both)


def _on_torch(device: torch.device, *, k: int, variant: str) -> AnyEngine:
    from core.pairs.on_torch import TorchLocal  # seconds of torch

    if variant != "paper":
        raise MetricError(
            f"on a GPU cknna has the variant paper alone; for {variant} use device cpu or auto"
        )
    return TorchLocal(device, k)


CKNNA = Metric(
    MetricSpec(
        id="cknna",
        title="Centered kernel nearest-neighbor alignment",
        short="CKNNA",
        formula=(
            r"\frac{A(K, L)}{\sqrt{A(K, K)\,A(L, L)}}, \quad A(K, L) = \sum_{i,j} \alpha(i,"
            r" j)\,\bar{K}_{ij} \bar{L}_{ij}"
        ),
        range=(-1.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="local",
        order_alone=False,
        invariances=frozenset({"rotation", "isotropic_scaling"}),
        sees=(
            "Which stimuli are close together and how close they are, for pairs that are neighbors"
            " in both spaces."
        ),
        misses=(
            "Everything beyond the k neighbors; and a few stimuli with very similar neighbors can"
            " outweigh all others."
        ),
        defaults={"k": 10, "variant": "paper"},
        ranges={"k": NEIGHBORS},
        choices={"variant": VARIANTS},
        unbounded={"variant": "released"},
        reference=(
            "Huh, Cheung, Wang, Isola 2024, The Platonic Representation Hypothesis, appendix A"
        ),
    ),
    cknna,
    engine=_engine,
    on_torch=_on_torch,
)
