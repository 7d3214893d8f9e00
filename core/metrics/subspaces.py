"""Metrics over canonical correlations: how far the directions of two spaces can be turned into each
other.

Per space: a `Basis`. Per pair: the cosines of the principal angles between two bases, which are the
canonical correlations.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.metrics.spec import AnyEngine, Metric, MetricSpec
from core.options.ranges import Range
from core.pairs.parts import EachPair, reorder_basis
from core.spaces.bases import Basis, basis_of, center, span, standardize


def correlate(
    a: Float64[np.ndarray, "n ra"], b: Float64[np.ndarray, "n rb"]
) -> tuple[Float64[np.ndarray, "ra r"], Float64[np.ndarray, "r"]]:
    """Return the canonical variates of a, as coordinates in its basis, and the canonical
    correlations, largest first.

    a, b: orthonormal bases of centered spaces. The correlations are the r = min(ra, rb) singular
    values of aᵀb (Björck and Golub 1973), in [0, 1]. Raises MetricError for ra + rb ≥ n: centered
    features lie in n − 1 dimensions, where two such subspaces must meet, so some correlations would
    be 1 whatever the spaces.
    """
    (n, rank_a), rank_b = a.shape, b.shape[1]
    if rank_a + rank_b >= n:
        raise MetricError(
            f"canonical correlations of ranks {rank_a} and {rank_b} need more than"
            f" {rank_a + rank_b} stimuli; got {n}, some would be 1 whatever the spaces: take more"
            " stimuli, or svcca with a lower rank"
        )
    turn, correlations, _ = np.linalg.svd(a.T @ b, full_matrices=False)
    return turn, np.minimum(correlations, 1)  # rounding alone lifts a cosine above 1


def leading_basis(space: Float[np.ndarray, "n d"], *, rank: int) -> Basis:
    """Return the leading `rank` singular directions of the standardized features (all, where there
    are fewer).
    """
    if rank < 2:
        raise MetricError(f"rank must be 2 or more; got {rank}")
    return span(standardize(center(space)), rank=rank)


def mean_correlation(a: Basis, b: Basis) -> float:
    """Return the mean canonical correlation of two bases."""
    return float(correlate(a.directions, b.directions)[1].mean())


def weighted_correlation(a: Basis, b: Basis) -> float:
    """Return the mean canonical correlation of two bases, each weighted by how much of a's features
    its variate carries.
    """
    turn, correlations = correlate(a.directions, b.directions)
    weights = np.abs((turn.T * a.sizes) @ a.axes).sum(axis=1)
    return float(np.average(correlations, weights=weights))


def svcca(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, rank: int) -> float:
    """Return the mean canonical correlation of two spaces' leading singular directions: (1/r) Σᵢ
    σᵢ(UₓᵀU_y).

    Order of work: center each feature, scale it to unit variance (a constant one is left out), keep
    the leading `rank` left singular vectors U. Their space is exact to 1e-7, as far as a
    fixed random block tells (`core.spaces.leading`), where the released code draws one anew on each
    call. x, y: spaces over the same stimuli. rank: directions kept, 2 or more. Range [0, 1], higher
    is more aligned. Raises MetricError for degenerate spaces, rank one, a cut between equal
    directions, and kept ranks that sum to n or more. Source: Raghu et al. 2017; standardized and of
    fixed rank as in the released code of Huh et al. 2024.
    """
    return mean_correlation(leading_basis(x, rank=rank), leading_basis(y, rank=rank))


def pwcca(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"]) -> float:
    """Return the mean of canonical correlations, weighted by what x says with them: Σᵢ αᵢρᵢ / Σᵢ
    αᵢ, αᵢ = Σⱼ |⟨hᵢ, xⱼ⟩|.

    hᵢ: x's canonical variate i, of length 1; xⱼ: x's centered feature j. Not symmetric: the weights
    are x's. x, y: spaces over the same stimuli. Range [0, 1], higher is more aligned. Raises
    MetricError for degenerate spaces, rank one, and ranks that sum to n or more. Source: Morcos,
    Raghu, Bengio 2018; Kornblith et al. 2019, table 1.
    """
    return weighted_correlation(span(center(x)), span(center(y)))


def mean_cca(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"]) -> float:
    """Return the mean of all canonical correlations: (1/r) Σᵢ ρᵢ, r the smaller rank.

    x, y: spaces over the same stimuli. Range [0, 1], higher is more aligned; it rises to 1 by
    chance as the ranks approach n. Raises MetricError for degenerate spaces, rank one, and ranks
    that sum to n or more. Source: Hotelling 1936; Kornblith et al. 2019, table 1.
    """
    return mean_correlation(span(center(x)), span(center(y)))


def _svcca_engine(*, rank: int) -> AnyEngine:
    return EachPair(partial(leading_basis, rank=rank), mean_correlation, reorder_basis)


def _whole_basis(space: Float[np.ndarray, "n d"]) -> Basis:
    return span(center(space))


SVCCA = Metric(
    MetricSpec(
        id="svcca",
        title="Singular vector canonical correlation",
        short="SVCCA",
        formula=r"\frac{1}{r} \sum_{i=1}^{r} \sigma_i(U_x^\top U_y)",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        order_alone=False,
        invariances=frozenset({"isotropic_scaling", "translation"}),
        sees="Whether the directions in which most features vary are the same.",
        misses=(
            "How much each kept direction varies, all weaker directions, and which stimuli differ."
        ),
        defaults={"rank": 10},
        ranges={"rank": Range(2, 100_000)},
        reference=(
            "Raghu, Gilmer, Yosinski, Sohl-Dickstein 2017, SVCCA: Singular Vector Canonical"
            " Correlation Analysis"
        ),
    ),
    svcca,
    engine=_svcca_engine,
    version=3,
)

PWCCA = Metric(
    MetricSpec(
        id="pwcca",
        title="Projection-weighted canonical correlation",
        short="PWCCA",
        formula=(
            r"\sum_i \alpha_i \rho_i \big/ \sum_i \alpha_i, \quad \alpha_i = \sum_j |\langle h_i,"
            r" x_j \rangle|"
        ),
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=False,
        scope="global",
        order_alone=False,
        invariances=frozenset({"isotropic_scaling", "translation"}),
        sees="How much of what the first space's features say can be said linearly in the second.",
        misses=(
            "How strongly the second space says it; it is high by chance unless stimuli far"
            " outnumber dimensions."
        ),
        defaults={},
        reference=(
            "Morcos, Raghu, Bengio 2018, Insights on Representational Similarity with Canonical"
            " Correlation"
        ),
    ),
    pwcca,
    engine=lambda: EachPair(_whole_basis, weighted_correlation, reorder_basis),
    version=2,
)

MEAN_CCA = Metric(
    MetricSpec(
        id="mean_cca",
        title="Mean canonical correlation",
        short="mean CCA",
        formula=r"\frac{1}{r} \sum_{i=1}^{r} \rho_i",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        order_alone=False,
        invariances=frozenset(
            {"rotation", "isotropic_scaling", "translation", "invertible_linear"}
        ),
        sees=(
            "Whether the same linear features can be read from both spaces, however faint they are."
        ),
        misses=(
            "How strongly a feature is expressed; it is high by chance unless stimuli far outnumber"
            " dimensions."
        ),
        defaults={},
        reference=(
            "Kornblith, Norouzi, Lee, Hinton 2019, Similarity of Neural Network Representations"
            " Revisited, table 1"
        ),
    ),
    mean_cca,
    engine=lambda: EachPair(basis_of, mean_correlation, reorder_basis),
    version=2,
)
