"""Metrics over shapes: how well one space can be rotated onto another once both are centered and of
size 1.

Per space: its `shape`. Per pair: the best rotation's overlap, or the angle that is left after it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64

from core.metrics.spec import Metric, MetricSpec
from core.pairs.parts import EachPair, reorder_rows
from core.pairs.streamed import Streamed, Sums, check_rank, stream, streamed_from
from core.spaces.bases import Basis, basis_of, center, span


def shape(basis: Basis) -> Float64[np.ndarray, "n r"]:
    """Scale a centered space to Frobenius norm 1, in its principal axes."""
    scaled: np.ndarray = basis.scores / np.linalg.norm(basis.sizes)
    return scaled


def overlap(a: Float64[np.ndarray, "n da"], b: Float64[np.ndarray, "n db"]) -> float:
    """Return the largest inner product of one shape with the other rotated: ‖aᵀb‖⁎, the sum of
    singular values.
    """
    return min(
        1.0, float(np.linalg.svd(a.T @ b, compute_uv=False).sum())
    )  # rounding alone lifts a cosine above 1


def angle(a: Float64[np.ndarray, "n da"], b: Float64[np.ndarray, "n db"]) -> float:
    """Return the angle in radians between one shape and the other rotated onto it.

    It is 2 · arcsin(‖aQ − b‖ / 2) for the best rotation Q, which is the arc cosine of the overlap;
    taken from the cosine, equal shapes would be 10⁻⁸ apart by rounding.
    """
    if a.shape[1] > b.shape[1]:
        a, b = b, a  # the narrower one is rotated: in the wider one's dimensions it loses nothing
    left, _, right = np.linalg.svd(a.T @ b, full_matrices=False)
    chord = float(np.linalg.norm(a @ (left @ right) - b))
    return min(np.pi / 2, 2 * float(np.arcsin(min(1.0, chord / 2))))


def procrustes(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"]) -> float:
    """Return the orthogonal Procrustes similarity of two spaces: ‖XᵀY‖⁎ / (‖X‖ ‖Y‖), X and Y
    centered.

    It is the cosine of `shape_angle`, given as a similarity so that higher is more aligned, like
    the other metrics; the squared Procrustes distance of Ding et al. is 2 − 2 times it. x, y:
    spaces over the same stimuli; a narrower one is padded with zeros. Range [0, 1]. Raises
    MetricError for degenerate spaces and rank one. Source: Schönemann 1966; Ding, Denain,
    Steinhardt 2021.
    """
    return overlap(shape(span(center(x))), shape(span(center(y))))


def shape_angle(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"]) -> float:
    """Return the angle between two shapes in radians: arccos(‖XᵀY‖⁎ / (‖X‖ ‖Y‖)), X and Y centered.

    A distance: 0 for shapes that are rotations of each other, and the triangle inequality holds. x,
    y: spaces over the same stimuli; a narrower one is padded with zeros. Range [0, π/2], lower is
    more aligned. Raises MetricError for degenerate spaces and rank one. Source: Williams et al.
    2021 (angular Procrustes distance).
    """
    return angle(shape(span(center(x))), shape(span(center(y))))


def procrustes_of_sums(sums: Sums) -> float:
    """Return the orthogonal Procrustes similarity: ‖XᵀY‖⁎ / (‖X‖ ‖Y‖), X and Y centered.

    Range [0, 1], higher is more aligned. Source: Schönemann 1966; Ding, Denain, Steinhardt 2021.
    """
    xx, xy, yy = sums.blocks
    overlap = np.linalg.svd(xy, compute_uv=False).sum() / (
        np.sqrt(np.trace(xx)) * np.sqrt(np.trace(yy))
    )
    return min(1.0, float(overlap))  # rounding alone lifts a cosine above 1


def _stream(space: Float[np.ndarray, "n d"]) -> Streamed:
    part = stream(space)
    check_rank(part)
    return part


def _shape_of(space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n r"]:
    return shape(basis_of(space))


PROCRUSTES = Metric(
    MetricSpec(
        id="procrustes",
        title="Orthogonal Procrustes similarity",
        short="Procrustes",
        formula=r"\frac{\|X^\top Y\|_*}{\|X\|_F \|Y\|_F}",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="global",
        order_alone=False,
        invariances=frozenset({"rotation", "isotropic_scaling", "translation"}),
        sees=(
            "How well one space fits the other after a rotation, every stimulus counted by its"
            " distance from the mean."
        ),
        misses=(
            "Any match that needs stretching; it is high by chance where spaces are wider than"
            " stimuli are many."
        ),
        defaults={},
        reference=(
            "Ding, Denain, Steinhardt 2021, Grounding Representation Similarity with Statistical"
            " Testing"
        ),
    ),
    procrustes,
    engine=lambda: EachPair(_shape_of, overlap, reorder_rows),
    streamed=lambda: streamed_from(_stream, procrustes_of_sums),
    version=2,
)

SHAPE_ANGLE = Metric(
    MetricSpec(
        id="shape_angle",
        title="Angular shape distance (radians)",
        short="shape angle",
        formula=r"\arccos \frac{\|X^\top Y\|_*}{\|X\|_F \|Y\|_F}",
        range=(0.0, float(np.pi / 2)),
        higher_is_more_aligned=False,
        symmetric=True,
        scope="global",
        order_alone=False,
        invariances=frozenset({"rotation", "isotropic_scaling", "translation"}),
        sees=(
            "What Procrustes similarity sees, as a true distance: models can be embedded and"
            " clustered by it."
        ),
        misses=(
            "Any match that needs stretching; it is low by chance where spaces are wider than"
            " stimuli are many."
        ),
        defaults={},
        reference=(
            "Williams, Kunz, Kornblith, Linderman 2021, Generalized Shape Metrics on Neural"
            " Representations"
        ),
    ),
    shape_angle,
    engine=lambda: EachPair(_shape_of, angle, reorder_rows),
    version=2,
)
