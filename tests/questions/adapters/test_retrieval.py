"""Ranks by counting one at a time; ties are answered as chance would break them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError, MetricError
from core.questions.adapters.maps import Ranks, median_rank, rank_own, recall


def spaces(seed: int, n: int = 9, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d))


@given(seed=st.integers(0, 200))
def test_a_rank_is_one_more_than_those_more_similar(seed: int) -> None:
    x, y = spaces(seed)
    ranks = rank_own(x, y)
    for i in range(len(x)):
        cosines = [x[i] @ y[j] / np.linalg.norm(x[i]) / np.linalg.norm(y[j]) for j in range(len(y))]
        assert ranks.above[i] == sum(
            cosine > cosines[i] for j, cosine in enumerate(cosines) if j != i
        )
        assert ranks.tied[i] == 1


def test_three_stimuli_by_hand() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    y = np.array([[1.0, 0.1], [1.0, 0.0], [0.5, 0.6]])
    ranks = rank_own(x, y)
    assert ranks.above.tolist() == [1, 2, 0]
    assert [recall(ranks, k) for k in (1, 2, 3)] == [1 / 3, 2 / 3, 1.0]
    assert median_rank(ranks) == 2


@given(
    sizes=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=4),
    k=st.integers(1, 8),
)
def test_recall_of_ties_is_the_mean_over_all_orders(sizes: list[tuple[int, int]], k: int) -> None:
    ranks = Ranks(np.array([above for above, _ in sizes]), np.array([tied for _, tied in sizes]))
    shares = []
    for above, tied in sizes:
        orders = list(itertools.permutations(range(tied)))
        shares.append(np.mean([above + order.index(0) < k for order in orders]))
    assert recall(ranks, k) == pytest.approx(np.mean(shares))


def test_a_side_that_tells_two_halves_apart_and_no_more_is_at_the_chance_of_halves() -> None:
    x, _ = spaces(0, n=8)
    y = np.repeat(x[:2], 4, axis=0)
    ranks = rank_own(y, y)
    assert set(ranks.tied.tolist()) == {4}
    assert recall(ranks, 1) == 1 / 4
    assert median_rank(ranks) == 2.5


@given(seed=st.integers(0, 50))
def test_a_common_rotation_and_any_lengths_change_nothing_but_one_sides_rotation_does(
    seed: int,
) -> None:
    x, y = spaces(seed, n=20)
    rng = np.random.default_rng(seed)
    turn, lengths = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.uniform(0.5, 2, size=(20, 1))
    np.testing.assert_array_equal(
        rank_own(x, y).above, rank_own(x @ turn * lengths, y @ turn).above
    )
    assert (rank_own(x, x).above == 0).all()
    assert (rank_own(x, -x).above == 19).all()


def test_what_has_no_cosine_is_refused() -> None:
    x, y = spaces(0)
    with pytest.raises(InputError, match="vectors of 3 and 2 dimensions have no cosine"):
        rank_own(x, y[:, :2])
    with pytest.raises(MetricError, match="have the same vector"):
        rank_own(x, np.ones_like(y))
