"""The mean over two crossed samples: by hand, in simulated worlds, and where there is no spread."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from core.statistics.crossed import ALIKE, ALONE, crossed_mean


def test_two_by_two_by_hand():
    """Row means 1 and 3, column means 1.5 and 2.5: SE² = 2/2 + 0.5/2, freedom 1.25²/(1 + 1/16)."""
    crossed = crossed_mean(np.array([[0.5, 1.5], [2.5, 3.5]]), level=0.0)
    reach = stats.t.ppf(0.975, 1.25**2 / 1.0625) * math.sqrt(1.25)
    assert crossed.value == 2.0
    assert (crossed.low, crossed.high) == pytest.approx((2 - reach, 2 + reach))
    assert crossed.p == pytest.approx(2 * stats.t.sf(2 / math.sqrt(1.25), 1.25**2 / 1.0625))


def test_against_one_fixed_column_it_is_student_s_test():
    values = np.array([0.1, 0.4, 0.2, 0.3])
    crossed = crossed_mean(values[:, None], level=0.05, fixed=True)
    assert crossed.p == pytest.approx(stats.ttest_1samp(values, 0.05).pvalue)
    assert (crossed.low, crossed.high) == pytest.approx(
        stats.ttest_1samp(values, 0.0).confidence_interval()
    )


def test_sides_are_exchangeable():
    scores = np.random.default_rng(0).random((4, 7))
    one, other = (vars(crossed_mean(each, level=0.5)) for each in (scores, scores.T))
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


@pytest.mark.parametrize(
    ("scores", "reason"), [(np.ones((1, 5)), ALONE), (np.full((3, 3), 0.2), ALIKE)]
)
def test_without_spread_there_is_a_mean_and_a_reason(scores, reason):
    crossed = crossed_mean(scores, level=0.0)
    assert (crossed.value, crossed.reason) == (scores.mean(), reason)
    assert math.isnan(crossed.low)
    assert math.isnan(crossed.p)
