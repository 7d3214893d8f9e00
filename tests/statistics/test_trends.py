"""Trends within groups: by regression pair by pair, by enumeration, and over many worlds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from core.errors import InputError
from core.statistics import trends as rank_trends
from core.statistics.trends import (
    FEW,
    RankTrend,
    Setups,
    Trainings,
    adjusted_means,
    grid_means,
    level_trend,
    rank_trend,
    recipe_trend,
    specification_curve,
    weak_contrast,
)


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


def test_one_world_in_twenty_is_sure_without_an_effect_and_nine_in_ten_with_one():
    chance = [recipe_trend(*recipes(seed), draws=59, seed=seed).p <= 0.05 for seed in range(200)]
    assert np.mean(chance) <= 0.05 + 2 * 0.0154
    slopes = [recipe_trend(*recipes(seed, slope=0.8), draws=59) for seed in range(60)]
    assert np.mean([trend.p <= 0.05 and trend.rise > 0 for trend in slopes]) >= 0.9
    assert np.mean([trend.low <= 0.8 <= trend.high for trend in slopes]) >= 0.88


def test_a_recipe_trend_that_cannot_be_said_is_nan_with_a_reason():
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


def test_adjusted_means_are_those_of_a_regression_over_the_whole_mix_of_kinds():
    rng = np.random.default_rng(0)
    groups, kinds = rng.integers(0, 3, 60), rng.integers(0, 4, 60)
    values = rng.normal(size=60) + kinds
    design = np.column_stack([groups[:, None] == range(3), kinds[:, None] == range(1, 4)])
    fit = np.linalg.lstsq(design.astype(float), values, rcond=None)[0]
    mix = np.bincount(kinds, minlength=4)[1:] / 60
    assert adjusted_means(values, groups, kinds) == pytest.approx(fit[:3] + mix @ fit[3:])


def test_a_group_that_shares_no_kind_has_no_adjusted_mean():
    values = np.array([1.0, 2, 3, 9, 8])
    means = adjusted_means(values, np.array([0, 1, 1, 2, 4]), np.array([0, 0, 0, 1, 2]))
    assert means == pytest.approx([1, 2.5, np.nan, np.nan, np.nan], nan_ok=True)
    assert np.isnan(adjusted_means(values[:2], np.array([0, 1]), np.array([0, 1]))).all()
    none = np.zeros(0, dtype=int)
    assert len(adjusted_means(np.zeros(0), none, none)) == 0


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
        assert (level_trend(less, draws=99).p <= 0.05) == rejected


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


@pytest.mark.parametrize("same", [True, False])
def test_means_are_those_of_the_pairs_on_or_between_levels(same):
    one = world(4, lines=3)
    means = grid_means(one, same=same)
    ends = [(0, 0), (0, 0.5), (0, 1), (0.5, 0.5), (0.5, 1), (1, 1)]
    found = list(zip(means["one"], means["other"], strict=True))
    assert found == [end for end in ends if not same or end[0] == end[1]]
    for row in means.to_dict("records"):
        pairs = [
            one.scores[i, j]
            for i, j in combinations(range(len(one.levels)), 2)
            if sorted((one.levels[i], one.levels[j])) == [row["one"], row["other"]]
            and one.recipes[i] != one.recipes[j]
        ]
        assert (row["mean"], row["pairs"]) == (pytest.approx(np.mean(pairs)), len(pairs))
        assert np.isnan(row["low"])  # three recipes are too few for an interval
    assert not same or (means[["trainings", "recipes"]] == [6, 3]).all(axis=None)
    wide = grid_means(world(4), same=True)
    assert (wide["low"] < wide["adjusted"]).all()
    assert (wide["adjusted"] < wide["high"]).all()


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
    means = grid_means(few, same=True)
    assert means["mean"].iloc[-1] < means["mean"].iloc[0]
    assert np.ptp(means["adjusted"].iloc[[0, -1]]) == pytest.approx(0.1)
    assert level_trend(few, draws=9).rise == pytest.approx(0.1)


def test_what_cannot_be_said_is_nan_with_a_reason():
    one = world(5, lines=1)
    trend = level_trend(one)
    assert np.isnan([trend.rise, trend.p]).all()
    assert trend.reason == "needs two objectives or families with pairs on two levels"
    assert grid_means(one, same=True).empty
    with pytest.raises(InputError, match="at least 1; got 0"):
        level_trend(one, draws=0)
    with pytest.raises(InputError, match="expected recipe 0 on one level of one line"):
        Trainings(one.scores, one.levels[::-1].copy(), one.recipes * 0, one.lines, one.kin)


def weakened(seed: int, *, apart: float) -> Trainings:
    """Return trainings whose weak ones share `apart` less with each other than with strong ones."""
    one = world(seed, lines=6)
    weak = one.levels == 0
    return replace(one, scores=one.scores - apart * (weak[:, None] & weak[None, :]))


def slow_contrast(one: Trainings, levels: np.ndarray) -> float:
    """Fit score = (a mean per two lines) + contrast · [both weak], pair by pair."""
    rows = [
        (i, j)
        for i, j in combinations(range(len(levels)), 2)
        if sorted((levels[i], levels[j])) in ([0, 0], [0, 1]) and one.recipes[i] != one.recipes[j]
    ]
    kinds = [tuple(sorted((one.lines[i], one.lines[j]))) for i, j in rows]
    design = np.array([[kind == name for name in sorted(set(kinds))] for kind in kinds], float)
    design = np.column_stack([design, [levels[i] == levels[j] for i, j in rows]])
    return float(np.linalg.lstsq(design, [one.scores[i, j] for i, j in rows], rcond=None)[0][-1])


def test_the_contrast_and_its_p_are_those_of_a_regression_pair_by_pair():
    one = weakened(1, apart=0.05)
    contrast = weak_contrast(one, draws=99)
    assert contrast.rise == pytest.approx(slow_contrast(one, one.levels), abs=1e-12)
    dealt = [abs(slow_contrast(one, levels)) for levels in one.permuted_levels(draws=99, seed=0)]
    far = sum(each >= abs(contrast.rise) - 1e-12 for each in dealt)
    assert contrast.p == pytest.approx((1 + far) / 100)
    assert contrast.low < contrast.rise < contrast.high


def test_what_cannot_be_compared_is_nan_with_a_reason():
    one = world(5, lines=1)
    contrast = weak_contrast(one)
    assert np.isnan(contrast.rise)
    assert (
        contrast.reason
        == "needs two objectives or families with pairs both within the lowest level"
        " and from it to the highest"
    )
    with pytest.raises(InputError, match="at least 1; got 0"):
        weak_contrast(one, draws=0)


X = Setups(np.array([0.0, 0.5, 1.0, 0.25, 0.75]), np.array([0, 0, 0, 1, 1]))
Y = Setups(np.array([0.0, 1.0, 0.4]), np.array([0, 0, 1]))
EFFECT = 0.02


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_trends, "BOOTSTRAP", 3)  # of what intervals are made of


def ranked_world(rng: np.random.Generator, effect: float) -> tuple[np.ndarray, Setups, Setups]:
    """Draw setups of random rank whose groups, and who themselves, differ in alignment."""
    sides = []
    for sizes in ((3, 3, 3), (3, 3, 2, 3)):
        groups = np.repeat(np.arange(len(sizes)), sizes)
        sides.append(Setups(rng.permutation(len(groups)) / (len(groups) - 1), groups))
    x, y = sides
    scores = 0.05 + 0.004 * rng.normal(size=(len(x.ranks), len(y.ranks)))
    scores += (0.01 * rng.normal(size=3)[x.groups] + 0.004 * rng.normal(size=9))[:, None]
    scores += 0.01 * rng.normal(size=4)[y.groups] + 0.004 * rng.normal(size=11)
    return scores + effect * (x.ranks[:, None] + y.ranks) / 2, x, y


def test_two_families_of_two_sizes_by_hand() -> None:
    x = Setups(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1]))
    y = Setups(np.array([0.0]), np.array([0]))
    found = rank_trend(np.array([[0.1], [0.3], [0.5], [0.6]]), x, y)
    assert (found.p, found.draws, found.exact) == (1 / 4, 4, True)  # of four orders, the best
    assert found.change == pytest.approx(2 / 3 * (0.2 + 0.1) / 2)
    assert found.rho == pytest.approx(1 / 5**0.5)  # ranks 1.5, 3.5, 1.5, 3.5 with 1, 2, 3, 4


def slow_p(scores: np.ndarray, x: Setups, y: Setups) -> float:
    """Count the orders of all setups that keep each group in place and do as well."""
    values = [*scores.mean(axis=1), *scores.mean(axis=0)]
    groups = [*x.groups, *(y.groups + 10)]
    ranks = [*x.ranks, *y.ranks]

    def statistic(order: tuple[int, ...]) -> float:
        total = 0.0
        for group in set(groups):
            places = [place for place in range(len(groups)) if groups[place] == group]
            middle = np.mean([values[place] for place in places])
            total += sum(ranks[order[place]] * (values[place] - middle) for place in places)
        return total

    own = tuple(range(len(groups)))
    orders = [
        order
        for order in permutations(own)
        if all(groups[a] == groups[b] for a, b in enumerate(order))
    ]
    return float(np.mean([statistic(order) >= statistic(own) - 1e-12 for order in orders]))


@pytest.mark.parametrize("seed", range(4))
def test_p_counts_all_orders_within_groups(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(5, 3))
    found = rank_trend(scores, X, Y)
    assert found.draws == 6 * 2 * 2
    assert found.p == pytest.approx(slow_p(scores, X, Y))
    drawn = rank_trend(scores, X, Y, draws=23)
    assert not drawn.exact
    assert drawn.p == pytest.approx(found.p, abs=0.35)


def test_the_change_is_that_of_a_regression_with_a_mean_per_group() -> None:
    scores, x, y = ranked_world(np.random.default_rng(1), EFFECT)
    values = np.concatenate([scores.mean(axis=1), scores.mean(axis=0)])
    groups = np.concatenate([x.groups, y.groups + 3])
    design = np.column_stack([np.concatenate([x.ranks, y.ranks]), np.eye(7)[groups]])
    slope = np.linalg.lstsq(design, values, rcond=None)[0][0]
    assert rank_trend(scores, x, y, draws=19).change == pytest.approx(2 / 3 * slope)


def test_what_groups_differ_in_counts_for_nothing_and_ranks_between_groups_do() -> None:
    scores, x, y = ranked_world(np.random.default_rng(2), EFFECT)
    found = rank_trend(scores, x, y, draws=99)
    moved = rank_trend(scores + 5.0 * x.groups[:, None], x, y, draws=99)
    assert (moved.change, moved.p) == (pytest.approx(found.change), found.p)
    turned = rank_trend(scores, Setups(1 - x.ranks, x.groups), y, draws=99)
    assert turned.change != pytest.approx(found.change)


def test_a_setup_without_scores_or_rank_counts_nowhere() -> None:
    scores, x, y = ranked_world(np.random.default_rng(4), EFFECT)
    more = Setups(np.append(x.ranks, [np.nan, 0.5]), np.append(x.groups, [0, 1]))
    wide = np.vstack([scores, np.full((2, 11), np.nan)])
    assert rank_trend(wide, more, y, draws=99).change == pytest.approx(
        rank_trend(scores, x, y, draws=99).change
    )


def test_one_family_is_unknown_and_few_permutations_are_refused() -> None:
    one = Setups(np.array([0.0, 0.5, 1.0]), np.zeros(3, int))
    assert rank_trend(np.ones((3, 3)), one, one) == RankTrend(reason=FEW)
    with pytest.raises(InputError, match="at least 19"):
        rank_trend(np.ones((5, 3)), X, Y, draws=18)


def share_of_worlds(effect: float, worlds: int) -> float:
    rng = np.random.default_rng(38)
    found = [rank_trend(*ranked_world(rng, effect), draws=199).p for _ in range(worlds)]
    return float(np.mean(np.array(found) <= 0.05))


def test_without_an_effect_five_worlds_in_a_hundred_are_sure() -> None:
    assert 0.03 <= share_of_worlds(0.0, 500) <= 0.07


@pytest.mark.slow
def test_the_interval_over_setups_covers_the_planted_change(monkeypatch) -> None:
    monkeypatch.setattr(rank_trends, "BOOTSTRAP", 99)
    rng, held = np.random.default_rng(0), 0
    for _ in range(80):
        found = rank_trend(*ranked_world(rng, EFFECT), draws=19)
        held += found.low <= 2 / 3 * EFFECT / 2 <= found.high
    assert 0.85 <= held / 80 <= 0.99


def curve_by_hand(scores, x, y, draws: int, seed: int):
    """Return ρ, p and the joint p of a specification curve, one exchange at a time."""

    def relative(values):
        return (stats.rankdata(values) - (len(values) + 1) / 2) / len(values)

    def correlate(ranks, table):
        means = np.concatenate([relative(table.mean(1)), relative(table.mean(0))])
        return float(np.corrcoef(ranks, means)[0, 1])

    ranks = np.concatenate([relative(x.ranks), relative(y.ranks)])
    groups = np.concatenate([x.groups, y.groups + x.groups.max() + 1])
    rho = [correlate(ranks, table) for table in scores]
    orders = list(rank_trends.orders_within(groups, draws=draws, seed=seed))
    drawn = [[correlate(ranks[order], table) for table in scores] for order in orders]
    above = [sum(row[s] >= rho[s] - 1e-12 for row in drawn) for s in range(len(scores))]
    medians = sum(np.median(row) >= np.median(rho) - 1e-12 for row in drawn)
    return rho, [(1 + one) / (1 + draws) for one in above], (1 + medians) / (1 + draws)


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_a_specification_curve_is_that_of_single_exchanges(monkeypatch, strength):
    monkeypatch.setattr(rank_trends, "BOOTSTRAP", 20)
    dice = np.random.default_rng(3)
    x = Setups(np.linspace(0, 1, 9), np.arange(9) % 3)
    y = Setups(np.linspace(0, 1, 6), np.arange(6) % 2)
    rise = strength * (x.ranks[:, None] + y.ranks)
    scores = np.stack([rise + dice.normal(size=(9, 6)) for _ in range(5)])
    found = specification_curve(scores, x, y, draws=99, seed=1)
    rho, p, joint = curve_by_hand(scores, x, y, 99, 1)
    np.testing.assert_allclose(found.rho, rho, atol=1e-12)
    np.testing.assert_allclose(found.p, p)
    assert found.joint == pytest.approx(joint)
    assert found.median == pytest.approx(np.median(rho))
    assert (found.low <= found.high).all()


def test_a_specification_without_scores_changes_no_other():
    x, y = Setups(np.linspace(0, 1, 6), np.arange(6) % 2), Setups(np.zeros(1), np.zeros(1, int))
    scores = np.random.default_rng(0).random((3, 6, 1))
    scores[1] = np.nan
    found = specification_curve(scores, x, y, draws=19)
    alone = specification_curve(scores[[0, 2]], x, y, draws=19)
    assert np.isnan(found.rho[1])
    np.testing.assert_allclose(found.rho[[0, 2]], alone.rho)
    assert found.joint == alone.joint
    assert specification_curve(scores[[1]], x, y, draws=19).reason


def test_the_joint_p_of_unrelated_specifications_is_uniform(monkeypatch):
    monkeypatch.setattr(rank_trends, "BOOTSTRAP", 1)
    x = Setups(np.linspace(0, 1, 8), np.arange(8) % 2)
    y = Setups(np.linspace(0, 1, 4), np.zeros(4, int))
    dice = np.random.default_rng(5)
    common = dice.normal(size=(200, 1, 8, 4))  # specifications share most of what they see
    tables = common + 0.5 * dice.normal(size=(200, 6, 8, 4))
    p = [specification_curve(one, x, y, draws=39, seed=n).joint for n, one in enumerate(tables)]
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert np.mean(np.array(p) <= 0.05) < 0.11
