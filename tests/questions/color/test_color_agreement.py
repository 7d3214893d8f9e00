"""Agreement is what its definition says, shuffled colors agree by chance, and a copy agrees in
full.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from core.errors import MetricError
from core.questions.color.layout import permuted, rank_agreement
from core.statistics.nulls import draw_orders

SEEDS = st.integers(0, 2**32 - 1)


def apart(seed: int, n: int = 9) -> np.ndarray:
    return squareform(pdist(np.random.default_rng(seed).normal(size=(n, 3))))


def tau(x: np.ndarray, y: np.ndarray) -> float:
    return rank_agreement(x, y, permutations=0)["value"]


@settings(max_examples=20)
@given(SEEDS)
def test_tau_is_that_of_a_slow_count_symmetric_and_of_order_alone(seed):
    x, y = apart(seed), apart(seed + 1)
    pairs = list(combinations(range(9), 2))
    u, v = (np.array([matrix[pair] for pair in pairs]) for matrix in (x, y))
    agreeing = sum(
        np.sign(u[i] - u[j]) * np.sign(v[i] - v[j]) for i, j in combinations(range(len(pairs)), 2)
    )
    assert tau(x, y) == pytest.approx(agreeing / (len(pairs) * (len(pairs) - 1) / 2))
    assert tau(y, x) == pytest.approx(tau(x, y))
    assert tau(np.exp(x) - 1, y) == pytest.approx(tau(x, y))
    order = np.random.default_rng(seed).permutation(9)
    both = [side[np.ix_(order, order)] for side in (x, y)]
    assert tau(*both) == pytest.approx(tau(x, y))
    assert tau(x, both[0]) < 0.999  # shuffling one side is seen


def test_a_copy_agrees_in_full_and_no_shuffle_does_better():
    x = apart(0, 12)
    found = rank_agreement(x, x, permutations=99, draws=50)
    assert found["value"] == found["low"] == found["high"] == pytest.approx(1)
    assert found["p"] == 0.01


def test_p_and_chance_by_hand():
    x, y = apart(0), apart(1)
    found = rank_agreement(x, y, permutations=20, seed=3)
    shuffled = [
        stats.kendalltau(squareform(x), squareform(y[np.ix_(order, order)])).statistic
        for order in draw_orders(9, count=20, seed=3)
    ]
    assert found["chance"] == pytest.approx(np.mean(shuffled))
    assert found["p"] == (1 + sum(value >= found["value"] for value in shuffled)) / 21
    assert np.isnan([found["low"], found["high"]]).all()


def test_less_is_more_alike_if_a_score_says_so_and_without_a_value_there_is_no_p():
    def score(order: np.ndarray) -> float:
        return float(np.abs(order - np.arange(5)).sum())

    assert permuted(score, 5, permutations=30, higher_is_more_similar=False)["p"] < 0.2
    assert permuted(score, 5, permutations=30)["p"] == 1
    assert np.isnan(permuted(lambda _: np.nan, 5, permutations=3)["p"])


def test_shuffled_labels_agree_by_chance_and_their_p_is_uniform():
    truth, rng = apart(0, 8), np.random.default_rng(7)
    found = []
    for seed in range(60):
        order = rng.permutation(8)
        other = truth[np.ix_(order, order)]
        one = rank_agreement(truth, other, permutations=19, seed=seed)
        found.append((one["value"], one["p"]))
    values, p = np.array(found).T
    spread = p - rng.random(60) / 20  # p takes 20 values; spread evenly between them
    assert stats.kstest(spread, "uniform").pvalue > 0.001
    assert abs(values.mean()) < 4 * values.std() / 60**0.5


def test_intervals_hold_the_value_and_narrow_with_more_colors():
    def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
        points = np.random.default_rng(0).normal(size=(n, 3))
        noise = np.random.default_rng(1).normal(size=(n, 3)) / 2
        return squareform(pdist(points)), squareform(pdist(points + noise))

    few, many = (rank_agreement(*noisy(n), permutations=0, draws=100) for n in (8, 30))
    assert few["low"] <= few["value"] <= few["high"] <= 1
    assert many["high"] - many["low"] < few["high"] - few["low"]


def test_a_color_drawn_twice_is_no_pair():
    """Were it one, the pair of a color with its copy would be the nearest in both, and raise the
    correlation of shuffled colors.
    """
    x, order = apart(0, 8), np.random.default_rng(0).permutation(8)
    y = x[np.ix_(order, order)]
    slow = []
    for take in np.random.default_rng(5).integers(8, size=(50, 8)):
        pairs = [(i, j) for i, j in combinations(range(8), 2) if take[i] != take[j]]
        u, v = ([side[take[i], take[j]] for i, j in pairs] for side in (x, y))
        slow.append(stats.kendalltau(u, v).statistic)
    row = rank_agreement(x, y, permutations=0, draws=50, seed=5)
    low, high = np.clip(row["value"] + np.quantile(slow - np.mean(slow), (0.025, 0.975)), -1, 1)
    assert (row["low"], row["high"]) == pytest.approx((low, high))


def test_ties_share_a_rank():
    same = np.array(
        [[0, 1, 1, 2, 2], [1, 0, 1, 2, 2], [1, 1, 0, 2, 2], [2, 2, 2, 0, 1], [2, 2, 2, 1, 0]], float
    )
    other = np.array(
        [[0, 2, 1, 1, 1], [2, 0, 2, 1, 1], [1, 2, 0, 1, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 0]], float
    )
    expected = stats.kendalltau(squareform(same), squareform(other)).statistic
    assert tau(same, other) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (apart(0, 4), apart(0, 4), "at least 5 colors expected"),
        (apart(0, 6), np.ones((6, 6)) - np.eye(6), "all colors are equally dissimilar"),
    ],
)
def test_what_cannot_be_compared_is_refused(x, y, message):
    with pytest.raises(MetricError, match=message):
        rank_agreement(x, y, permutations=1)
