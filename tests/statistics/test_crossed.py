"""Means over stimuli and trainings against hand-computed cases and simulated worlds, and
correlations over grids against all rearrangements.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from core.statistics.crossed import crossed_mean, grid_correlation


def test_one_training_is_students_t_over_stimuli():
    values = np.array([[1.0, 2.0, 3.0, 6.0]])
    mean, low, high, p = crossed_mean(values)
    test = stats.ttest_1samp(values[0], 0)
    assert mean == 3.0
    assert p == pytest.approx(test.pvalue)
    assert (low, high) == pytest.approx(tuple(test.confidence_interval()))


def test_a_hand_computed_case():
    """Stimuli: means 2 and 4, variance 2, /2 = 1. Trainings: means 1 and 5, variance 8, /2 = 4.
    Error² 5 with 25 / (1/1 + 16/1) = 25/17 degrees of freedom.
    """
    mean, low, high, p = crossed_mean(np.array([[0.0, 2.0], [4.0, 6.0]]))
    reach = stats.t.ppf(0.975, 25 / 17) * 5**0.5
    assert (mean, low, high) == pytest.approx((3.0, 3.0 - reach, 3.0 + reach))
    assert p == pytest.approx(2 * stats.t.sf(3 / 5**0.5, 25 / 17))


def test_nothing_is_made_up_without_spread():
    for values in (np.ones((2, 3)), np.ones((3, 1)), np.array([[1.0, np.nan]])):
        assert np.isnan(crossed_mean(values)[1:]).all()


def test_it_covers_other_stimuli_and_other_trainings():
    dice, held = np.random.default_rng(0), 0
    for _ in range(300):
        trainings, stimuli = 0.3 * dice.normal(size=(3, 1)), dice.normal(size=(1, 40))
        _, low, high, _ = crossed_mean(trainings + stimuli + dice.normal(size=(3, 40)))
        held += low < 0 < high
    assert held / 300 > 0.93


def test_p_of_a_grid_is_the_share_of_rearrangements_that_do_as_well():
    dice = np.random.default_rng(1)
    x, y = dice.normal(size=(2, 3, 4))
    rho, p = grid_correlation(x, y, draws=10, seed=0)
    assert rho == pytest.approx(stats.spearmanr(x.ravel(), y.ravel()).statistic)
    as_well = [
        abs(stats.spearmanr(x.ravel(), y[list(rows)][:, list(columns)].ravel()).statistic)
        >= abs(rho) - 1e-9
        for rows in permutations(range(3))
        for columns in permutations(range(4))
    ]
    assert p == pytest.approx(np.mean(as_well))


def test_pairs_that_share_models_prove_nothing_by_their_number():
    """One vision model of three that stands out makes 12 pairs, and one model."""
    x = np.zeros((4, 3))
    x[:, 0] = 1.0
    tilt = 1e-3 * np.arange(12).reshape(4, 3)
    assert stats.spearmanr((x + tilt).ravel(), (x + tilt).ravel()).pvalue < 1e-6
    assert grid_correlation(x, x, draws=10, seed=0)[1] == pytest.approx(1 / 3)


def test_many_rearrangements_are_drawn_and_few_test_nothing():
    dice = np.random.default_rng(2)
    x = dice.normal(size=(6, 6))
    assert grid_correlation(x, x, draws=99, seed=0) == (pytest.approx(1.0), 0.01)
    assert np.isnan(grid_correlation(x[:2, :2], x[:2, :2], draws=9, seed=0)[1])
    assert np.isnan(grid_correlation(np.ones((3, 4)), x[:3, :4], draws=9, seed=0)).all()
