"""A trend over recipes: against numpy's regression, and in worlds with and without an effect."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.statistics.trends import orders_within, recipe_trend


def recipes(seed: int, *, slope: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    lines = np.repeat([0, 1], 6)
    over = np.tile(np.arange(6.0), 2) + 10.0 * lines
    return slope * over + 7.0 * lines + rng.normal(0, 1, 12), over, lines


def test_the_rise_is_that_of_a_regression_with_a_mean_per_line():
    values, over, lines = recipes(0, slope=0.5)
    design = np.column_stack([lines == 0, lines == 1, over])
    expected = np.linalg.lstsq(design, values, rcond=None)[0][-1]
    trend = recipe_trend(values, over, lines)
    assert trend.rise == pytest.approx(expected)
    assert trend.recipes == 12
    assert trend.low < trend.rise < trend.high


def test_the_interval_holds_what_the_test_does_not_reject():
    values, over, lines = recipes(1, slope=1.0)
    trend = recipe_trend(values, over, lines, draws=199)
    for rise, sure in (
        (trend.low - 1e-6, True),
        (trend.low + 1e-6, False),
        (trend.high - 1e-6, False),
        (trend.high + 1e-6, True),
    ):
        assert recipe_trend(values - rise * over, over, lines, draws=199).sure == sure


def test_one_world_in_twenty_is_sure_without_an_effect_and_nine_in_ten_with_one():
    chance = [recipe_trend(*recipes(seed), draws=59, seed=seed).sure for seed in range(200)]
    assert np.mean(chance) <= 0.05 + 2 * 0.0154
    slopes = [recipe_trend(*recipes(seed, slope=0.8), draws=59) for seed in range(60)]
    assert np.mean([trend.sure and trend.rise > 0 for trend in slopes]) >= 0.9
    assert np.mean([trend.low <= 0.8 <= trend.high for trend in slopes]) >= 0.88


def test_orders_stay_within_lines():
    values, lines = np.arange(6.0), np.array([0, 1, 0, 1, 0, 1])
    for order in orders_within(lines, draws=20, seed=0):
        dealt = values[order]
        assert sorted(dealt[lines == 0]) == [0, 2, 4]
        assert sorted(dealt[lines == 1]) == [1, 3, 5]


def test_what_cannot_be_said_is_nan_with_a_reason():
    values, over, lines = recipes(2)
    trend = recipe_trend(values, np.repeat([0.0, 1.0], 6), lines)
    assert np.isnan(trend.rise)
    assert trend.reason == "no line has recipes that differ"
    few = recipe_trend(values[:2], over[:2], lines[:2])
    assert np.isnan(few.low)  # two recipes: every second permutation changes nothing
    assert few.p > 0.3
    over[0] = np.nan
    assert recipe_trend(values, over, lines).recipes == 11
    with pytest.raises(InputError, match="at least 1; got 0"):
        recipe_trend(values, over, lines, draws=0)
