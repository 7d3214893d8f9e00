"""The rise of alignment with rank: by hand, by enumeration, by regression, and over many worlds."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from core.errors import InputError
from core.statistics import trends as rank_trends
from core.statistics.trends import FEW, RankTrend, Setups, rank_trend

X = Setups(np.array([0.0, 0.5, 1.0, 0.25, 0.75]), np.array([0, 0, 0, 1, 1]))
Y = Setups(np.array([0.0, 1.0, 0.4]), np.array([0, 0, 1]))
EFFECT = 0.02


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_trends, "BOOTSTRAP", 3)  # of what intervals are made of


def world(rng: np.random.Generator, effect: float) -> tuple[np.ndarray, Setups, Setups]:
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
    scores, x, y = world(np.random.default_rng(1), EFFECT)
    values = np.concatenate([scores.mean(axis=1), scores.mean(axis=0)])
    groups = np.concatenate([x.groups, y.groups + 3])
    design = np.column_stack([np.concatenate([x.ranks, y.ranks]), np.eye(7)[groups]])
    slope = np.linalg.lstsq(design, values, rcond=None)[0][0]
    assert rank_trend(scores, x, y, draws=19).change == pytest.approx(2 / 3 * slope)


def test_what_groups_differ_in_counts_for_nothing_and_ranks_between_groups_do() -> None:
    scores, x, y = world(np.random.default_rng(2), EFFECT)
    found = rank_trend(scores, x, y, draws=99)
    moved = rank_trend(scores + 5.0 * x.groups[:, None], x, y, draws=99)
    assert (moved.change, moved.p) == (pytest.approx(found.change), found.p)
    turned = rank_trend(scores, Setups(1 - x.ranks, x.groups), y, draws=99)
    assert turned.change != pytest.approx(found.change)


def test_of_a_distance_the_fall_is_tested() -> None:
    scores, x, y = world(np.random.default_rng(3), 3 * EFFECT)
    rise, fall = (rank_trend(scores, x, y, toward=toward, draws=199) for toward in (1, -1))
    assert rise.p <= 0.05
    assert fall.p >= 0.95
    assert rise.change == fall.change


def test_a_setup_without_scores_or_rank_counts_nowhere() -> None:
    scores, x, y = world(np.random.default_rng(4), EFFECT)
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
    found = [rank_trend(*world(rng, effect), draws=199).p for _ in range(worlds)]
    return float(np.mean(np.array(found) <= 0.05))


def test_without_an_effect_five_worlds_in_a_hundred_are_sure() -> None:
    assert 0.03 <= share_of_worlds(0.0, 500) <= 0.07


def test_a_planted_effect_is_found_in_three_worlds_of_four() -> None:
    assert share_of_worlds(EFFECT, 100) >= 0.65


@pytest.mark.slow
def test_the_interval_over_setups_covers_the_planted_change(monkeypatch) -> None:
    monkeypatch.setattr(rank_trends, "BOOTSTRAP", 99)
    rng, held = np.random.default_rng(0), 0
    for _ in range(80):
        found = rank_trend(*world(rng, EFFECT), draws=19)
        held += found.low <= 2 / 3 * EFFECT / 2 <= found.high
    assert 0.85 <= held / 80 <= 0.99
