"""Intervals of Spearman's ρ, and partial correlations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.analyses.correlations import partial_correlation, spearman_interval
from core.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=15)
Y = (X + RNG.normal(size=15)).round(1)
Z = X + Y + RNG.normal(size=15)


def test_the_interval_is_that_of_each_draw_taken_alone():
    found = spearman_interval(X, Y, draws=200, seed=3)
    drawn = np.random.default_rng(3).integers(15, size=(200, 15))
    slow = [stats.spearmanr(X[row], Y[row]).statistic for row in drawn]
    assert [found.low, found.high] == pytest.approx(np.quantile(slow, [0.025, 0.975]))
    assert (found.value, found.p) == pytest.approx(stats.spearmanr(X, Y))


def test_draws_without_a_correlation_are_left_out():
    x, y = np.array([0.0, 0, 0, 0, 1]), np.array([0.0, 1, 2, 3, 4])
    found = spearman_interval(x, y, draws=500)
    assert found.reason == ""
    assert np.isfinite([found.low, found.high]).all()


def test_a_rising_map_of_either_side_changes_no_interval():
    straight, bent = spearman_interval(X, Y, draws=100), spearman_interval(np.exp(X), Y**3, draws=100)
    assert straight == bent


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng, truth, inside = np.random.default_rng(0), 6 / np.pi * np.arcsin(0.6 / 2), 0
    for seed in range(100):
        x = rng.normal(size=40)
        found = spearman_interval(x, 0.6 * x + 0.8 * rng.normal(size=40), draws=200, seed=seed)
        inside += found.low <= truth <= found.high
    assert 87 <= inside <= 99


def test_the_partial_correlation_by_its_formula_and_by_regression():
    r = np.corrcoef([X, Y, Z])
    formula = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    found = partial_correlation(X, Y, given=Z)
    assert found.value == pytest.approx(formula)
    parts = np.stack([np.ones(15), X, Z], axis=1)  # the t of x in y ~ x + z is that of the partial correlation
    numbers, (error,), *_ = np.linalg.lstsq(parts, Y)
    t = numbers[1] / np.sqrt(error / 12 * np.linalg.inv(parts.T @ parts)[1, 1])
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 12))
    assert np.arctanh([found.low, found.high]) == pytest.approx(np.arctanh(formula) + np.array([-1.959964, 1.959964]) / np.sqrt(11))


def test_the_published_value_of_a_partial_correlation():
    """r₁₂ = 0.8, r₁₃ = 0.6, r₂₃ = 0.5 leaves (0.8 − 0.3)/√(0.64 · 0.75) = 0.7217."""
    wanted = np.array([[1, 0.8, 0.6], [0.8, 1, 0.5], [0.6, 0.5, 1]])
    noise = RNG.normal(size=(50, 3))
    noise -= noise.mean(axis=0)
    white = noise @ np.linalg.inv(np.linalg.cholesky(noise.T @ noise).T)
    x, y, z = (white @ np.linalg.cholesky(wanted).T).T
    assert partial_correlation(x, y, given=z).value == pytest.approx(0.721688)


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_units_and_what_is_given_added_change_nothing(scale, shift):
    found = partial_correlation(X * scale + shift * Z, Y, given=Z * 3 - 1)
    assert found.value == pytest.approx(partial_correlation(X, Y, given=Z).value)


def test_a_correlation_that_size_explains_is_gone():
    rng = np.random.default_rng(0)
    size = rng.normal(size=400)
    x, y = size + 0.5 * rng.normal(size=400), size + 0.5 * rng.normal(size=400)
    found = partial_correlation(x, y, given=size)
    assert abs(found.value) < 0.12
    assert spearman_interval(x, y, draws=50).low > 0.6


def test_what_cannot_be_told_is_nan_with_the_reason():
    few, flat = np.where(np.arange(15) < 11, np.nan, X), np.ones(15)
    cases = (
        (spearman_interval(few, Y), "at least 5 models with all values expected; there are 4"),
        (spearman_interval(flat, Y), "all 15 models have the same competence"),
        (partial_correlation(few, Y, given=Z), "at least 5 models with all values expected; there are 4"),
        (partial_correlation(X, Y, given=flat), "all 15 models have the same given"),
        (partial_correlation(Z * 2 + 1, Y, given=Z), "tells x or y exactly"),
    )
    for found, reason in cases:
        assert reason in found.reason
        assert np.isnan([found.value, found.low, found.high, found.p]).all()
    line = partial_correlation(X, 2 * X, given=Z)
    assert line.value == pytest.approx(1)
    assert "lies on a line" in line.reason


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="given 15, 3 values"):
        spearman_interval(X, Y[:3])
    with pytest.raises(InputError, match="at least one draw of the models; given 0"):
        spearman_interval(X, Y, draws=0)
