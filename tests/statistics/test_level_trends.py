"""The trend over levels of trainings: against loops, against worlds with and without an effect."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from core.errors import InputError
from core.statistics.trends import Trainings, level_means, level_trend

SIZES = (0.0, 0.5, 1.0)


def world(
    seed: int, *, effect: float = 0.0, lines: int = 6, sets: int = 1, noise: float = 0.02
) -> Trainings:
    """Return trainings of `lines`, three levels and two seeds, whose scores share the luck of each
    line, recipe and seed; seeds of one recipe are far more alike than others.
    """
    rng = np.random.default_rng(seed)
    rows = [
        (line, (line * 3 + level) * sets + one, SIZES[level])
        for line in range(lines)
        for level in range(3)
        for one in range(sets)
        for _ in range(2)
    ]
    line, recipe, level = (np.array(column) for column in zip(*rows, strict=True))
    own = (
        rng.normal(0, noise, line.max() + 1)[line] + rng.normal(0, noise, recipe.max() + 1)[recipe]
    )
    own += rng.normal(0, noise, len(rows))
    scores = 0.3 + own[:, None] + own[None, :] + effect * (level[:, None] + level[None, :]) / 2
    scores += 0.5 * (recipe[:, None] == recipe[None, :])
    luck = rng.normal(0, noise, scores.shape)
    scores += np.triu(luck, 1) + np.triu(luck, 1).T
    return Trainings(scores, level, recipe, line, np.zeros(scores.shape, bool))


def slow_rise(one: Trainings, levels: np.ndarray) -> float:
    """Fit score = (a mean per pair of lines) + rise · level by least squares, pair by pair."""
    rows = [
        (i, j)
        for i, j in combinations(range(len(levels)), 2)
        if levels[i] == levels[j] and one.recipes[i] != one.recipes[j] and not one.kin[i, j]
        if np.isfinite(one.scores[i, j])
    ]
    kinds = [tuple(sorted((one.lines[i], one.lines[j]))) for i, j in rows]
    names = sorted(set(kinds))
    design = np.array([[kind == name for name in names] for kind in kinds], float)
    design = np.column_stack([design, [levels[i] for i, _ in rows]])
    return float(np.linalg.lstsq(design, [one.scores[i, j] for i, j in rows], rcond=None)[0][-1])


@pytest.mark.parametrize("sets", [1, 2])
def test_the_rise_is_that_of_a_regression_with_a_mean_per_pair_of_lines(sets):
    one = world(1, effect=0.1, lines=3, sets=sets)
    one.scores[0, 6] = one.scores[6, 0] = np.nan
    one.kin[2, 8] = one.kin[8, 2] = True
    trend = level_trend(one, draws=99)
    assert trend.rise == pytest.approx(slow_rise(one, one.levels), abs=1e-12)
    dealt = [abs(slow_rise(one, levels)) for levels in one.permuted_levels(draws=99, seed=0)]
    far = sum(each >= abs(trend.rise) - 1e-12 for each in dealt)
    assert trend.p == pytest.approx((1 + far) / 100)
    assert trend.recipes == 9 * sets


def test_the_interval_holds_what_the_test_does_not_reject():
    one = world(1, effect=0.1)
    trend = level_trend(one, draws=99)
    middle = (one.levels[:, None] + one.levels[None, :]) / 2
    for rise, rejected in (
        (trend.low - 1e-6, True),
        (trend.low + 1e-6, False),
        (trend.high - 1e-6, False),
        (trend.high + 1e-6, True),
    ):
        less = Trainings(one.scores - rise * middle, one.levels, one.recipes, one.lines, one.kin)
        assert level_trend(less, draws=99).sure == rejected


def test_a_dealing_keeps_recipes_whole_and_lines_apart():
    one = world(2, lines=3, sets=2)
    for levels in one.permuted_levels(draws=20, seed=0):
        for recipe in np.unique(one.recipes):
            assert len(set(levels[one.recipes == recipe])) == 1
        for line in range(3):
            of_it = one.lines == line
            assert sorted(levels[of_it]) == sorted(one.levels[of_it])


def test_what_lines_differ_in_and_what_seeds_share_is_no_trend():
    one = world(3, effect=0.1)
    trend = level_trend(one, draws=99)
    far = np.where(one.lines == 0, 5.0, 0.0)
    shifted = Trainings(
        one.scores + far[:, None] + far[None, :], one.levels, one.recipes, one.lines, one.kin
    )
    assert level_trend(shifted, draws=99).rise == pytest.approx(trend.rise)
    alike = one.recipes[:, None] == one.recipes[None, :]
    replicated = Trainings(one.scores + 9.0 * alike, one.levels, one.recipes, one.lines, one.kin)
    assert level_trend(replicated, draws=99) == trend


def test_without_an_effect_one_world_in_twenty_is_sure_at_most():
    trends = [level_trend(world(seed), draws=59, seed=seed) for seed in range(200)]
    assert np.mean([trend.sure for trend in trends]) <= 0.05 + 2 * 0.0154
    assert all(trend.sure == (not trend.low <= 0 <= trend.high) for trend in trends)


def test_an_effect_of_five_times_the_luck_of_a_recipe_is_found_in_four_worlds_of_five():
    trends = [level_trend(world(seed, effect=0.1), draws=59, seed=seed) for seed in range(60)]
    assert np.mean([trend.sure and trend.rise > 0 for trend in trends]) >= 0.8
    assert np.mean([trend.low <= 0.1 <= trend.high for trend in trends]) >= 0.9


def test_means_are_those_of_the_pairs_on_a_level():
    one = world(4, lines=3)
    for mean in level_means(one):
        pairs = [
            one.scores[i, j]
            for i, j in combinations(range(len(one.levels)), 2)
            if one.levels[i] == one.levels[j] == mean.level and one.recipes[i] != one.recipes[j]
        ]
        assert mean.mean == pytest.approx(np.mean(pairs))
        assert (mean.pairs, mean.trainings, mean.recipes) == (len(pairs), 6, 3)
        assert np.isnan(mean.low)  # three recipes are too few for an interval
    assert all(mean.low < mean.adjusted < mean.high for mean in level_means(world(4)))


def test_the_interval_of_a_mean_holds_it_in_nine_worlds_of_ten():
    means = [mean for seed in range(20) for mean in level_means(world(seed, effect=0.1))]
    assert np.mean([one.low <= 0.3 + 0.1 * one.level <= one.high for one in means]) >= 0.9


def test_adjusted_means_differ_as_the_trend_says_where_levels_differ_in_their_lines():
    one = world(4, lines=3, effect=0.1, noise=0)
    far = np.where(one.lines == 0, 5.0, 0.0)
    apart = (one.lines != 0) | (one.levels < 1)  # the highest level lacks the line that is far
    few = Trainings(
        (one.scores + far[:, None] + far[None, :])[np.ix_(apart, apart)],
        one.levels[apart],
        one.recipes[apart],
        one.lines[apart],
        one.kin[np.ix_(apart, apart)],
    )
    means = level_means(few)
    assert means[-1].mean < means[0].mean
    assert means[-1].adjusted - means[0].adjusted == pytest.approx(0.1)
    assert level_trend(few, draws=9).rise == pytest.approx(0.1)


def test_what_cannot_be_said_is_nan_with_a_reason():
    one = world(5, lines=1)
    trend = level_trend(one)
    assert np.isnan([trend.rise, trend.p]).all()
    assert trend.reason == "no two objectives or families have pairs on two levels"
    assert level_means(one) == []
    with pytest.raises(InputError, match="at least 1; got 0"):
        level_trend(one, draws=0)
    with pytest.raises(InputError, match="expected recipe 0 on one level of one line"):
        Trainings(one.scores, one.levels[::-1].copy(), one.recipes * 0, one.lines, one.kin)
