"""The mean over two crossed samples: by hand, in simulated worlds, and where there is no spread;
correlations over grids against all rearrangements.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from core.statistics.intervals import (
    ALIKE,
    ALONE,
    crossed_mean,
    grid_correlation,
    grid_interval,
    pair_error,
    pair_interval,
)


def test_two_by_two_by_hand():
    """Row means 1 and 3, column means 1.5 and 2.5: SE² = 2/2 + 0.5/2, freedom 1.25²/(1 + 1/16)."""
    crossed = crossed_mean(np.array([[0.5, 1.5], [2.5, 3.5]]), level=0.0)
    reach = stats.t.ppf(0.975, 1.25**2 / 1.0625) * math.sqrt(1.25)
    assert crossed.value == 2.0
    assert (crossed.low, crossed.high) == pytest.approx((2 - reach, 2 + reach))
    assert crossed.p == pytest.approx(2 * stats.t.sf(2 / math.sqrt(1.25), 1.25**2 / 1.0625))


def test_against_one_fixed_column_it_is_student_s_test():
    values = np.array([0.1, 0.4, 0.2, 0.3])
    crossed = crossed_mean(values[:, None], level=0.05, fixed="columns")
    assert crossed.p == pytest.approx(stats.ttest_1samp(values, 0.05).pvalue)
    assert (crossed.low, crossed.high) == pytest.approx(
        stats.ttest_1samp(values, 0.0).confidence_interval()
    )


def test_sides_are_exchangeable():
    scores = np.random.default_rng(0).random((4, 7))
    one, other = (crossed_mean(each, level=0.5)._asdict() for each in (scores, scores.T))
    assert one.pop("reason") == other.pop("reason") == ""
    assert one == pytest.approx(other)


def test_the_interval_holds_the_mean_of_crossed_worlds():
    rng, held = np.random.default_rng(1), []
    for _ in range(600):
        rows, columns = rng.normal(size=(6, 1)), 0.5 * rng.normal(size=(1, 9))
        crossed = crossed_mean(rows + columns + rng.normal(size=(6, 9)), level=0.0)
        held.append(crossed.low <= 0.0 <= crossed.high)
        assert (crossed.p < 0.05) != held[-1]
    assert 0.94 <= np.mean(held) <= 0.99


def test_one_training_is_students_t_over_stimuli():
    values = np.array([[1.0, 2.0, 3.0, 6.0]])
    crossed = crossed_mean(values, fixed="rows")
    test = stats.ttest_1samp(values[0], 0)
    assert crossed.value == 3.0
    assert crossed.p == pytest.approx(test.pvalue)
    assert (crossed.low, crossed.high) == pytest.approx(tuple(test.confidence_interval()))


@pytest.mark.parametrize(
    ("scores", "reason"), [(np.ones((1, 5)), ALONE), (np.full((3, 3), 0.2), ALIKE)]
)
def test_without_spread_there_is_a_mean_and_a_reason(scores, reason):
    crossed = crossed_mean(scores, level=0.0)
    assert (crossed.value, crossed.reason) == (scores.mean(), reason)
    assert math.isnan(crossed.low)
    assert math.isnan(crossed.p)


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


def test_the_interval_of_a_grid_draws_rows_and_columns_anew():
    dice = np.random.default_rng(3)
    x, y = dice.normal(size=(2, 4, 5))
    low, high = grid_interval(x, y, draws=300, seed=7)
    rng = np.random.default_rng(7)
    rows, columns = rng.integers(4, size=(300, 4)), rng.integers(5, size=(300, 5))
    slow = [
        stats.spearmanr(x[np.ix_(*deal)].ravel(), y[np.ix_(*deal)].ravel()).statistic
        for deal in zip(rows, columns, strict=True)
    ]
    assert (low, high) == pytest.approx(np.quantile(slow, [0.025, 0.975]))
    assert np.isnan(grid_interval(x[:2], y[:2])).all()
    assert np.isnan(grid_interval(np.ones((4, 5)), y)).all()


def test_unrelated_grids_of_related_rows_are_seldom_said_to_go_together():
    """Cells share rows and columns: over cells alone 4 of 10 intervals would leave 0 out."""
    dice, missed = np.random.default_rng(4), 0
    for _ in range(100):
        x, y = (dice.normal(size=(6, 1)) + dice.normal(size=(1, 6)) for _ in range(2))
        low, high = grid_interval(x, y, draws=200)
        missed += not low <= 0 <= high
    assert missed <= 20


def test_the_interval_of_a_mean_over_pairs_is_that_of_its_models():
    """A pair that is the sum of its models' effects has a mean of twice theirs, and its error."""
    effects = np.random.default_rng(5).normal(size=9)
    x, y = np.triu_indices(9, 1)
    scores = effects[x] + effects[y]
    error = 2 * effects.std(ddof=1) / 3
    assert pair_error(scores, x, y, models=9) == pytest.approx(error)
    reach = stats.t.ppf(0.975, 8) * error
    low, high = pair_interval(scores, x, y, models=9)
    assert (low, high) == pytest.approx((scores.mean() - reach, scores.mean() + reach))
    assert np.isnan(pair_interval(scores[:1], x[:1], y[:1], models=2)).all()


@pytest.mark.parametrize("worlds", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_relatives_of_either_side_of_a_grid_count_once(worlds):
    rng, kin = np.random.default_rng(0), np.repeat(np.arange(3), 4)
    sure = 0
    for _ in range(worlds):
        x, y = (
            rng.normal(size=3)[kin][:, None] + rng.normal(size=3)[kin] + rng.normal(size=(12, 12))
            for _ in "xy"
        )
        sure += grid_correlation(x, y, (kin, kin), draws=199, seed=0)[1] < 0.05
    assert sure / worlds <= (0.2 if worlds == 20 else 0.075)
    few = (kin // 2, kin)
    assert np.isnan(grid_correlation(x, y, few, draws=199, seed=0)[1])
