"""The sieve never loses a neighbor, and leaves few that are none."""

from __future__ import annotations

import numpy as np
import pytest

from core.spaces import neighbors
from core.spaces.neighbors import make_sieve, nearest, possible, sides_of
from core.spaces.preprocess import normalize_rows

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


@pytest.mark.usefixtures("many")
def test_where_a_sieve_leaves_much_all_are_compared(monkeypatch):
    space = np.random.default_rng(1).standard_normal((400, 30)).astype(np.float32)
    space[100:] = space[100]  # most of the stimuli share one vector
    with monkeypatch.context() as patch:
        patch.setattr(neighbors, "MOST_TIED", 1.0)
        patch.setattr(neighbors, "_nearest_of_some", None)
        through = nearest(space, k=K)
        patch.setattr(neighbors, "MANY", np.inf)
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
