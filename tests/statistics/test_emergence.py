"""A line against a broken stick: exact fits, and what they say of points left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.statistics.emergence import Stick, compare_fits, fit_line, fit_stick, left_out_errors

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 1, 20))


def squared(stick: Stick, x: np.ndarray, y: np.ndarray) -> float:
    return float(((y - stick.at(x)) ** 2).sum())


def slow_stick(x: np.ndarray, y: np.ndarray) -> float:
    """Return the least squared error over hundreds of knots."""
    places, best = np.unique(x), np.inf
    for knot in np.linspace(places[1], places[-2], 301):
        parts = np.stack([np.ones_like(x), np.minimum(x, knot), np.maximum(x, knot)], axis=1)
        best = min(best, ((y - parts @ np.linalg.lstsq(parts, y)[0]) ** 2).sum())
    return best


@settings(max_examples=25)
@given(st.integers(0, 100_000), st.integers(5, 15))
def test_no_knot_is_better_than_the_one_found(seed, n):
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.uniform(0, 1, n)).round(2), rng.normal(size=n)
    if len(np.unique(x)) < 4:
        return
    stick, least = fit_stick(x, y), slow_stick(x, y)
    assert squared(stick, x, y) <= least * (1 + 1e-9) + 1e-12
    assert squared(stick, x, y) <= squared(fit_line(x, y), x, y) * (1 + 1e-9) + 1e-12
    assert np.unique(x)[1] <= stick.knot <= np.unique(x)[-2]


def test_a_planted_stick_is_found_between_the_points():
    stick = fit_stick(X, Stick(1.0, 0.1, 3.0, 0.437).at(X))
    assert [stick.intercept, stick.slope, stick.bend, stick.knot] == pytest.approx(
        [1.0, 0.1, 3.0, 0.437]
    )


def test_a_hand_made_stick_and_line():
    stick = fit_stick(np.array([0.0, 1, 2, 3, 4]), np.array([0.0, 0, 0, 1, 2]))
    assert [stick.slope, stick.bend, stick.knot] == pytest.approx([0, 1, 2], abs=1e-12)
    line = fit_line(np.array([0.0, 1, 2]), np.array([1.0, 3, 5]))
    assert line.at(np.array([10.0])) == pytest.approx([21])
    assert np.isnan(line.knot)


def test_errors_of_points_left_out_are_those_of_the_hat_matrix():
    y = np.sin(5 * X) + 0.1 * RNG.normal(size=20)
    parts = np.stack([np.ones_like(X), X], axis=1)
    hat = parts @ np.linalg.inv(parts.T @ parts) @ parts.T
    np.testing.assert_allclose(left_out_errors(fit_line, X, y), (y - hat @ y) / (1 - np.diag(hat)))


def test_r2_compares_with_the_mean_of_the_other_points():
    y = X + 0.2 * RNG.normal(size=20)
    errors = left_out_errors(fit_line, X, y)
    means = [y[i] - np.delete(y, i).mean() for i in range(20)]
    row = compare_fits(X, y).set_index("fit").loc["line"]
    assert row["cv_r2"] == pytest.approx(1 - (errors**2).sum() / np.square(means).sum())
    assert row["cv_rmse"] == pytest.approx(np.sqrt((errors**2).mean()))


def test_the_gain_is_the_mean_difference_of_squared_errors_with_its_standard_error():
    y = np.maximum(0, X - 0.5) + 0.1 * RNG.normal(size=20)
    gains = [
        left_out_errors(fit_line, X, y)[i] ** 2
        - (y[i] - fit_stick(np.delete(X, i), np.delete(y, i)).at(X[i : i + 1])[0]) ** 2
        for i in range(20)
    ]
    line, stick = compare_fits(X, y)[["gain", "gain_se"]].to_numpy()
    assert line.tolist() == [0, 0]
    assert stick == pytest.approx([np.mean(gains), np.std(gains, ddof=1) / np.sqrt(20)])


def test_rounding_is_no_gain_and_a_line_with_noise_hardly_ever_has_one_beyond_its_error():
    exact = compare_fits(X, 3 * X + 0.1)
    assert exact[["cv_rmse", "gain", "gain_se"]].to_numpy() == pytest.approx(
        np.zeros((2, 3)), abs=0
    )
    better = sure = 0
    for seed in range(40):
        stick = compare_fits(
            X[::2], X[::2] + 0.3 * np.random.default_rng(seed).normal(size=10)
        ).iloc[1]
        better, sure = better + (stick["gain"] > 0), sure + (stick["gain"] > stick["gain_se"])
    assert sure <= 5 < better  # alone a smaller error is no sign


def test_what_cannot_be_compared_is_nan_with_the_reason():
    gone = np.where(np.arange(20) < 15, np.nan, X)
    for x, y, reason in (
        (gone, X, "at least 6 models with both values; there are 5"),
        (np.repeat([0.1, 0.2, 0.3, 0.4], 5), X, "needs 5 different x; there are 4"),
        (X, np.ones(20), "all 20 models have the same value"),
    ):
        table = compare_fits(x, y)
        assert table["reason"].str.contains(reason).all()
        assert table[["cv_rmse", "cv_r2", "gain", "gain_se", "knot"]].isna().all(axis=None)


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="expected one y for each x; got 20 and 3 values"):
        compare_fits(X, X[:3])
    with pytest.raises(InputError, match="a line needs two different x"):
        fit_line(np.ones(3), np.arange(3.0))
    with pytest.raises(InputError, match="a broken stick needs four different x; got 3"):
        fit_stick(np.arange(3.0), np.arange(3.0))
