"""Kernel alignment: each space becomes one centered kernel of length 1, and two of those are
compared by one inner product.

Per space: a kernel (`linear`, `rbf`), then `centered` or `u_centered`. Per pair: `cosine`. All
kernels are float64. What centering would remove is left out of a kernel from the start: its
differences then keep all their digits.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.metrics.spec import Metric, MetricSpec

UNITS = ("median", "feature")
FEWEST_UNBIASED = 4
ROUNDING = float(
    np.finfo(np.float32).eps
)  # of features: structure below it comes of rounding, not of a model


def linear(space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n n"]:
    """Return the inner products of all pairs of stimuli around their mean: ⟨xᵢ − x̄, xⱼ − x̄⟩."""
    around = space - space.mean(axis=0, dtype=np.float64)
    return around @ around.T


def rbf(
    space: Float[np.ndarray, "n d"], *, bandwidth: float, unit: str
) -> Float64[np.ndarray, "n n"]:
    """Return exp(−‖xᵢ − xⱼ‖² / 2σ²) − 1 of all pairs of stimuli; centering would remove the 1.

    bandwidth: σ as a multiple of the median distance between two stimuli (unit "median"), or in the
    features' own unit ("feature"). Raises MetricError for another unit, a bandwidth that is not
    positive and finite, a median of 0 (half of the stimuli are duplicates), and a σ so small that
    no stimulus resembles another.
    """
    products = linear(space)
    lengths = np.diagonal(products)
    squares = np.maximum(
        lengths[:, None] + lengths - 2 * products, 0
    )  # rounding leaves duplicates a little below 0
    np.fill_diagonal(squares, 0)
    apart = squares[np.triu_indices(len(space), 1)]
    sigma = bandwidth * _scale(apart, unit)
    twice = 2 * sigma * sigma
    if not (sigma > 0 and 0 < twice < np.inf):
        raise MetricError(
            f"a positive, finite width of the kernel expected; given bandwidth = {bandwidth}, which"
            f" makes it {sigma}"
        )
    if np.exp(-apart.min() / twice) < np.finfo(np.float64).eps:
        raise MetricError(
            f"a width of {sigma:.3g} leaves every stimulus similar to itself alone, since the"
            f" nearest two are {np.sqrt(apart.min()):.3g} apart; choose a larger bandwidth than"
            f" {bandwidth}"
        )
    return np.expm1(-squares / twice)


def _scale(apart: Float64[np.ndarray, " pairs"], unit: str) -> float:
    """Return what a bandwidth of 1 is, given the squared distances of all pairs."""
    if unit not in UNITS:
        raise MetricError(f"the unit of a bandwidth is {' or '.join(UNITS)}; given {unit}")
    if unit == "feature":
        return 1.0
    median = float(np.median(np.sqrt(apart)))
    if median == 0:
        raise MetricError(
            "half of all pairs are duplicates, so their median distance is 0; give the bandwidth in"
            " unit feature"
        )
    return median


def centered(kernel: Float64[np.ndarray, "n n"]) -> Float64[np.ndarray, "n n"]:
    """Return HKH / ‖HKH‖, H = I − 11ᵀ/n: a kernel without its row and column means, of length 1.

    Raises MetricError where nothing is left but rounding: all stimuli are equally similar.
    """
    means = kernel.mean(axis=1)
    return of_length_one(kernel - means[:, None] - means + means.mean(), kernel)


def u_centered(kernel: Float64[np.ndarray, "n n"]) -> Float64[np.ndarray, "n n"]:
    """Return the kernel centered as if it had no diagonal, of length 1; inner products of such
    kernels estimate HSIC without bias.

    K̃ᵢⱼ = Kᵢⱼ − Σₗ Kᵢₗ / (n − 2) − Σₗ Kₗⱼ / (n − 2) + Σₗₘ Kₗₘ / ((n − 1)(n − 2)) for i ≠ j over a
    diagonal of 0, and K̃ᵢᵢ = 0. Σ K̃ᵢⱼ L̃ᵢⱼ / (n(n − 3)) equals the estimator of Song et al. 2012,
    so that a kernel's own is a sum of squares, never negative. Raises MetricError for fewer than
    four stimuli and where nothing is left but rounding: all pairs are equally similar. Source: Song
    et al. 2012 (HSIC₁); Székely and Rizzo 2014, definition 2.
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
    """Scale what centering has left of a kernel to length 1; raises MetricError where that is no
    more than rounding.

    Each product ⟨xᵢ, xⱼ⟩ of rounded features is off by at most eps ‖xᵢ‖ ‖xⱼ‖; all together by eps
    tr(K) ≤ eps √n ‖K‖.
    """
    length = np.linalg.norm(rest)
    if length <= np.sqrt(len(kernel)) * ROUNDING * np.linalg.norm(kernel):
        raise MetricError(
            "all similarities in this space are equal, so that centering leaves only rounding;"
            " choose another layer"
        )
    return rest / length


def check_unbiased(n: int) -> None:
    """Refuse fewer than four stimuli, since the unbiased estimator divides by n − 3."""
    if n < FEWEST_UNBIASED:
        raise MetricError(
            f"the unbiased estimator needs at least {FEWEST_UNBIASED} stimuli; given {n}"
        )


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


CKA = Metric(
    MetricSpec(
        id="cka",
        title="Centered kernel alignment",
        formula=r"\frac{\mathrm{tr}(KHLH)}{\sqrt{\mathrm{tr}(KHKH)\,\mathrm{tr}(LHLH)}}",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        ordinal=False,
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
)

UNBIASED_CKA = Metric(
    MetricSpec(
        id="unbiased_cka",
        title="Unbiased CKA",
        formula=(
            r"\frac{\mathrm{HSIC}_u(K, L)}{\sqrt{\mathrm{HSIC}_u(K, K)\,\mathrm{HSIC}_u(L, L)}}"
        ),
        range=(-1.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        ordinal=False,
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
)

RBF_CKA = Metric(
    MetricSpec(
        id="rbf_cka",
        title="CKA with a Gaussian kernel",
        formula=(
            r"\mathrm{CKA}(K, L), \quad K_{ij} = \exp\left(-\frac{\lVert x_i - x_j \rVert^2}{2"
            r" \sigma^2}\right)"
        ),
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        ordinal=False,
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
        reference=(
            "Kornblith, Norouzi, Lee, Hinton 2019, Similarity of Neural Network Representations"
            " Revisited, section 3"
        ),
    ),
    rbf_cka,
)
