"""Metrics of shapes (Procrustes), of subspaces (canonical correlations) and of rankings (RSA)."""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.metrics.spec import SPECS, Chance, Metric
from core.pairs.engine import (
    EachPair,
    PairRows,
    Sums,
    reorder_basis,
    reorder_rows,
    stream_shape,
    streamed,
)
from core.spaces.bases import Basis, basis_of, center, span, standardize


def shape(basis: Basis) -> Float64[np.ndarray, "n r"]:
    """Scale a centered space to Frobenius norm 1, in its principal axes."""
    scaled: np.ndarray = basis.scores / np.linalg.norm(basis.sizes)
    return scaled


def overlap(a: Float64[np.ndarray, "n da"], b: Float64[np.ndarray, "n db"]) -> float:
    """Return the largest inner product of one shape with the other rotated: ‖aᵀb‖⁎."""
    values = np.linalg.svd(a.T @ b, compute_uv=False)
    return min(1.0, float(values.sum()))  # rounding alone lifts a cosine above 1


def angle(a: Float64[np.ndarray, "n da"], b: Float64[np.ndarray, "n db"]) -> float:
    """Return the angle in radians between one shape and the other rotated onto it: 2 · arcsin(‖aQ −
    b‖ / 2) for the best rotation Q. It is the arc cosine of the overlap, but from the cosine equal
    shapes would be 10⁻⁸ apart by rounding.
    """
    if a.shape[1] > b.shape[1]:
        a, b = b, a  # the narrower one is rotated: in the wider one's dimensions it loses nothing
    left, _, right = np.linalg.svd(a.T @ b, full_matrices=False)
    chord = float(np.linalg.norm(a @ (left @ right) - b))
    return min(np.pi / 2, 2 * float(np.arcsin(min(1.0, chord / 2))))


def procrustes_of_sums(sums: Sums) -> float:
    """Return the orthogonal Procrustes similarity: ‖XᵀY‖⁎ / (‖X‖ ‖Y‖), X and Y centered."""
    xx, xy, yy = sums.blocks
    lengths = np.sqrt(np.trace(xx)) * np.sqrt(np.trace(yy))
    cosine = np.linalg.svd(xy, compute_uv=False).sum() / lengths
    return min(1.0, float(cosine))  # rounding alone lifts a cosine above 1


PROCRUSTES = Metric(
    SPECS["procrustes"],
    engine=lambda: EachPair(lambda x: shape(basis_of(x)), overlap, reorder_rows),
    streamed=lambda: streamed(procrustes_of_sums, stream_shape),
    version=2,
)

SHAPE_ANGLE = Metric(
    SPECS["shape_angle"],
    engine=lambda: EachPair(lambda x: shape(basis_of(x)), angle, reorder_rows),
    version=2,
)


def correlate(
    a: Float64[np.ndarray, "n ra"], b: Float64[np.ndarray, "n rb"]
) -> tuple[Float64[np.ndarray, "ra r"], Float64[np.ndarray, "r"]]:
    """Return the canonical variates of a, as coordinates in its basis, and the canonical
    correlations, the singular values of aᵀb, largest first (Björck and Golub 1973).

    a, b: orthonormal bases of centered spaces. Raises MetricError for ra + rb ≥ n, since some
    correlations would be 1 for any spaces.
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
    """Return the leading `rank` singular directions of the standardized features."""
    if rank < 2:
        raise MetricError(f"rank must be 2 or more; got {rank}")
    return span(standardize(center(space)), rank=rank)


def mean_correlation(a: Basis, b: Basis) -> float:
    """Return the mean canonical correlation of two bases."""
    return float(correlate(a.directions, b.directions)[1].mean())


def weighted_correlation(a: Basis, b: Basis) -> float:
    """Return the mean canonical correlation, weighted by how much of a its variates carry."""
    turn, correlations = correlate(a.directions, b.directions)
    weights = np.abs((turn.T * a.sizes) @ a.axes).sum(axis=1)
    return float(np.average(correlations, weights=weights))


SVCCA = Metric(
    SPECS["svcca"],
    engine=lambda *, rank: EachPair(
        partial(leading_basis, rank=rank), mean_correlation, reorder_basis
    ),
    version=4,
)

PWCCA = Metric(
    SPECS["pwcca"],
    engine=lambda: EachPair(lambda x: span(center(x)), weighted_correlation, reorder_basis),
    version=2,
)

MEAN_CCA = Metric(
    SPECS["mean_cca"],
    engine=lambda: EachPair(basis_of, mean_correlation, reorder_basis),
    version=2,
)


def dissimilarities(
    space: Float[np.ndarray, "n d"], *, correlation: str
) -> Float64[np.ndarray, " pairs"]:
    """Return the Euclidean distances of all pairs of stimuli i < j, or their ranks, around their
    mean and of length 1. `pdist` gives equal pairs equal distances; a matrix product would not.
    """
    from scipy.spatial import distance

    return unit_row(distance.pdist(space.astype(np.float64)), correlation=correlation)


def of_matrix(
    distances: Float[np.ndarray, "n n"], *, correlation: str
) -> Float64[np.ndarray, " pairs"]:
    pairs = distances[np.triu_indices(len(distances), 1)].astype(np.float64)
    return unit_row(pairs, correlation=correlation)


def unit_row(
    distances: Float64[np.ndarray, " pairs"], *, correlation: str
) -> Float64[np.ndarray, " pairs"]:
    """Return distances, or their ranks (ties share the mean), around their mean and of length 1.
    Raises MetricError if all are equal.
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


RSA = Metric(
    SPECS["rsa"],
    engine=lambda correlation: PairRows(
        partial(dissimilarities, correlation=correlation),
        partial(of_matrix, correlation=correlation),
    ),
    every_pair=True,
    attenuates=True,
    chance=Chance(lambda **_: 0.0, "0"),  # a correlation's mean over all permutations
)
