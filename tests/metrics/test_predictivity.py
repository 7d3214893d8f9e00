"""Linear predictivity equals nested loops over folds, hand-computed cases, and what prediction can
and cannot do.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import predictivity
from core.metrics.predictivity import LINEAR_PREDICTIVITY, STRENGTHS, explained, fit_parts
from core.spaces.bases import center, span

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)
CROSS = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])


def spaces(
    seed: int, *, n: int = 30, dims: tuple[int, int] = (4, 6)
) -> tuple[np.ndarray, np.ndarray]:
    """Return two spaces that share two directions, each in noise of its own."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 2))
    return tuple(
        shared @ rng.standard_normal((2, d)) + 0.5 * rng.standard_normal((n, d)) for d in dims
    )


def linear_predictivity(x: np.ndarray, y: np.ndarray, *, folds: int) -> float:
    return LINEAR_PREDICTIVITY.engine(folds=folds).score(x, y)


def r_squared(x: np.ndarray, y: np.ndarray, *, folds: int = 5) -> float:
    """Return R² of y predicted from x alone."""
    a, b = span(center(x)), span(center(y))
    return explained(fit_parts(a, folds=folds), b.scores, folds=folds)


def ridge(x: np.ndarray, y: np.ndarray, strength: float, at: np.ndarray) -> np.ndarray:
    """Solve the normal equations of centered features and predict at other stimuli."""
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    penalty = strength * ((x - x_mean) ** 2).sum() * np.eye(x.shape[1])
    weights = np.linalg.solve(
        (x - x_mean).T @ (x - x_mean) + penalty, (x - x_mean).T @ (y - y_mean)
    )
    return (at - x_mean) @ weights + y_mean


def r_squared_literally(x: np.ndarray, y: np.ndarray, folds: int) -> float:
    missed = total = 0.0
    for held_out in range(folds):
        rest = [i for i in range(len(x)) if i % folds != held_out]
        test = [i for i in range(len(x)) if i % folds == held_out]
        costs = []
        for strength in STRENGTHS:
            cost = 0.0
            for inner in {i % folds for i in rest}:
                train, check = (
                    [i for i in rest if i % folds != inner],
                    [i for i in rest if i % folds == inner],
                )
                cost += ((y[check] - ridge(x[train], y[train], strength, x[check])) ** 2).sum()
            costs.append(cost)
        predicted = ridge(x[rest], y[rest], STRENGTHS[int(np.argmin(costs))], x[test])
        missed += ((y[test] - predicted) ** 2).sum()
        total += ((y[test] - y[rest].mean(axis=0)) ** 2).sum()
    return 1 - missed / total


@few
@given(seed=seeds, dims=st.sampled_from([(4, 6), (3, 40), (50, 5)]), folds=st.integers(3, 6))
def test_both_directions_equal_nested_loops(seed, dims, folds):
    x, y = spaces(seed, dims=dims)
    forth, back = r_squared_literally(x, y, folds), r_squared_literally(y, x, folds)
    assert r_squared(x, y, folds=folds) == pytest.approx(forth, abs=1e-8)
    assert linear_predictivity(x, y, folds=folds) == pytest.approx((forth + back) / 2, abs=1e-8)


def test_a_penalized_cross_by_hand(monkeypatch):
    """Two of three folds hold every point twice: squares 4 on each axis, 8 in all. A penalty of 0.5
    · 8 halves the prediction, so half of each point is missed and R² = 1 − 1/4.
    """
    monkeypatch.setattr(predictivity, "STRENGTHS", np.array([0.5]))
    cross = np.repeat(CROSS, 3, axis=0)
    assert linear_predictivity(cross, cross, folds=3) == pytest.approx(3 / 4, abs=1e-12)


def test_what_lies_at_right_angles_cannot_be_predicted_by_hand():
    """The products of two crosses with every pair of points have no correlation in any fold, so the
    mean is predicted: R² = 0.
    """
    pairs = np.array([np.concatenate([a, b]) for a in CROSS for b in CROSS])
    both = np.repeat(pairs, 3, axis=0)
    assert linear_predictivity(both[:, :2], both[:, 2:], folds=3) == pytest.approx(0, abs=1e-12)


@few
@given(seed=seeds)
def test_a_linear_map_without_noise_is_found_and_one_that_loses_dimensions_cannot_be_inverted(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 8))
    y = x @ rng.standard_normal((8, 3)) + 2
    assert r_squared(x, y) > 0.999
    assert r_squared(y, x) < 0.8
    assert linear_predictivity(x, y, folds=5) == pytest.approx(
        (r_squared(x, y) + r_squared(y, x)) / 2, abs=1e-12
    )


def test_fewer_than_two_stimuli_in_a_fold_are_refused():
    assert np.isfinite(linear_predictivity(*spaces(0, n=10), folds=5))
    with pytest.raises(
        MetricError, match="5 folds need at least 10 stimuli; got 9: use fewer folds"
    ):
        linear_predictivity(*spaces(0, n=9), folds=5)


def test_a_space_that_is_constant_without_one_fold_is_refused():
    x, y = spaces(0)
    x[np.arange(30) % 5 != 0] = x[1]
    with pytest.raises(
        MetricError, match=r"varies in every part of the stimuli expected.*choose another layer"
    ):
        linear_predictivity(x, y, folds=5)


def test_one_dimension_and_rank_one_are_refused():
    x, y = spaces(0)
    for line in (x[:, :1], x[:, :1] @ y[:1]):
        with pytest.raises(MetricError, match="a space of rank 2 or more expected"):
            linear_predictivity(line, y, folds=5)
        with pytest.raises(MetricError, match="a space of rank 2 or more expected"):
            linear_predictivity(y, line, folds=5)
