"""Representational similarity analysis: do two spaces put the same pairs of stimuli far apart?

Per space: `dissimilarities`. Per pair: their inner product.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.metrics.spec import Chance, Metric, MetricSpec
from core.pairs.rows import PairRows

CORRELATIONS = ("spearman", "pearson")


def dissimilarities(
    space: Float[np.ndarray, "n d"], *, correlation: str
) -> Float64[np.ndarray, " pairs"]:
    """Return the Euclidean distances of all pairs of stimuli i < j, or their ranks, around their
    mean and of length 1.

    Equal distances share their mean rank. They are summed difference by difference, since in a
    matrix product equal pairs (of duplicates, of one-hot factors) would differ in the last bit and
    rank by noise. Raises MetricError for another correlation and where all stimuli are equally far
    apart.
    """
    from scipy.spatial import distance

    return unit_row(distance.pdist(space.astype(np.float64)), correlation=correlation)


def of_matrix(
    distances: Float[np.ndarray, "n n"], *, correlation: str
) -> Float64[np.ndarray, " pairs"]:
    """Return the same of dissimilarities that are known without the vectors; raises as
    `dissimilarities`.
    """
    pairs = distances[np.triu_indices(len(distances), 1)].astype(np.float64)
    return unit_row(pairs, correlation=correlation)


def unit_row(
    distances: Float64[np.ndarray, " pairs"], *, correlation: str
) -> Float64[np.ndarray, " pairs"]:
    """Return distances, or their ranks, around their mean and of length 1; raises as
    `dissimilarities`.
    """
    from scipy.stats import rankdata

    if np.ptp(distances) <= np.finfo(np.float32).eps * distances.max():
        raise MetricError(
            "all stimuli are equally far apart in this space, so their distances correlate with"
            " nothing"
        )
    values = rankdata(distances) if correlation == "spearman" else distances
    around = values - values.mean()
    unit: np.ndarray = around / np.linalg.norm(around)
    return unit


def rsa(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, correlation: str) -> float:
    """Return the correlation of two spaces' dissimilarities over all pairs of stimuli: ρ(‖xᵢ − xⱼ‖,
    ‖yᵢ − yⱼ‖), i < j.

    The dissimilarity is Euclidean: on rows of length 1 it orders pairs as the cosine does, and
    unlike the cosine it normalizes nothing by itself. x, y: spaces over the same stimuli, clamped
    and normalized by the caller. correlation: "spearman" compares the order of the distances,
    "pearson" the distances. Range [−1, 1], higher is more aligned; chance is 0. Raises MetricError
    for degenerate spaces, also where all stimuli are equally far apart. Source: Kriegeskorte et al.
    2008.
    """
    return float(np.dot(*(dissimilarities(space, correlation=correlation) for space in (x, y))))


def _chance(*, n: int, correlation: str) -> float:  # noqa: ARG001
    return 0.0  # a correlation's mean over all permutations


RSA = Metric(
    MetricSpec(
        id="rsa",
        title="Representational similarity analysis",
        short="RSA",
        formula=r"\rho\left(\lVert x_i - x_j \rVert, \lVert y_i - y_j \rVert\right)_{i < j}",
        range=(-1.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        order_alone=True,
        invariances=frozenset({"rotation", "isotropic_scaling", "translation"}),
        sees="Whether the same pairs of stimuli are far apart, in the order of all distances.",
        misses=(
            "Which stimuli are nearest neighbors: they are few among all pairs; and any bending"
            " that keeps the order of distances."
        ),
        defaults={"correlation": "spearman"},
        choices={"correlation": CORRELATIONS},
        reference="Kriegeskorte, Mur, Bandettini 2008, Representational similarity analysis",
    ),
    rsa,
    engine=lambda correlation: PairRows(
        partial(dissimilarities, correlation=correlation),
        partial(of_matrix, correlation=correlation),
    ),
    every_pair=True,
    attenuates=True,
    chance=Chance(_chance, "0"),
)
