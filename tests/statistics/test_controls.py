"""Simpler explanations: brute force, closed forms, planted structure, calibration by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.knn import count_shared
from core.spaces.preprocess import normalize_rows
from core.statistics.controls import (
    Difference,
    Regression,
    check_groups,
    compare_paired,
    components,
    draw_orders_within,
    gallery_scores,
    group,
    indicators,
    partial_alignment,
    rank_intervals,
    residual_alignment,
    shared_by_categories,
)
from core.statistics.nulls import draw_orders
from core.statistics.trends import Setups, rank_trend

KNN = METRICS["mutual_knn"]


def of_categories(
    groups: np.ndarray, rng: np.random.Generator, *, fine: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return two spaces that share categories, and within these as much as `fine` says."""
    n, count = len(groups), groups.max() + 1
    shared = rng.standard_normal((n, 8))
    spaces = []
    for _ in range(2):
        centers = 30 * rng.standard_normal((count, 12))[groups]
        turned = shared @ np.linalg.qr(rng.standard_normal((12, 8)))[0].T
        own = rng.standard_normal((n, 12))
        spaces.append(normalize_rows(centers + fine * turned + own))
    return spaces[0], spaces[1]


def p_within(x: np.ndarray, y: np.ndarray, groups: np.ndarray, *, count: int, seed: int) -> float:
    observed = KNN(x, y)
    orders = draw_orders_within(groups, count=count, seed=seed)
    return (1 + sum(KNN(x, y[order]) >= observed for order in orders)) / (count + 1)


def test_orders_stay_within_their_categories_and_reach_all_of_them() -> None:
    groups = np.array([0, 1, 0, 2, 1, 0, 2])
    orders = draw_orders_within(groups, count=300, seed=0)
    assert (groups[orders] == groups).all()
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(7), (300, 1)))
    assert len(np.unique(orders, axis=0)) == 6 * 2 * 2


def test_missing_values_are_a_category_and_single_ones_are_refused() -> None:
    assert group(pd.Series(["a", None, "b", None, "a"])).tolist() == [0, 1, 2, 1, 0]
    with pytest.raises(MetricError, match="only 0 of 9 stimuli share their hue"):
        check_groups(np.arange(9), "hue")
    check_groups(np.array([0, 0, 1, 2]), "hue")  # half can be exchanged


@pytest.mark.parametrize("sizes", [[64] * 16, [5, 8, 300, 40, 47], [400]])
def test_what_categories_alone_share_is_what_two_such_spaces_reach(sizes: list[int]) -> None:
    """Unequal categories, too, some with fewer than k others."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(0)
    found = [KNN(*of_categories(groups, rng)) for _ in range(4)]
    assert np.mean(found) == pytest.approx(shared_by_categories(groups, k=10), rel=0.08)


def test_equal_categories_share_what_the_formula_says() -> None:
    groups = np.repeat(np.arange(16), 64)
    assert shared_by_categories(groups, k=10) == pytest.approx(10 / (1024 / 16 - 1))


def test_a_null_within_categories_finds_planted_structure_alone() -> None:
    groups = np.repeat(np.arange(6), [10, 15, 30, 35, 40, 70])
    rng = np.random.default_rng(0)
    assert p_within(*of_categories(groups, rng, fine=3), groups, count=99, seed=0) == 0.01
    x, y = of_categories(groups, rng)
    free = draw_orders(len(x), count=99, seed=0)
    assert all(KNN(x, y) > KNN(x, y[order]) for order in free)  # the usual null calls it aligned
    assert p_within(x, y, groups, count=99, seed=0) > 0.05


@pytest.mark.slow
def test_p_within_categories_is_uniform_where_only_categories_are_shared() -> None:
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(4), [12, 20, 28, 40])
    found = [
        p_within(*of_categories(groups, rng), groups, count=39, seed=seed) for seed in range(500)
    ]
    steps = np.sort(found)
    for level in (0.05, 0.1, 0.25, 0.5, 0.75):  # within three standard errors
        share = np.mean(steps <= level + 1e-9)
        assert share == pytest.approx(level, abs=3 * np.sqrt(level * (1 - level) / 500))


def test_partial_alignment_is_what_independent_regressions_leave() -> None:
    rng = np.random.default_rng(0)
    x, y, one, other = (normalize_rows(rng.standard_normal((40, 5))) for _ in range(4))
    x = normalize_rows(x + one)
    y = normalize_rows(y + one + other)
    orders = draw_orders(40, count=19, seed=0)
    labels = np.eye(4)[np.arange(40) % 4]  # squares of their similarities add nothing
    found = partial_alignment(x, y, [one, other, labels], orders)
    pairs = np.triu_indices(40, 1)
    linear = [(c @ c.T)[pairs] for c in (one, other, labels)]
    design = np.column_stack([np.ones(len(pairs[0])), *linear, *(each**2 for each in linear[:2])])

    def rest(values: np.ndarray) -> np.ndarray:
        return values - design @ np.linalg.lstsq(design, values)[0]

    first, second = rest((x @ x.T)[pairs]), rest((y @ y.T)[pairs])
    assert found.partial == pytest.approx(np.corrcoef(first, second)[0, 1])
    assert found.raw == pytest.approx(np.corrcoef((x @ x.T)[pairs], (y @ y.T)[pairs])[0, 1])
    whole = np.zeros((40, 40))
    whole[pairs] = second
    whole += whole.T
    for order, value in zip(orders, found.null, strict=True):
        again = rest(whole[np.ix_(order, order)][pairs])
        assert value == pytest.approx(np.corrcoef(first, again)[0, 1])


def jackknifed(x: np.ndarray, y: np.ndarray, control: np.ndarray) -> float:
    """Return the standard error of the residuals' correlation, a stimulus left out at a time."""
    pairs, n = np.triu_indices(len(x), 1), len(x)
    linear = (control @ control.T)[pairs]
    design = np.column_stack([np.ones(len(linear)), linear, linear**2])
    first, second = (
        values - design @ np.linalg.lstsq(design, values)[0]
        for values in ((x @ x.T)[pairs], (y @ y.T)[pairs])
    )
    kept = [(pairs[0] != i) & (pairs[1] != i) for i in range(n)]
    each = np.array(
        [
            (first[own] @ second[own])
            / np.sqrt((first[own] @ first[own]) * (second[own] @ second[own]))
            for own in kept
        ]
    )
    return float(np.sqrt((n - 1) / n * ((each - each.mean()) ** 2).sum()))


def test_the_interval_of_partial_alignment_is_the_literal_jackknife() -> None:
    rng = np.random.default_rng(4)
    x, y, control = (normalize_rows(rng.standard_normal((30, 4))) for _ in range(3))
    y = normalize_rows(x + y + control)
    found = partial_alignment(x, y, [control], draw_orders(30, count=19, seed=0))
    assert found.high - found.partial == pytest.approx(1.959964 * jackknifed(x, y, control))
    assert found.partial - found.low == pytest.approx(found.high - found.partial)


@pytest.mark.slow
def test_intervals_of_partial_alignment_cover() -> None:
    def drawn(n: int, rng: np.random.Generator):
        shared, own, control = rng.standard_normal((3, n, 3))
        x, y = np.hstack([shared, control]), np.hstack([shared + own, control])
        orders = draw_orders(n, count=19, seed=0)
        spaces = [normalize_rows(one) for one in (x, y, control)]
        return partial_alignment(*spaces[:2], spaces[2:], orders)

    truth = np.mean([drawn(1000, np.random.default_rng(one)).partial for one in range(8)])
    rng = np.random.default_rng(9)
    held = [one.low <= truth <= one.high for one in (drawn(100, rng) for _ in range(300))]
    assert 0.92 <= np.mean(held) <= 0.985


def of_trends(rng: np.random.Generator, *, fine: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the mutual k-NN of nine readers with six viewers, raw and once the categories that
    they share more the better they are are regressed out. fine: as much other structure.
    """
    groups, shared = rng.integers(0, 8, 200), rng.standard_normal((200, 4))
    centers = np.eye(8)[groups] - 1 / 8

    def space(skill: float) -> np.ndarray:
        noise = rng.standard_normal((200, 12))
        known = 3 * skill * centers @ rng.standard_normal((8, 12))
        return normalize_rows(known + fine * skill * shared @ rng.standard_normal((4, 12)) + noise)

    sides = [[space(skill) for skill in np.linspace(0.2, 1, count)] for count in (6, 9)]
    regression = Regression.on(indicators([groups]), k=10)

    def near(space: np.ndarray) -> np.ndarray:
        return regression.neighbors(regression.leave(space), k=10)

    raw = np.array([[KNN(x, y) for y in sides[1]] for x in sides[0]])
    lists = [[near(space) for space in side] for side in sides]
    left = [[(count_shared(x, y) / 10).mean() for y in lists[1]] for x in lists[0]]
    return raw, np.array(left)


def test_a_trend_that_categories_make_is_gone_without_them_and_a_finer_one_stays() -> None:
    ranks = np.arange(6), np.arange(9)
    sides = [Setups(one.astype(float), one % 3) for one in ranks]

    def p_of(scores: np.ndarray) -> float:
        return rank_trend(scores, sides[0], sides[1], draws=199).p

    raw, left = of_trends(np.random.default_rng(5), fine=0.0)
    assert p_of(raw) == 0.005
    assert p_of(left) > 0.05
    assert p_of(of_trends(np.random.default_rng(5), fine=1.0)[1]) == 0.005


def test_components_span_what_the_largest_singular_vectors_do() -> None:
    space = np.random.default_rng(6).standard_normal((30, 50)).astype(np.float32)
    found = np.stack(components(space, most=4), axis=1)
    left = np.linalg.svd(space - space.mean(axis=0), full_matrices=False)[0][:, :4]
    np.testing.assert_allclose(np.abs(found[:, 1:].T @ left).sum(), 4, rtol=1e-3)
    assert (found[:, 0] == 1).all()
    assert len(components(np.ones((30, 3)) * np.arange(30)[:, None], most=4)) == 2  # of rank 1


def test_a_planted_nuisance_explains_all_and_a_planted_signal_stays() -> None:
    rng = np.random.default_rng(1)
    nuisance, signal = rng.standard_normal((2, 150, 4))
    orders = draw_orders(150, count=99, seed=0)

    def aligned(*parts: np.ndarray) -> tuple[float, float]:
        """Return raw correlation and partial p of two spaces whose similarities are sums."""
        x, y = (
            np.hstack([normalize_rows(one) for one in (*parts, rng.standard_normal((150, 4)))])
            for _ in range(2)
        )
        found = partial_alignment(x, y, [normalize_rows(nuisance)], orders)
        return found.raw, found.p

    raw, p = np.transpose([aligned(nuisance) for _ in range(30)])
    assert raw.min() > 0.4
    assert np.mean(p) == pytest.approx(0.5, abs=0.16)  # three standard errors of uniform values
    assert all(aligned(nuisance, signal)[1] == 0.01 for _ in range(3))


def of_two_factors(
    rng: np.random.Generator, *, fine: float = 0.0
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return two spaces that share two factors, each with places of its own, and as much else as
    `fine` says.
    """
    factors, shared, spaces = [*rng.integers(0, 6, (2, 200))], rng.standard_normal((200, 4)), []
    for _ in range(2):
        centers = sum(2 * rng.standard_normal((6, 16))[groups] for groups in factors)
        other = fine * shared @ rng.standard_normal((4, 16))
        spaces.append(normalize_rows(centers + other + rng.standard_normal((200, 16))))
    return spaces[0], spaces[1], factors


def test_what_factors_leave_is_what_independent_regressions_leave() -> None:
    x, y, factors = of_two_factors(np.random.default_rng(2), fine=0.5)
    factors[1] = np.where(np.arange(200) == 7, 6, factors[1])  # a category of one stimulus
    orders = draw_orders(200, count=19, seed=0)
    found = residual_alignment(x, y, factors, orders, k=5)
    design, free = np.hstack([np.eye(7)[groups] for groups in factors]), np.arange(200) != 7

    def rest(values: np.ndarray) -> np.ndarray:
        return values - design @ np.linalg.lstsq(design, values)[0]

    def share(one: np.ndarray, other: np.ndarray) -> float:
        return KNN(normalize_rows(one[free]), normalize_rows(other[free]), k=5)

    assert found.n == 199
    assert found.score == pytest.approx(share(rest(x), rest(y)))
    expected = [share(rest(x), rest(rest(y)[order])) for order in orders]
    np.testing.assert_allclose(found.null, expected)
    assert found.p == (1 + sum(value >= found.score - 1e-9 for value in expected)) / 20


def test_two_shared_factors_are_more_than_either_but_not_than_both_and_finer_structure_is() -> None:
    x, y, factors = of_two_factors(np.random.default_rng(2))
    orders = draw_orders(200, count=99, seed=0)
    for groups in factors:
        assert p_within(x, y, groups, count=19, seed=0) == 0.05
        assert residual_alignment(x, y, [groups], orders, k=10).p == 0.01
    assert residual_alignment(x, y, factors, orders, k=10).p > 0.05
    x, y, factors = of_two_factors(np.random.default_rng(2), fine=1.0)
    assert residual_alignment(x, y, factors, orders, k=10).p == 0.01


def test_conjunctions_are_not_regressed_out_and_cells_of_one_stimulus_are_refused() -> None:
    rng = np.random.default_rng(0)
    one, other = np.arange(200) % 4, np.arange(200) // 4 % 3
    cells = 4 * other + one
    x, y = (
        normalize_rows(4 * rng.standard_normal((12, 9))[cells] + rng.standard_normal((200, 9)))
        for _ in range(2)
    )
    orders = draw_orders(200, count=19, seed=0)
    assert residual_alignment(x, y, [one, other], orders, k=10).p == 0.05
    assert residual_alignment(x, y, [cells], orders, k=10).score < 0.1
    with pytest.raises(MetricError, match="determine all but 0 of 200"):
        residual_alignment(x, y, [np.arange(200)], orders, k=10)


@pytest.mark.slow
def test_p_beyond_factors_is_nearly_uniform_where_only_these_are_shared() -> None:
    p = []
    for seed in range(200):
        x, y, factors = of_two_factors(np.random.default_rng(seed))
        orders = draw_orders(200, count=19, seed=seed)
        p.append(residual_alignment(x, y, factors, orders, k=10).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.12
    assert np.mean(p) == pytest.approx(0.5, abs=0.08)


def test_a_gallery_is_what_brute_force_finds_and_follows_the_formula() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 100)
    x, y = of_categories(groups, rng, fine=1)
    order = rng.permutation(800)
    found = gallery_scores(x, y, order=order, queries=20, sizes=(50, 800), k=10)
    for row, size in zip(found, (50, 800), strict=True):
        rows = order[:size]
        near = []
        for space in (x, y):
            products = space[rows[:20]] @ space[rows].T
            products[np.arange(20), np.arange(20)] = -9
            near.append(np.argsort(-products, axis=1)[:, :10])
        expected = [len({*a} & {*b}) / 10 for a, b in zip(*near, strict=True)]
        np.testing.assert_allclose(row, expected)
    x, y = of_categories(groups, rng)
    alone = gallery_scores(x, y, order=order, queries=400, sizes=(400, 800), k=10).mean(axis=1)
    for score, size in zip(alone, (400, 800), strict=True):
        assert score == pytest.approx(shared_by_categories(groups[order[:size]], k=10), rel=0.1)


def test_galleries_that_hold_no_queries_are_refused() -> None:
    x = np.eye(30)
    with pytest.raises(MetricError, match="galleries of 20 to 30 stimuli expected"):
        gallery_scores(x, x, order=np.arange(30), queries=20, sizes=(10,), k=5)


def test_a_paired_comparison_by_hand() -> None:
    a, b = np.array([1.0, 0.5, 0.5, 1.0]), np.array([0.5, 0.5, 0.0, 0.5])
    found = compare_paired(a, b, draws=4999, seed=0)
    assert found.value == pytest.approx(0.375)  # differences: 0.5, 0, 0.5, 0.5
    assert found.high - found.value == pytest.approx(1.959964 * 0.25 / 2)
    assert found.p == pytest.approx(4 / 16, abs=0.03)  # signs that reach as far: 2 of 8, twice
    assert found.needed == np.ceil(2.801585**2 * 0.0625 / 0.375**2)


def test_equal_models_are_tied_and_far_ones_have_ranks_of_their_own() -> None:
    rng = np.random.default_rng(0)
    terms = rng.standard_normal((4, 2000)) + np.array([0.0, 0.01, 1.0, 2.0])[:, None]
    low, high, apart = rank_intervals(terms.mean(axis=1), terms, draws=2000, seed=0)
    assert (low.tolist(), high.tolist()) == ([3, 3, 2, 1], [4, 4, 2, 1])
    assert apart[2, 3]
    assert not apart[0, 1]
    spread = rng.uniform(0.5, 3, 8)[:, None] * rng.standard_normal((8, 200))
    terms = spread + np.linspace(0, 0.5, 8)[:, None]
    low, high, apart = rank_intervals(terms.mean(axis=1), terms, draws=999, seed=0)
    np.testing.assert_array_equal(apart, apart.T)
    assert apart.sum() == 2 * (low - 1).sum() == 2 * (8 - high).sum()


@pytest.mark.slow
def test_intervals_cover_and_the_planned_number_of_stimuli_gives_its_power() -> None:
    rng, gap = np.random.default_rng(0), 0.05

    def compare(n: int, draws: int) -> Difference:
        shared = rng.random(n)
        a = (rng.random(n) < np.clip(shared + gap, 0, 1)).astype(float)
        return compare_paired(a, (rng.random(n) < shared).astype(float), draws=draws, seed=0)

    truth = gap - gap**2 / 2  # some chances are clipped at 1
    found = [compare(300, 19) for _ in range(1000)]
    assert 0.93 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.97
    needed = int(compare(200_000, 19).needed)
    hits = [compare(needed, 199).p <= 0.05 for _ in range(500)]
    assert 0.75 <= np.mean(hits) <= 0.85


@pytest.mark.slow
def test_rank_intervals_hold_all_ranks_in_at_least_95_percent_of_samples() -> None:
    rng, means, held = np.random.default_rng(0), np.array([0.0, 0.1, 0.2, 0.22, 0.5]), []
    for seed in range(400):
        terms = rng.standard_normal((5, 200)) + means[:, None] + rng.standard_normal(200)
        low, high, _ = rank_intervals(terms.mean(axis=1), terms, draws=500, seed=seed)
        rank = np.array([5, 4, 3, 2, 1])
        held.append(((low <= rank) & (rank <= high)).all())
    assert np.mean(held) >= 0.93


def test_draws_made_in_portions_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).standard_normal((3, 50))
    whole = compare_paired(values[0], values[1], draws=99, seed=3)
    ends = rank_intervals(values.mean(axis=1), values, draws=99, seed=3)
    monkeypatch.setattr("core.statistics.controls.AT_ONCE", 500)
    assert compare_paired(values[0], values[1], draws=99, seed=3) == whole
    for one, same in zip(
        rank_intervals(values.mean(axis=1), values, draws=99, seed=3), ends, strict=True
    ):
        np.testing.assert_array_equal(one, same)
