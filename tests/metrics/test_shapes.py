"""Shapes: a rotated copy is at distance 0, an invertible map is not; values equal a search over
rotations and SciPy's disparity.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.shapes import mean_cca, procrustes, shape_angle

seeds = st.integers(0, 2**32 - 1)


def spaces(seed: int, *, n: int = 20, dims: tuple[int, ...] = (4, 6)) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 3))
    return [shared @ rng.standard_normal((3, d)) + rng.standard_normal((n, d)) for d in dims]


def rotation(dims: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dims, dims)))[0]


def search_over_rotations(x: np.ndarray, y: np.ndarray) -> float:
    """Try 20,000 turns of the plane, with and without a mirror, and keep the largest inner
    product.
    """
    x, y = (space - space.mean(axis=0) for space in (x, y))
    best = -np.inf
    for mirror in (1, -1):
        turned = np.linspace(0, 2 * np.pi, 10_000)
        product = (x * [1, mirror]).T @ y
        fits = np.cos(turned) * np.trace(product) + np.sin(turned) * (product[0, 1] - product[1, 0])
        best = max(best, fits.max())
    return best / (np.linalg.norm(x) * np.linalg.norm(y))


@given(seed=seeds)
def test_procrustes_equals_a_search_over_all_rotations_of_the_plane(seed):
    x, y = spaces(seed, dims=(2, 2))
    assert procrustes(x, y) == pytest.approx(search_over_rotations(x, y), abs=1e-6)


@given(seed=seeds)
def test_procrustes_agrees_with_scipy(seed):
    """SciPy also scales one space to fit the other; what is left then is 1 − s²."""
    from scipy.spatial import procrustes as fit

    x, y = spaces(seed, dims=(5, 5))
    assert 1 - procrustes(x, y) ** 2 == pytest.approx(fit(x, y)[2], abs=1e-10)


def test_a_stretched_cross_by_hand():
    """Inner products of the axes are 4 and 2 and the lengths √4 and √10, so the overlap is 6 /
    √40.
    """
    x = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    y = x * [2, 1] + 3
    assert procrustes(x, y) == pytest.approx(6 / np.sqrt(40), abs=1e-12)
    assert shape_angle(x, y) == pytest.approx(np.arccos(6 / np.sqrt(40)), abs=1e-12)


def test_two_crosses_at_right_angles_by_hand():
    """The stimuli that one space tells apart are at the origin of the other: nothing in common,
    overlap 0, angle π/2.
    """
    cross = np.concatenate([np.eye(4), -np.eye(4)])
    assert procrustes(cross[:, :2], cross[:, 2:]) == pytest.approx(0, abs=1e-15)
    assert shape_angle(cross[:, :2], cross[:, 2:]) == pytest.approx(np.pi / 2)


@given(seed=seeds)
def test_the_angle_is_the_arc_cosine_of_the_similarity_whichever_space_is_wider(seed):
    x, y = spaces(seed)
    assert shape_angle(x, y) == pytest.approx(np.arccos(procrustes(x, y)), abs=1e-7)
    assert shape_angle(y, x) == pytest.approx(shape_angle(x, y), abs=1e-12)


@given(seed=seeds)
def test_a_rotated_scaled_and_moved_copy_is_at_distance_zero_even_in_more_dimensions(seed):
    x, _ = spaces(seed)
    copy = 7 * np.pad(x, [(0, 0), (0, 3)]) @ rotation(7, seed) + 1
    assert shape_angle(x, copy) == pytest.approx(0, abs=1e-13)
    assert 1 - 1e-13 < procrustes(x, copy) <= 1


@given(seed=seeds)
def test_a_small_change_is_not_lost_in_the_rounding_of_a_cosine(seed):
    """The cosine of 10⁻¹⁰ is 1 to the last bit."""
    (x,) = spaces(seed, dims=(4,))
    nearby = x + 1e-10 * np.random.default_rng(seed).standard_normal(x.shape)
    assert 1e-12 < shape_angle(x, nearby) < 1e-9


@given(seed=seeds)
def test_the_angle_is_a_distance_while_canonical_correlations_see_no_stretch(seed):
    x, y, z = spaces(seed, dims=(4, 6, 5))
    assert shape_angle(x, z) <= shape_angle(x, y) + shape_angle(y, z) + 1e-12
    stretched = x @ np.diag([1, 2, 4, 8])
    assert mean_cca(x, stretched) == pytest.approx(1)
    assert shape_angle(x, stretched) > 0.01


@given(seed=seeds)
def test_more_dimensions_than_stimuli_give_the_same_as_the_inner_products_alone(seed):
    """The nuclear norm of XᵀY is the sum of square roots of the eigenvalues of the product of the
    two kernels.
    """
    x, y = spaces(seed, n=10, dims=(40, 25))
    kernels = [
        centered @ centered.T / (centered**2).sum()
        for centered in (x - x.mean(axis=0), y - y.mean(axis=0))
    ]
    squares = np.linalg.eigvals(kernels[0] @ kernels[1]).real
    assert procrustes(x, y) == pytest.approx(np.sqrt(np.clip(squares, 0, None)).sum(), abs=1e-6)


@pytest.mark.parametrize("name", ["procrustes", "shape_angle"])
def test_one_dimension_and_rank_one_are_refused(name):
    x, y = spaces(0)
    for line in (x[:, :1], x[:, :1] @ y[:1]):
        with pytest.raises(MetricError, match="a space of rank 2 or more expected"):
            METRICS[name](line, y)
        with pytest.raises(MetricError, match="a space of rank 2 or more expected"):
            METRICS[name](y, line)
