"""Pairs of pixels are within the radius and inside their picture; PMI is that of a table worked out
by hand.
"""

from __future__ import annotations

from collections import Counter
from math import hypot, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.errors import InputError, MetricError
from core.questions.color import counts as co


def numbered(height: int, width: int, first: int = 0) -> np.ndarray:
    """Return a picture whose every pixel has a color of its own: its number, row by row, in base
    256.
    """
    numbers = np.arange(first, first + height * width)
    return (
        np.stack([numbers // 65536, numbers // 256 % 256, numbers % 256], axis=1)
        .astype(np.uint8)
        .reshape(height, width, 3)
    )


def number(colors: np.ndarray) -> np.ndarray:
    return colors.astype(int) @ (65536, 256, 1)


def draw(
    pictures: list[np.ndarray], *, radius: float = 4.0, pairs: int = 20_000, seed: int = 0
) -> np.ndarray:
    found = co.sample_pairs(pictures, radius=radius, pairs=pairs, rng=np.random.default_rng(seed))
    return np.stack([number(colors) for colors in found], axis=1)


@pytest.mark.parametrize("radius", [1.0, 1.5, 2.0, 3.0, 4.0])
def test_all_pairs_within_the_radius_and_no_others_come_up_borders_included(radius):
    height, width = 6, 9
    pairs = draw([numbered(height, width)], radius=radius, pairs=60_000)
    places = [divmod(at, width) for at in range(height * width)]
    near = {
        (a, b)
        for a, p in enumerate(places)
        for b, q in enumerate(places)
        if a != b and hypot(p[0] - q[0], p[1] - q[1]) <= radius
    }
    assert set(map(tuple, pairs.tolist())) == near


def test_each_pair_is_as_likely():
    pairs = draw([numbered(3, 3)], radius=1.0, pairs=24_000)
    counts = list(Counter(map(tuple, pairs.tolist())).values())
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 0.001


def test_each_picture_is_as_likely_whatever_its_size():
    pictures = [numbered(4, 4), numbered(20, 10, first=100), numbered(4, 4, first=1000)]
    pairs = draw(pictures, pairs=30_000)
    of = np.digitize(pairs, [100, 1000])
    assert (of[:, 0] == of[:, 1]).all()
    assert stats.chisquare(np.bincount(of[:, 0])).pvalue > 0.001


def test_a_row_of_pixels_is_a_picture_and_a_single_one_holds_no_pair():
    assert set(np.abs(np.subtract(*draw([numbered(1, 5)], radius=2.0).T))) == {1, 2}
    with pytest.raises(
        InputError, match="a picture of 1 × 1 pixels holds no pair of pixels; leave it out"
    ):
        draw([numbered(1, 1)])


def test_offsets_of_four_pixels():
    steps = co.offsets(4.0)
    assert len(steps) == 48  # the lattice points of a disc of radius 4, without its middle
    assert {tuple(step) for step in steps} == {tuple(-step) for step in steps}


def test_cells_of_a_grid_and_the_colors_in_their_middle():
    colors = np.array([[0, 0, 0], [31, 32, 255], [255, 255, 255]], np.uint8)
    assert list(co.cells(colors, grid=8)) == [0, 0 * 64 + 1 * 8 + 7, 511]
    assert co.cell_centers(np.array([0, 15, 511]), grid=8) == pytest.approx(
        np.array([[15.5, 15.5, 15.5], [15.5, 47.5, 239.5], [239.5, 239.5, 239.5]])
    )
    with pytest.raises(InputError, match=r"a grid has 2 to 16 steps per channel; got 17"):
        co.cells(colors, grid=17)


@given(st.integers(2, 16), st.integers(0, 255))
def test_a_cells_color_lies_in_it_and_is_its_mean(grid, level):
    every = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
    cell = co.cells(every[level : level + 1], grid=grid)
    inside = every[co.cells(every, grid=grid) == cell]
    assert co.cell_centers(cell, grid=grid)[0] == pytest.approx(inside.astype(float).mean(axis=0))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_counts_are_symmetric_and_of_both_orders(pairs):
    first, second = np.array(pairs).T
    table = co.count_pairs(first, second, kinds=5)
    slow = np.zeros((5, 5), int)
    for a, b in pairs:
        slow[a, b] += 1
        slow[b, a] += 1
    assert (table == slow).all()
    assert (table == table.T).all()
    assert table.sum() == 2 * len(pairs)


def test_colors_are_counted_in_parts_and_by_seed(monkeypatch):
    pictures = [np.random.default_rng(1).integers(0, 256, (8, 8, 3)).astype(np.uint8)]
    monkeypatch.setattr(co, "_BATCH", 70)
    one, again, other = (
        co.count_colors(pictures, pairs=200, grid=3, seed=seed) for seed in (0, 0, 1)
    )
    assert one.sum() == 400
    assert (one == again).all()
    assert not (one == other).all()


def test_merged_kinds_sum_their_counts():
    counts = np.array([[2, 1, 0], [1, 4, 3], [0, 3, 6]])
    assert co.merge(counts, np.array([0, 1, 0]), kinds=2).tolist() == [[8, 4], [4, 4]]


def test_pmi_by_hand():
    """Of 20 ends 8 are A, 8 B, 4 C; p(A, A) = 6/20, p(A, B) = 2/20, p(B, B) = 4/20, p(B, C) = 2/20,
    p(C, C) = 2/20.
    """
    counts = np.array([[6, 2, 0], [2, 4, 2], [0, 2, 2]])
    with pytest.raises(
        MetricError, match="1 pairs were never seen; smooth, or keep only kinds seen more often"
    ):
        co.pmi(counts, smoothing=0.0)
    seen = np.array([[6, 2], [2, 4]])  # A 8/14, B 6/14
    assert co.pmi(seen, smoothing=0.0) == pytest.approx(
        np.array([[log(6 * 14 / 64), log(2 * 14 / 48)], [log(2 * 14 / 48), log(4 * 14 / 36)]])
    )
    smoothed = np.array([[7, 3, 1], [3, 5, 3], [1, 3, 3]]) / 29  # A 11/29, B 11/29, C 7/29
    alone = np.array([11, 11, 7]) / 29
    assert co.pmi(counts, smoothing=1.0) == pytest.approx(np.log(smoothed / np.outer(alone, alone)))
    assert co.dissimilarity(co.pmi(seen, smoothing=0.0)) == pytest.approx(
        np.array([[0, log(4 * 48 / 36 / 2)], [log(4 * 48 / 36 / 2), 0]])
    )


def test_independent_kinds_have_no_information():
    often = np.array([1, 2, 5])
    assert co.pmi(np.outer(often, often), smoothing=0.0) == pytest.approx(
        np.zeros((3, 3)), abs=1e-12
    )


@pytest.mark.parametrize(
    ("counts", "smoothing", "message"),
    [
        ([[1, 2], [0, 1]], 1.0, "a symmetric table of counts expected"),
        ([[1, 0], [0, 0]], 1.0, "kind 1 was never seen; leave it out"),
        ([[1, 1], [1, 1]], -1.0, "smoothing is 0 or more; got -1"),
    ],
)
def test_tables_without_information_are_refused(counts, smoothing, message):
    with pytest.raises(MetricError, match=message):
        co.pmi(np.array(counts), smoothing=smoothing)


def test_kinds_that_are_seen_often():
    counts = np.diag([5, 0, 9, 7, 9])
    assert list(co.often(counts, least=6, most=9)) == [2, 3, 4]
    assert list(co.often(counts, least=0, most=9)) == [0, 2, 3, 4]
    assert list(co.often(counts, least=0, most=1)) == [2]


WORDS = ("red", "blue", "teal")


def test_words_of_captions_are_whole_in_any_case_and_as_often_as_they_occur():
    text = "A Red car, a blue-red hat; colored, bluebell."  # red, blue, red
    assert co.count_together([text], WORDS).tolist() == [[2, 2, 0], [2, 0, 0], [0, 0, 0]]
    captions = ["a red car and a teal car", "red, red and blue", "teal alone", ""]
    assert co.count_together(captions, WORDS).tolist() == [[2, 2, 1], [2, 0, 0], [1, 0, 0]]


def test_the_counts_that_come_along_are_of_all_their_pairs():
    table = co.read_counts()
    assert table.sum() == 2 * co.CIFAR10_PAIRS
    assert (table == table.T).all()
