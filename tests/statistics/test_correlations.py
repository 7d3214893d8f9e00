"""Correlations over models and reliabilities: by definition, by published values, in worlds."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from core.errors import InputError
from core.statistics.correlations import (
    Correlation,
    draw_splits,
    grow,
    partial_correlation,
    spearman_brown,
    spearman_interval,
    unit_reliability,
)
from tests.repeats import simulate

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


def test_few_draws_without_a_correlation_are_left_out_and_many_leave_no_interval():
    y = np.arange(9.0)
    found = spearman_interval(
        np.array([0.0, 0, 0, 0, 0, 0, 1, 1, 1]), y, draws=500
    )  # without one of the three: (2/3)⁹ = 2.6 %
    assert found.reason == ""
    assert np.isfinite([found.low, found.high]).all()
    tied = spearman_interval(
        np.r_[np.zeros(8), 1.0], y
    )  # the only model that differs is in no draw of (8/9)⁹ = 35 %
    assert (tied.value, tied.p) == pytest.approx((0.5477, 0.127), abs=1e-3)
    assert np.isnan([tied.low, tied.high]).all()
    assert re.fullmatch("so many are equal that 3[3-7]% of draws have no ρ", tied.reason)
    assert not tied.sure


def test_an_interval_without_the_correlation_itself_is_none():
    found = spearman_interval(X, Y, draws=1, seed=1)
    assert np.isnan(found.low)
    assert found.reason == "the interval of the draws does not hold ρ itself"
    assert spearman_interval(X, np.exp(X), draws=20).low == pytest.approx(1)


def test_a_correlation_is_sure_by_its_interval_and_its_p():
    assert Correlation(0.5, 0.1, 0.8, 0.01, 20).sure
    assert Correlation(-0.5, -0.8, -0.1, 0.01, 20).sure
    assert not Correlation(0.5, 0.1, 0.8, 0.06, 20).sure
    assert not Correlation(0.5, -0.1, 0.8, 0.01, 20).sure
    assert not Correlation(0.5, np.nan, np.nan, 0.01, 20, "no interval").sure


@pytest.mark.parametrize("worlds", [20, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sizes", [[4, 4, 4], [3, 3, 3, 1], [1, 2, 3, 4, 5]])
def test_relatives_count_once(sizes, worlds):
    """False alarms of p, and of p with the interval, where families differ and nothing else."""
    rng, kin = np.random.default_rng(0), np.repeat(np.arange(len(sizes)), sizes)
    p, sure = np.zeros(3), np.zeros(2)
    for _ in range(worlds):
        x, y = (rng.normal(size=len(sizes))[kin] + 0.5 * rng.normal(size=len(kin)) for _ in "xy")
        found = (
            spearman_interval(x, y, kin),
            partial_correlation(x, y, kin, control=rng.normal(size=len(kin))),
        )
        p += [*(one.p < 0.05 for one in found), spearman_interval(x, y).p < 0.05]
        sure += [one.sure for one in found]
    assert (p[:2] / worlds <= (0.2 if worlds == 20 else 0.075)).all()
    assert (sure / worlds <= (0.15 if worlds == 20 else 0.065)).all()
    assert worlds == 20 or p[2] / worlds > 0.1  # as if no two were relatives


def test_relatives_leave_the_estimate_and_two_families_no_test():
    kin = np.repeat(np.arange(5), 3)
    found, alone = spearman_interval(X, Y, kin), spearman_interval(X, Y, np.arange(15))
    assert (found.value, found.sure) == (alone.value, True)
    assert alone == spearman_interval(X, Y)
    out = [stats.spearmanr(X[kin != one], Y[kin != one]).statistic for one in range(5)]
    reach = stats.t.ppf(0.975, 4) * np.sqrt(0.8 * ((out - np.mean(out)) ** 2).sum())
    assert [found.low, found.high] == pytest.approx(
        [found.value - reach, min(1, found.value + reach)]
    )
    for few in (spearman_interval(X, Y, kin // 3), partial_correlation(X, Y, kin // 3, control=Z)):
        assert np.isnan([few.value, few.p]).all()
        assert few.reason.endswith("there are 15 of 2 families")


def test_a_rising_map_of_either_side_changes_no_interval():
    straight, bent = (
        spearman_interval(X, Y, draws=100),
        spearman_interval(np.exp(X), Y**3, draws=100),
    )
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
    found = partial_correlation(X, Y, control=Z)
    assert found.value == pytest.approx(formula)
    parts = np.stack(
        [np.ones(15), X, Z], axis=1
    )  # the t of x in y ~ x + z is that of the partial correlation
    numbers, (error,), *_ = np.linalg.lstsq(parts, Y)
    t = numbers[1] / np.sqrt(error / 12 * np.linalg.inv(parts.T @ parts)[1, 1])
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 12))
    assert np.arctanh([found.low, found.high]) == pytest.approx(
        np.arctanh(formula) + np.array([-1.959964, 1.959964]) / np.sqrt(11)
    )


def test_the_published_value_of_a_partial_correlation():
    """r₁₂ = 0.8, r₁₃ = 0.6, r₂₃ = 0.5 leaves (0.8 − 0.3)/√(0.64 · 0.75) = 0.7217."""
    wanted = np.array([[1, 0.8, 0.6], [0.8, 1, 0.5], [0.6, 0.5, 1]])
    noise = RNG.normal(size=(50, 3))
    noise -= noise.mean(axis=0)
    white = noise @ np.linalg.inv(np.linalg.cholesky(noise.T @ noise).T)
    x, y, z = (white @ np.linalg.cholesky(wanted).T).T
    assert partial_correlation(x, y, control=z).value == pytest.approx(0.721688)


def test_what_cannot_be_told_is_nan_with_the_reason():
    few, flat = np.where(np.arange(15) < 10, np.nan, X), np.ones(15)
    cases = (
        (spearman_interval(few, Y), "at least 6 models with all values expected; there are 5"),
        (spearman_interval(flat, Y), "all 15 models have the same competence"),
        (
            partial_correlation(few, Y, control=Z),
            "at least 6 models with all values expected; there are 5",
        ),
        (partial_correlation(X, Y, control=flat), "all 15 models have the same control"),
        (partial_correlation(Z * 2 + 1, Y, control=Z), "the control determines x or y"),
    )
    for found, reason in cases:
        assert reason in found.reason
        assert np.isnan([found.value, found.low, found.high, found.p]).all()
    line = partial_correlation(X, 2 * X, control=Z)
    assert line.value == pytest.approx(1)
    assert "lies on a line" in line.reason


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="got 15, 3 values"):
        spearman_interval(X, Y[:3])


WORLD = np.random.default_rng(5).normal(size=(300, 6))


@pytest.mark.parametrize("trials", [2, 3, 4, 7])
@pytest.mark.parametrize("planted", [0.3, 0.6, 0.9])
def test_the_reliability_of_units_is_the_planted_one(trials, planted):
    """The theorem of the noise ceiling, within three standard errors of 5 seeds × 40 units."""
    found = np.concatenate(
        [
            unit_reliability(
                simulate(WORLD, reliability=planted, trials=trials, units=40, seed=seed)
            )
            for seed in range(5)
        ]
    )
    error = found.std() / np.sqrt(found.size)
    assert error < 0.007
    assert found.mean() == pytest.approx(planted, abs=3 * error + 0.005)


def test_it_is_its_definition_unit_by_unit():
    repeats = simulate(WORLD[:40], reliability=0.5, trials=4, units=3, seed=1)
    for unit, found in enumerate(unit_reliability(repeats)):
        of_halves = [
            np.corrcoef(
                *(repeats[list(half), :, unit].astype(float).mean(axis=0) for half in (one, other))
            )[0, 1]
            for one, other in (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
        ]
        r = np.mean(of_halves)
        assert found == pytest.approx(2 * r / (1 + r))


def test_a_unit_that_never_changes_has_no_reliability():
    repeats = simulate(WORLD[:40], reliability=0.5, trials=2, units=2, seed=1)
    repeats[0, :, 1] = 3.0
    assert np.isfinite(unit_reliability(repeats)).tolist() == [True, False]


def test_splits_are_all_halves_or_drawn_ones():
    for repeats in (2, 3, 4, 5):
        splits = draw_splits(repeats)
        kinds = {frozenset((tuple(one), tuple(other))) for one, other in splits}
        half, places = repeats // 2, set(range(repeats))
        every = {
            frozenset((one, other))
            for one in combinations(places, half)
            for other in combinations(places - {*one}, half)
        }
        assert len(kinds) == len(splits) == len(every)
    drawn = draw_splits(10, count=7, seed=3)
    assert len(drawn) == 7
    assert all(one.sum() == other.sum() == 5 and not (one & other).any() for one, other in drawn)
    assert [one.tolist() for one, _ in drawn] == [
        one.tolist() for one, _ in draw_splits(10, count=7, seed=3)
    ]


def test_spearman_and_brown_by_hand():
    assert spearman_brown(0.5, 2.0) == pytest.approx(2 / 3)
    assert spearman_brown(0.5, 1.0) == pytest.approx(0.5)
    assert spearman_brown(np.array([-0.3, 1.0]), 2.0).tolist() == [0.0, 1.0]
    assert (grow(4), grow(5)) == (2.0, 2.5)
    one, twice = 0.4, spearman_brown(0.4, 2.0)
    assert spearman_brown(float(twice), 3.0) == pytest.approx(spearman_brown(one, 6.0))
