"""Directions of a space: rank against rounding, leading ones against all, spectra by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MetricError
from core.spaces.bases import center, effective_rank, span, standardize

seeds = st.integers(0, 2**32 - 1)


def of_rank(rank: int, *, seed: int = 0, n: int = 50, dims: int = 20) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, dims))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-3, 1, 1e3])
@given(seed=seeds, rank=st.integers(2, 6), offset=st.sampled_from([0, 1, 20]))
def test_rank_is_found_in_stored_features(dtype, size, seed, rank, offset):
    if dtype == np.float16:
        offset = 0  # its rounding would be as large as what stands out of it
    stored = (size * (of_rank(rank, seed=seed) + offset)).astype(dtype)
    assert len(span(center(stored)).sizes) == rank


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12])
def test_a_feature_far_from_zero_takes_no_other_direction_away(offset):
    space = np.random.default_rng(0).standard_normal((200, 12)).astype(np.float32)
    alone = span(center(space))
    beside = span(center(np.column_stack([space, np.full(200, offset, np.float32)])))
    np.testing.assert_allclose(
        np.abs(alone.directions.T @ beside.directions), np.eye(12), atol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e5, 1e8, 1e11])
def test_what_the_decomposition_itself_rounds_is_no_direction(dtype, size):
    dice = np.random.default_rng(0)
    three = dice.standard_normal((60, 3))
    copies = three @ dice.standard_normal((3, 5))
    space = np.column_stack([three, copies, size * dice.standard_normal((60, 2))]).astype(dtype)
    faint = len(span(center(space)).sizes)
    assert faint <= 5
    assert faint == 5 or size > 1e8


@given(seed=seeds, dims=st.sampled_from([5, 80]))
def test_scores_keep_every_inner_product_of_centered_features(seed, dims):
    centered = center(np.random.default_rng(seed).standard_normal((30, dims)) + 3)
    basis = span(centered)
    np.testing.assert_allclose(
        basis.scores @ basis.scores.T, centered.values @ centered.values.T, atol=1e-12
    )
    np.testing.assert_allclose(basis.scores @ basis.axes, centered.values, atol=1e-12)
    np.testing.assert_allclose(
        basis.directions.T @ basis.directions, np.eye(len(basis.sizes)), atol=1e-12
    )


def test_standardized_features_have_length_one_and_those_that_never_vary_are_left_out():
    space = np.random.default_rng(0).standard_normal((30, 5)).astype(np.float32) * np.float32(
        [1, 100, 0, 1e-3, 1]
    )
    space[:, 4] = 1 + np.tile([0, 1e-7], 15)  # its last bit
    standard = standardize(center(space))
    assert standard.values.shape == (30, 3)
    np.testing.assert_allclose(np.linalg.norm(standard.values, axis=0), 1)


def test_stimuli_on_one_line_are_refused():
    line = np.linspace(-1, 1, 30)[:, None] * np.arange(1, 8) + 5
    for space in (line, line.astype(np.float32), line[:, :1]):
        with pytest.raises(
            MetricError,
            match=(
                "a space of rank 2 or more expected; these 30 stimuli lie on one line: choose"
                " another"
            ),
        ):
            span(center(space))


def test_a_cut_between_directions_of_equal_size_is_refused():
    cross = np.concatenate([np.eye(4), -np.eye(4)]) * [3, 2, 2, 1]
    assert [len(span(center(cross), rank=rank).sizes) for rank in (1, 3, 4, 9)] == [1, 3, 4, 4]
    with pytest.raises(
        MetricError,
        match=(
            "singular directions 2 and 3 are equally strong, so rank 2 cuts at random; use another"
        ),
    ):
        span(center(cross), rank=2)


@pytest.mark.parametrize(("n", "dims"), [(300, 200), (200, 300), (40, 30)])
@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_leading_directions_are_those_of_a_full_decomposition(n, dims, power, dtype):
    rng = np.random.default_rng(0)
    sizes = np.arange(1, min(n, dims) + 1) ** -power
    left, right = (np.linalg.qr(rng.standard_normal((m, len(sizes)))).Q for m in (n, dims))
    space = center(((left * sizes) @ right.T + 0.01).astype(dtype))
    some, whole = span(space, rank=3), span(space)
    np.testing.assert_allclose(some.sizes, whole.sizes[:3], rtol=1e-9)
    np.testing.assert_allclose(some.noise, whole.noise[:3], rtol=1e-5)
    for ours, exact in (
        (some.directions, whole.directions[:, :3]),
        (some.axes.T, whole.axes[:3].T),
    ):
        beyond = ours - exact @ (exact.T @ ours)
        assert np.linalg.norm(beyond, axis=0).max() < 1e-8


def test_a_faint_direction_is_found_where_squares_would_lose_it():
    rng = np.random.default_rng(1)
    left, right = (np.linalg.qr(rng.standard_normal((m, 4))).Q for m in (60, 50))
    space = center((left * [1, 1e-3, 1e-9, 3e-10]) @ right.T)
    some, whole = span(space, rank=3), span(space)
    np.testing.assert_allclose(some.sizes, whole.sizes[:3], rtol=1e-6)


def with_spectrum(values: list[float], n: int = 40) -> np.ndarray:
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((n, len(values)))
    left = np.linalg.qr(basis - basis.mean(0))[0]
    right = np.linalg.qr(rng.standard_normal((6, 6)))[0][: len(values)]
    return (left * values @ right + 5.0).astype(np.float32)


def test_unequal_directions_by_hand():
    space = with_spectrum([3.0, 1.0])  # shares 3/4 and 1/4; variances 9 and 1
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert effective_rank(space) == pytest.approx(np.exp(entropy), rel=1e-4)


def test_a_point_has_no_rank():
    with pytest.raises(MetricError, match="all stimuli lie at one point"):
        effective_rank(np.full((5, 3), 2.5, np.float32))
