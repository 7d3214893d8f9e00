"""Planes of stimuli: against the textbook's eigenvectors, and on clusters that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import FeatureError, MetricError
from core.questions.stimuli.question import neighbor_plane, principal_plane


def drawn(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)


def eigenvector_plane(space: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project on the two eigenvectors of the covariance with the largest eigenvalues."""
    centered = space - space.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered)
    return centered @ vectors[:, [-1, -2]], values[[-1, -2]] / values.sum()


@given(n=st.integers(3, 30), d=st.integers(2, 9), seed=st.integers(0, 99))
def test_the_principal_plane_is_spanned_by_the_largest_eigenvectors(n, d, seed):
    space = drawn(n, d, seed)
    scores, shares = principal_plane(space)
    expected, expected_shares = eigenvector_plane(space)
    assert np.abs(scores) == pytest.approx(np.abs(expected), abs=1e-6)
    assert shares == pytest.approx(expected_shares)


def test_the_principal_plane_of_a_cross_is_the_cross_itself():
    space = np.array([[3.0, 0, 5], [-3, 0, 5], [0, 1, 5], [0, -1, 5]])
    scores, shares = principal_plane(space)
    assert np.abs(scores) == pytest.approx(np.abs(space[:, :2]))
    assert shares == pytest.approx([0.9, 0.1])


@pytest.mark.slow  # UMAP compiles for long
def test_both_planes_tell_two_clusters_apart_and_neither_depends_on_where_the_space_lies():
    space = np.vstack([drawn(20, 4) / 4, drawn(20, 4, 1) / 4 + 20])
    side = np.arange(40) < 20
    for plane in (principal_plane(space)[0], neighbor_plane(space)):
        gap = np.linalg.norm(plane[side].mean(axis=0) - plane[~side].mean(axis=0))
        assert gap > 2 * max(plane[each].std(axis=0).max() for each in (side, ~side))
    assert principal_plane(space + 7)[0] == pytest.approx(principal_plane(space)[0], abs=1e-9)


@pytest.mark.slow  # UMAP compiles for long
def test_the_layout_is_the_same_for_one_seed_and_another_for_another():
    space = drawn(30, 5)
    assert np.array_equal(neighbor_plane(space, seed=3), neighbor_plane(space, seed=3))
    assert not np.array_equal(neighbor_plane(space, seed=3), neighbor_plane(space, seed=4))


@pytest.mark.slow  # UMAP compiles for long
def test_three_stimuli_are_enough():
    assert np.isfinite(neighbor_plane(drawn(3, 2))).all()
    assert principal_plane(drawn(3, 2))[0].shape == (3, 2)


@pytest.mark.parametrize("plane", [principal_plane, neighbor_plane])
@pytest.mark.parametrize(
    ("space", "error", "said"),
    [
        (drawn(2, 5), MetricError, "at least 3 stimuli and 2 dimensions; got 2 and 5"),
        (drawn(5, 1), MetricError, "got 5 and 1"),
        (np.ones((5, 3)), MetricError, "all stimuli are one point"),
        (np.full((5, 3), np.nan), FeatureError, "NaN or infinity"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(plane, space, error, said):
    with pytest.raises(error, match=said):
        plane(space)
