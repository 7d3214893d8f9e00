"""Permuting cached neighbors gives what shuffling a space and finding its neighbors anew gives."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MetricError
from core.pairs.lists import overlaps, permuted_overlaps
from core.spaces.neighbors import nearest


def spaces(seed: int, layers: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((layers, n, 5))


def neighbors(layers: np.ndarray, k: int) -> np.ndarray:
    return np.stack([nearest(space, k=k) for space in layers])


def draw(seed: int, count: int, n: int) -> np.ndarray:
    return np.stack([np.random.default_rng(seed + i).permutation(n) for i in range(count)])


@given(
    seed=st.integers(0, 2**31),
    layers=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    n=st.integers(3, 25),
    data=st.data(),
)
def test_equals_shuffling_the_space_and_finding_its_neighbors_anew(seed, layers, n, data):
    k = data.draw(st.integers(1, n - 1))
    x, y = spaces(seed, layers[0], n), spaces(seed + 1, layers[1], n)
    orders = draw(seed, 3, n)
    expected = [overlaps(neighbors(x, k), neighbors(y[:, order], k), k=k) for order in orders]
    np.testing.assert_array_equal(
        permuted_overlaps(neighbors(x, k), neighbors(y, k), orders, k=k), expected
    )


def test_a_hand_computed_case():
    """Stimuli 0, 1 | 2, 3 are pairs in both; after swapping 1 and 2 in y the pairs are 0, 2 | 1, 3,
    which share nothing with x.
    """
    pairs = np.array([[[1], [0], [3], [2]]], dtype=np.int32)
    orders = np.array([[0, 1, 2, 3], [0, 2, 1, 3], [2, 3, 0, 1]])
    assert permuted_overlaps(pairs, pairs, orders, k=1).ravel().tolist() == [1, 0, 1]


def test_models_may_be_stacked_and_permutations_come_in_any_batch():
    near_x, near_y = neighbors(spaces(0, 5, 60), 10), neighbors(spaces(1, 4, 60), 12)
    orders = draw(2, 9, 60)
    whole = permuted_overlaps(near_x, near_y, orders, k=7)
    np.testing.assert_array_equal(
        permuted_overlaps(near_x[2:4], near_y[:1], orders, k=7), whole[:, 2:4, :1]
    )
    np.testing.assert_array_equal(permuted_overlaps(near_x, near_y, orders[4:], k=7), whole[4:])


@pytest.mark.parametrize("cores", [1, 3])
def test_does_not_depend_on_the_number_of_threads(cores, monkeypatch):
    near_x, near_y = neighbors(spaces(3, 2, 50), 10), neighbors(spaces(4, 3, 50), 10)
    orders = draw(5, 7, 50)
    expected = permuted_overlaps(near_x, near_y, orders, k=10)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("core.machine.processes.count_cores", lambda: cores)
    np.testing.assert_array_equal(permuted_overlaps(near_x, near_y, orders, k=10), expected)


def test_a_layer_without_neighbors_has_no_score_and_spoils_no_other():
    near_x, near_y = neighbors(spaces(6, 3, 30), 5), neighbors(spaces(7, 2, 30), 5)
    orders = draw(8, 4, 30)
    whole = permuted_overlaps(near_x, near_y, orders, k=5)
    near_x[1], near_y[0] = -1, -1
    scores = permuted_overlaps(near_x, near_y, orders, k=5)
    assert np.isnan(scores[0]).tolist() == [[True, False], [True, True], [True, False]]
    np.testing.assert_array_equal(scores[:, [0, 2], 1], whole[:, [0, 2], 1])


def test_tied_neighbors_keep_the_order_that_they_had():
    """Ties go to the lower index; a shuffled copy would break them anew, while permuted neighbors
    are those that were found.
    """
    tied = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    order = np.array([[2, 1, 0, 3]])
    with mock.patch("core.spaces.neighbors.MOST_TIED", 1.0):
        found = neighbors(tied[None], 1)
    assert found.ravel().tolist() == [1, 0, 0, 0]
    by_hand = np.array(
        [[[2], [2], [1], [2]]], dtype=np.int32
    )  # 0 and 2 have changed names and places
    assert permuted_overlaps(by_hand, found, order, k=1).item() == 1


def test_other_stimuli_are_refused():
    with pytest.raises(
        MetricError, match="expected neighbors over the same stimuli; got 20 and 21 stimuli"
    ):
        permuted_overlaps(
            neighbors(spaces(0, 1, 20), 5), neighbors(spaces(0, 1, 21), 5), draw(0, 1, 20), k=5
        )


@pytest.mark.parametrize("k", [0, 6])
def test_more_neighbors_than_were_kept_are_refused(k):
    near = neighbors(spaces(0, 1, 20), 5)
    with pytest.raises(
        MetricError, match=rf"k must lie in 1 … 5, the neighbors kept for each stimulus; got {k}"
    ):
        permuted_overlaps(near, near, draw(0, 1, 20), k=k)


@pytest.mark.parametrize("orders", [[[0, 1, 2, 3]], [[0, 1, 2, 3, 3]], [[1, 2, 3, 4, 5]]])
def test_what_is_no_permutation_is_refused(orders):
    near = neighbors(spaces(0, 1, 5), 2)
    with pytest.raises(
        MetricError,
        match="permutations of 0 … 4 expected, one in each row; draw them with draw_orders",
    ):
        permuted_overlaps(near, near, np.array(orders), k=2)
