"""Neighbors against a literal sort, on real values, among ties and through the sieve."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.errors import MetricError
from core.metrics.knn import mutual_terms
from core.spaces import neighbors
from core.spaces.neighbors import make_sieve, nearest, possible, sides_of
from core.spaces.preprocess import normalize_rows
from tests.metrics.oracles import nearest_literally

small_integers = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=3, max_side=12),
    elements=st.integers(-3, 3),
)


@given(space=small_integers.filter(lambda space: (space != space[0]).any()), data=st.data())
def test_equal_a_literal_sort_even_where_many_are_tied(space, data):
    k = data.draw(st.integers(1, len(space) - 1))
    with mock.patch.object(neighbors, "MOST_TIED", 1.0):
        assert nearest(space, k=k).tolist() == nearest_literally(space, k)


@pytest.mark.parametrize(
    "space",
    [
        np.sign(
            np.random.default_rng(4).standard_normal((50, 1))
        ),  # one dimension, scaled to unit length
        np.random.default_rng(5).standard_normal((4, 6)).repeat(20, axis=0),
        np.eye(30),
    ],
)
@pytest.mark.parametrize("k", [1, 5])
def test_where_the_index_would_choose_most_neighbors_there_are_none(space, k):
    with pytest.raises(
        MetricError,
        match=r"% of this space's neighbors are as similar as the next in line.* distinct",
    ):
        nearest(space, k=k)


def anisotropic(n: int, dims: int) -> np.ndarray:
    """Return stimuli whose mean cosine is 0.99999."""
    rng = np.random.default_rng(9)
    apart = normalize_rows(rng.standard_normal((n, dims))) * math.sqrt(1e-5)
    return normalize_rows(apart + normalize_rows(rng.standard_normal((1, dims)))).astype(np.float32)


def test_what_all_stimuli_have_in_common_makes_no_ties():
    """Rounded to float32, cosines so similar have few values; exact ones tell the stimuli apart."""
    space = anisotropic(4096, 512)
    assert nearest(space[:60], k=5).tolist() == nearest_literally(space[:60], 5)
    exact = space[::64].astype(np.float64) @ space.astype(np.float64).T
    exact[np.arange(64), np.arange(0, 4096, 64)] = -np.inf
    near = nearest(space, k=10)
    assert near[::64].tolist() == np.argsort(-exact, axis=1)[:, :10].tolist()
    scaled = neighbors.unit_scaled(space)
    with pytest.raises(MetricError, match="% of this space's neighbors are as similar"):
        neighbors.check_ties(neighbors.Sides(scaled, scaled), 10)


def test_duplicates_stay_tied_whatever_all_have_in_common():
    space = anisotropic(120, 6).repeat(2, axis=0)
    assert nearest(space, k=3)[:, 0].tolist() == [i ^ 1 for i in range(240)]


@pytest.mark.parametrize("rows", [1, 2, 7, 64, 199])
def test_do_not_depend_on_the_block(rows, monkeypatch):
    rng = np.random.default_rng(1)
    space = rng.standard_normal((200, 33)).astype(np.float32)
    space[100:150] = space[
        :50
    ]  # duplicates, whose inner products a matrix product rounds differently
    whole = nearest(space, k=20)
    monkeypatch.setattr(neighbors, "BLOCK_BYTES", rows * 8 * len(space))
    np.testing.assert_array_equal(nearest(space, k=20), whole)


def test_duplicates_are_each_other_s_neighbors():
    space = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], dtype=np.float32)
    with mock.patch.object(neighbors, "MOST_TIED", 1.0):
        near = [set(row) for row in nearest(space, k=2).tolist()]
    assert near[0] == {2, 4}
    assert near[2] == {0, 4}
    assert near[4] == {0, 2}
    assert 3 in near[1]


def test_unrelated_spaces_break_ties_independently():
    """A quarter of the stimuli of each space share one vector: broken by index, their ties would
    align the spaces.
    """
    excess = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        spaces = [normalize_rows(rng.standard_normal((200, 8))) for _ in range(2)]
        for space in spaces:
            space[rng.permutation(200)[:50]] = space[0]
        a, b = (nearest(space, k=10) for space in spaces)
        excess.append(mutual_terms(a, b).mean() - 10 / 199)
    assert abs(np.mean(excess)) < 4 * np.std(excess) / np.sqrt(30)


def test_the_order_of_ties_is_that_of_the_vectors_and_no_other():
    space = np.random.default_rng(7).standard_normal((50, 3)).repeat(2, axis=0)
    assert neighbors.tie_order(space).tolist() == neighbors.tie_order(space.copy()).tolist()
    assert neighbors.tie_order(space).tolist() != neighbors.tie_order(space + 1e-9).tolist()
    assert sorted(neighbors.tie_order(space)) == list(range(100))


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_tiny_and_huge_features_neither_vanish_nor_overflow(size):
    space = np.random.default_rng(2).standard_normal((20, 5))
    np.testing.assert_array_equal(
        nearest((space * size).astype(np.float32), k=5), nearest(space, k=5)
    )


def test_minus_zero_ties_with_zero():
    space = np.array([[1, 0], [-0.0, 1], [0.0, 1]], dtype=np.float32)
    with mock.patch.object(neighbors, "MOST_TIED", 1.0):
        other = nearest(np.abs(space), k=2)[0].tolist()
        assert sorted(nearest(space, k=2)[0].tolist()) == sorted(other) == [1, 2]
        assert (
            len({tuple(nearest(space * [1, size], k=1)[0]) for size in range(1, 30)}) == 2
        )  # either may come first


@settings(max_examples=20)
@given(n=st.integers(3, 9), k=st.integers(-2, 12))
def test_k_outside_its_range_is_refused(n, k):
    space = np.random.default_rng(n).standard_normal((n, 3))
    if 1 <= k <= n - 1:
        assert nearest(space, k=k).shape == (n, k)
    else:
        with pytest.raises(
            MetricError, match=rf"k must lie in 1 … {n - 1} for {n} stimuli; got {k}$"
        ):
            nearest(space, k=k)


K = 5
N = 407  # no multiple of a group


def spaces() -> dict[str, np.ndarray]:
    """Return spaces whose products in float32 are near each other, tiny, or equal."""
    rng = np.random.default_rng(0)
    plain = rng.standard_normal((N, 48)).astype(np.float32)
    twice = plain.copy()
    twice[207:] = twice[:200]
    return {
        "plain": plain,
        "common offset": normalize_rows(plain + 100),
        "uneven lengths": plain * np.geomspace(1e-30, 1e30, N, dtype=np.float32)[:, None],
        "duplicates": twice,
        "one huge dimension": plain * np.array([1e4, *[1.0] * 47], dtype=np.float32),
    }


@pytest.fixture(params=spaces())
def space(request) -> np.ndarray:
    return spaces()[request.param]


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(neighbors, "MANY", 100)


def marked(space: np.ndarray) -> np.ndarray:
    """Return as a matrix which stimuli the sieve leaves."""
    pairs = possible(make_sieve(*sides_of(space), rows=N), slice(0, N), K)
    assert pairs is not None
    assert (np.diff(pairs.row) >= 0).all()
    matrix = np.zeros((N, N), dtype=int)
    np.add.at(matrix, pairs, 1)
    assert matrix.max() == 1
    return matrix == 1


@pytest.mark.parametrize("name", sorted(spaces().keys() - {"uneven lengths"}))
def test_all_neighbors_are_possible(name):
    space = spaces()[name]
    kept = marked(space)
    near = nearest(space, k=K)  # of so few stimuli found without a sieve
    assert np.take_along_axis(kept, near.astype(int), axis=1).all()
    assert not np.diagonal(kept).any()


def test_where_the_rounding_of_the_longest_vector_leaves_all_there_is_no_sieve():
    sides = sides_of(spaces()["uneven lengths"])
    assert possible(make_sieve(*sides, rows=N), slice(0, N), K) is None


def test_few_others_are_possible():
    assert K <= marked(spaces()["plain"]).sum(axis=1).mean() < 1.5 * K


@pytest.mark.parametrize("rows", [1, 7, N])
@pytest.mark.usefixtures("many")
def test_neighbors_through_a_sieve_are_those_of_all_products(space, rows, monkeypatch):
    monkeypatch.setattr(neighbors, "BLOCK_BYTES", rows * 8 * len(space))
    through = nearest(space, k=K)
    monkeypatch.setattr(neighbors, "MANY", np.inf)
    np.testing.assert_array_equal(through, nearest(space, k=K))


def test_the_room_is_wider_than_any_rounding():
    """Products of float32 lie within half the room of the exact ones."""
    rng = np.random.default_rng(2)
    for dims in (3, 300, 3000):
        scaled = normalize_rows(rng.standard_normal((200, dims)) + 1)
        around = scaled - scaled.mean(axis=0)
        rough = scaled.astype(np.float32) @ around.astype(np.float32).T
        apart = np.abs(rough - scaled @ around.T)
        made = make_sieve(scaled, scaled, rows=1)
        lengths = np.linalg.norm(scaled, axis=1)
        assert (apart <= 0.5 * made.slack * lengths[:, None]).all()
        assert apart.max() > 1e-4 * neighbors.UNIT  # rounding is there to be bounded
