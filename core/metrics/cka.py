"""Kernel alignment: each space becomes one centered kernel of length 1, and two of those are
compared by one inner product.

Per space: a kernel of `core.spaces.kernels`, centered. Per pair: `cosine`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float64

from core.metrics.cka_halves import halves_of_spaces
from core.metrics.spec import AnyEngine, Chance, Metric, MetricSpec, PairChance
from core.options.ranges import Range
from core.pairs.rows import PairRows, triangle
from core.pairs.streamed import Sums, streamed
from core.spaces.inputs import check_space
from core.spaces.kernels import (
    UNITS,
    centered,
    check_length,
    check_unbiased,
    linear,
    rbf,
    u_centered,
)

if TYPE_CHECKING:
    import torch


def cosine(x: Float64[np.ndarray, "n n"], y: Float64[np.ndarray, "n n"]) -> float:
    """Compare two centered kernels of length 1: Σᵢⱼ xᵢⱼ yᵢⱼ, the HSIC of the two over the root of
    the product of their own.
    """
    return float(np.vdot(x, y))


def cka(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"]) -> float:
    """Return the linear centered kernel alignment: tr(KHLH) / √(tr(KHKH) tr(LHLH)), K = XXᵀ, L =
    YYᵀ.

    x, y: spaces over the same stimuli, clamped and normalized by the caller. Range [0, 1], higher
    is more aligned; chance is tr(HKH) tr(HLH) / ((n − 1) ‖HKH‖ ‖HLH‖), near 1 where dimensions
    outnumber stimuli. Raises MetricError for degenerate spaces. Source: Kornblith et al. 2019,
    equations 3 and 4; Huh et al. 2024, appendix A.
    """
    return cosine(centered(linear(x)), centered(linear(y)))


def unbiased_cka(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"]) -> float:
    """Return the linear centered kernel alignment with the unbiased estimator of HSIC in all three
    places.

    x, y: as for `cka`. Range [−1, 1], higher is more aligned; chance is 0 whatever the widths.
    Raises MetricError for fewer than four stimuli and degenerate spaces, also where all pairs are
    equally similar. Source: Song et al. 2012 (HSIC₁); Huh et al. 2024, appendix B.
    """
    return cosine(u_centered(linear(x)), u_centered(linear(y)))


def rbf_cka(
    x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, bandwidth: float, unit: str
) -> float:
    """Return the centered kernel alignment of Gaussian kernels, Kᵢⱼ = exp(−‖xᵢ − xⱼ‖² / 2σ²).

    x, y: as for `cka`. bandwidth, unit: σ, as for `rbf`; one width has one unit, so a relative and
    a fixed one cannot contradict. A wide kernel gives `cka`. Range [0, 1], higher is more aligned;
    chance grows as the kernel narrows. Raises MetricError for degenerate spaces and widths. Source:
    Kornblith et al. 2019, section 3.
    """
    kernels = (rbf(space, bandwidth=bandwidth, unit=unit) for space in (x, y))
    return cosine(*map(centered, kernels))


def cka_of_sums(sums: Sums) -> float:
    """Return linear CKA from products of features: ‖XᵀY‖² / (‖XᵀX‖ ‖YᵀY‖), X and Y centered,
    Frobenius norms.

    Range [0, 1], higher is more aligned. Source: Kornblith et al. 2019, equation 4.
    """
    xx, xy, yy = sums.blocks
    return float(
        (np.linalg.norm(xy) / np.linalg.norm(xx)) * (np.linalg.norm(xy) / np.linalg.norm(yy))
    )


def unbiased_cka_of_sums(sums: Sums) -> float:
    """Return unbiased linear CKA from products of features and squared lengths.

    With K = XXᵀ of centered X, whose rows sum to 0, n(n − 3) HSIC₁(K, L) = ‖XᵀY‖² + tr(K)tr(L) /
    ((n − 1)(n − 2)) − n/(n − 2) Σ kᵢᵢlᵢᵢ. Range [−1, 1], higher is more aligned. Raises MetricError
    for fewer than four stimuli and where all pairs are equally similar. Source: Song et al. 2012,
    equation 5.
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


def _unbiased_chance(*, n: int) -> float:  # noqa: ARG001
    return 0.0  # exactly its mean over all permutations


def _row(space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, " pairs"]:
    return triangle(centered(linear(space)), diagonal=True)


def _unbiased_row(space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, " pairs"]:
    return triangle(u_centered(linear(space)), diagonal=False)


def _rbf_row(
    space: Float[np.ndarray, "n d"], *, bandwidth: float, unit: str
) -> Float64[np.ndarray, " pairs"]:
    return triangle(centered(rbf(space, bandwidth=bandwidth, unit=unit)), diagonal=True)


def _cka_on_torch(device: torch.device) -> AnyEngine:
    from core.pairs import on_torch  # seconds of torch

    return on_torch.TorchKernels(device, on_torch.centered)


def _unbiased_on_torch(device: torch.device) -> AnyEngine:
    from core.pairs import on_torch  # seconds of torch

    return on_torch.TorchKernels(device, on_torch.u_centered)


CKA = Metric(
    MetricSpec(
        id="cka",
        title="Centered kernel alignment",
        short="CKA",
        formula=r"\frac{\mathrm{tr}(KHLH)}{\sqrt{\mathrm{tr}(KHKH)\,\mathrm{tr}(LHLH)}}",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        order_alone=False,
        invariances=frozenset({"rotation", "isotropic_scaling", "translation"}),
        sees=(
            "Whether the same pairs of stimuli are similar and dissimilar, far pairs as much as"
            " near ones."
        ),
        misses=(
            "Fine structure beside a few dominant directions; high by chance where dimensions"
            " outnumber stimuli."
        ),
        defaults={},
        reference=(
            "Kornblith, Norouzi, Lee, Hinton 2019, Similarity of Neural Network Representations"
            " Revisited, equations 3 and 4"
        ),
    ),
    cka,
    engine=lambda: PairRows(_row),
    every_pair=True,
    streamed=lambda: streamed(cka_of_sums),
    on_torch=_cka_on_torch,
    pair_chance=PairChance(roundness, cka_chance),
    halves=partial(halves_of_spaces, unbiased=False),
)

UNBIASED_CKA = Metric(
    MetricSpec(
        id="unbiased_cka",
        title="Unbiased CKA",
        short="unbiased CKA",
        formula=(
            r"\frac{\mathrm{HSIC}_u(K, L)}{\sqrt{\mathrm{HSIC}_u(K, K)\,\mathrm{HSIC}_u(L, L)}}"
        ),
        range=(-1.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        order_alone=False,
        invariances=frozenset({"rotation", "isotropic_scaling", "translation"}),
        sees="What CKA sees, with a chance level of 0 for any widths and any number of stimuli.",
        misses="Fine structure beside a few dominant directions.",
        defaults={},
        reference=(
            "Song, Smola, Gretton, Bedo, Borgwardt 2012, Feature Selection via Dependence"
            " Maximization"
        ),
    ),
    unbiased_cka,
    engine=lambda: PairRows(_unbiased_row),
    every_pair=True,
    streamed=lambda: streamed(unbiased_cka_of_sums),
    on_torch=_unbiased_on_torch,
    attenuates=True,
    chance=Chance(_unbiased_chance, "0"),
    halves=partial(halves_of_spaces, unbiased=True),
)

RBF_CKA = Metric(
    MetricSpec(
        id="rbf_cka",
        title="CKA with a Gaussian kernel",
        short="Gaussian CKA",
        formula=(
            r"\mathrm{CKA}(K, L), \quad K_{ij} = \exp\left(-\frac{\lVert x_i - x_j \rVert^2}{2"
            r" \sigma^2}\right)"
        ),
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        order_alone=False,
        invariances=frozenset({"rotation", "isotropic_scaling", "translation"}),
        sees=(
            "Which stimuli lie within one bandwidth of each other; a wide one sees what CKA sees, a"
            " narrow one only the nearest."
        ),
        misses=(
            "How far apart stimuli are that lie many bandwidths apart; high by chance where the"
            " kernel is narrow."
        ),
        defaults={"bandwidth": 1.0, "unit": "median"},
        ranges={"bandwidth": Range(1e-4, 1e6, whole=False)},
        choices={"unit": UNITS},
        reference=(
            "Kornblith, Norouzi, Lee, Hinton 2019, Similarity of Neural Network Representations"
            " Revisited, section 3"
        ),
    ),
    rbf_cka,
    engine=lambda **width: PairRows(partial(_rbf_row, **width)),
    every_pair=True,
)
