"""Matching kernels with no pairs given: whole where it can be, exact chance, slow oracles."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial

import numpy as np
import pytest

from core.metrics import METRICS
from core.questions.translation.question import (
    agreement,
    chance_interval,
    chance_of,
    correlate_pairs,
    fixed_points,
    kernel_of,
    match,
    match_profiles,
    partner_rank,
    summed_points,
)

RNG = np.random.default_rng(0)
SPACE = RNG.normal(size=(24, 6))


def rotated(space: np.ndarray) -> np.ndarray:
    basis = np.linalg.qr(RNG.normal(size=(space.shape[1],) * 2))[0]
    return space @ basis


def test_a_rotated_copy_is_matched_whole() -> None:
    order = RNG.permutation(24)
    a, b = kernel_of(SPACE), kernel_of(3 * rotated(SPACE)[order])
    found = match(a, b, starts=1, seed=0)
    assert (order[found] == np.arange(24)).all()
    assert agreement(a, b, found) == pytest.approx(1)
    assert partner_rank(a, b, found, np.argsort(order)) == 1


def test_the_order_of_the_stimuli_tells_nothing() -> None:
    """Of unrelated spaces one partner is found on average."""
    found = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        kernels = [kernel_of(rng.normal(size=(16, 6))) for _ in range(2)]
        matched = match(*kernels, starts=1, seed=seed)
        assert sorted(matched) == list(range(16))
        found += int(np.count_nonzero(matched == np.arange(16)))
    assert chance_of(found, 16, 4) > 1e-3


def test_agreement_is_linear_cka_and_the_best_of_all_matchings_is_found() -> None:
    x, y = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3))
    x, y = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (x, y))
    a, b = kernel_of(x), kernel_of(y)
    order = RNG.permutation(6)
    assert agreement(a, b, order) == pytest.approx(METRICS["cka"](x, y[order]), abs=1e-9)
    most = max(agreement(a, b, np.array(one)) for one in permutations(range(6)))
    found = agreement(a, b, match(a, b, starts=30, seed=0))
    assert found == pytest.approx(most)


def test_the_rank_of_the_true_partner_is_counted_one_by_one() -> None:
    a, b = kernel_of(SPACE), kernel_of(SPACE + RNG.normal(size=SPACE.shape))
    matched, truth = RNG.permutation(24), np.arange(24)
    ranks = []
    for i in range(24):
        apart = [sum((a[i, k] - b[matched[k], j]) ** 2 for k in range(24)) for j in range(24)]
        ranks.append(sum(one > apart[i] for one in apart) / 23)
    assert partner_rank(a, b, matched, truth) == pytest.approx(np.mean(ranks))


def test_profiles_match_a_copy_whole() -> None:
    order = RNG.permutation(24)
    found = match_profiles(kernel_of(SPACE), kernel_of(SPACE[order]))
    assert (order[found] == np.arange(24)).all()


def test_chance_is_that_of_all_permutations() -> None:
    counts = [sum(i == j for i, j in enumerate(one)) for one in permutations(range(5))]
    exact = np.bincount(counts, minlength=6) / factorial(5)
    assert fixed_points(5) == pytest.approx(exact)
    twice = [i + j for i, j in product(counts, counts)]
    assert summed_points(5, 2)[:11] == pytest.approx(np.bincount(twice, minlength=11) / 120**2)
    for n in (5, 64, 1000):
        chances = fixed_points(n)
        assert chances.sum() == pytest.approx(1)
        assert chances @ np.arange(len(chances)) == pytest.approx(1)


def test_the_interval_of_chance_holds_what_is_left_of_its_tails() -> None:
    for n, draws in ((5, 1), (64, 5)):
        low, high = (round(end * n * draws) for end in chance_interval(n, draws))
        chances = summed_points(n, draws)
        assert chances[:low].sum() <= 0.025
        assert chances[high + 1 :].sum() <= 0.025 + 1e-12
        assert chance_of(high + 1, n, draws) <= 0.025 + 1e-12
    assert chance_of(0, 64, 5) == 1
    assert chance_of(320, 64, 5) == pytest.approx(0, abs=1e-30)


def test_pairs_are_correlated_by_their_models() -> None:
    values = RNG.normal(size=8)
    x = values[:, None] + values
    y = x + 0.1 * RNG.normal(size=x.shape)
    y = (y + y.T) / 2
    groups = np.arange(8.0)
    found = correlate_pairs(x, y, groups, draws=199)
    upper = np.triu_indices(8, 1)
    ranks = [np.argsort(np.argsort(one[upper])) for one in (x, y)]
    assert found.value == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert found.p == pytest.approx(1 / 200)
    assert found.low < found.value <= found.high <= 1
    few = correlate_pairs(x, y, np.repeat([0.0, 1.0], 4))
    assert "6 recipes" in few.reason
    flat = correlate_pairs(np.ones((8, 8)), y, groups)
    assert np.isnan(flat.value)
