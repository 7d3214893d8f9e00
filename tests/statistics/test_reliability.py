"""Reliability equals what was planted, and its literal definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from core.encoders.measured import simulate
from core.statistics.correlations import draw_splits, grow, spearman_brown, unit_reliability

WORLD = np.random.default_rng(5).normal(size=(300, 6))


@pytest.mark.parametrize("trials", [2, 3, 4, 7])
@pytest.mark.parametrize("planted", [0.3, 0.6, 0.9])
def test_the_reliability_of_units_is_the_planted_one(trials, planted):
    """The theorem of the noise ceiling, within three standard errors of 5 seeds × 40 units."""
    found = np.concatenate(
        [
            unit_reliability(
                simulate(WORLD, reliability=planted, trials=trials, units=40, seed=seed)
            )
            for seed in range(5)
        ]
    )
    error = found.std() / np.sqrt(found.size)
    assert error < 0.007
    assert found.mean() == pytest.approx(planted, abs=3 * error + 0.005)


def test_it_is_its_definition_unit_by_unit():
    repeats = simulate(WORLD[:40], reliability=0.5, trials=4, units=3, seed=1)
    for unit, found in enumerate(unit_reliability(repeats)):
        of_halves = [
            np.corrcoef(
                *(repeats[list(half), :, unit].astype(float).mean(axis=0) for half in (one, other))
            )[0, 1]
            for one, other in (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
        ]
        r = np.mean(of_halves)
        assert found == pytest.approx(2 * r / (1 + r))


def test_a_unit_that_never_changes_has_no_reliability():
    repeats = simulate(WORLD[:40], reliability=0.5, trials=2, units=2, seed=1)
    repeats[0, :, 1] = 3.0
    assert np.isfinite(unit_reliability(repeats)).tolist() == [True, False]


def test_splits_are_all_halves_or_drawn_ones():
    for repeats in (2, 3, 4, 5):
        splits = draw_splits(repeats)
        kinds = {frozenset((tuple(one), tuple(other))) for one, other in splits}
        half, places = repeats // 2, set(range(repeats))
        every = {
            frozenset((one, other))
            for one in combinations(places, half)
            for other in combinations(places - {*one}, half)
        }
        assert len(kinds) == len(splits) == len(every)
    drawn = draw_splits(10, count=7, seed=3)
    assert len(drawn) == 7
    assert all(one.sum() == other.sum() == 5 and not (one & other).any() for one, other in drawn)
    assert [one.tolist() for one, _ in drawn] == [
        one.tolist() for one, _ in draw_splits(10, count=7, seed=3)
    ]


def test_spearman_and_brown_by_hand():
    assert spearman_brown(0.5, 2.0) == pytest.approx(2 / 3)
    assert spearman_brown(0.5, 1.0) == pytest.approx(0.5)
    assert spearman_brown(np.array([-0.3, 1.0]), 2.0).tolist() == [0.0, 1.0]
    assert (grow(4), grow(5)) == (2.0, 2.5)
    one, twice = 0.4, spearman_brown(0.4, 2.0)
    assert spearman_brown(float(twice), 3.0) == pytest.approx(spearman_brown(one, 6.0))
