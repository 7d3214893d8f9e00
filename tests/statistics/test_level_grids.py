"""Means between levels, and whether weak trainings share less than they share with strong ones:
against loops, against worlds with and without an effect.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from core.errors import InputError
from core.statistics.trends import Trainings, grid_means, weak_contrast
from tests.statistics.test_level_trends import world


def weakened(seed: int, *, apart: float) -> Trainings:
    """Return trainings whose weak ones share `apart` less with each other than with strong ones."""
    one = world(seed, lines=6)
    weak = one.levels == 0
    return replace(one, scores=one.scores - apart * (weak[:, None] & weak[None, :]))


def slow_contrast(one: Trainings, levels: np.ndarray) -> float:
    """Fit score = (a mean per two lines) + contrast · [both weak], pair by pair."""
    rows = [
        (i, j)
        for i, j in combinations(range(len(levels)), 2)
        if sorted((levels[i], levels[j])) in ([0, 0], [0, 1]) and one.recipes[i] != one.recipes[j]
    ]
    kinds = [tuple(sorted((one.lines[i], one.lines[j]))) for i, j in rows]
    design = np.array([[kind == name for name in sorted(set(kinds))] for kind in kinds], float)
    design = np.column_stack([design, [levels[i] == levels[j] for i, j in rows]])
    return float(np.linalg.lstsq(design, [one.scores[i, j] for i, j in rows], rcond=None)[0][-1])


def test_the_contrast_and_its_p_are_those_of_a_regression_pair_by_pair():
    one = weakened(1, apart=0.05)
    contrast = weak_contrast(one, draws=99)
    assert contrast.value == pytest.approx(slow_contrast(one, one.levels), abs=1e-12)
    dealt = [abs(slow_contrast(one, levels)) for levels in one.permuted_levels(draws=99, seed=0)]
    far = sum(each >= abs(contrast.value) - 1e-12 for each in dealt)
    assert contrast.p == pytest.approx((1 + far) / 100)
    assert contrast.low < contrast.value < contrast.high


def test_means_are_those_of_the_pairs_between_two_levels():
    one = world(2, lines=3)
    means = grid_means(one)
    assert [(mean.low, mean.high) for mean in means] == [
        (0, 0),
        (0, 0.5),
        (0, 1),
        (0.5, 0.5),
        (0.5, 1),
        (1, 1),
    ]
    for mean in means:
        pairs = [
            one.scores[i, j]
            for i, j in combinations(range(len(one.levels)), 2)
            if sorted((one.levels[i], one.levels[j])) == [mean.low, mean.high]
            and one.recipes[i] != one.recipes[j]
        ]
        assert (mean.mean, mean.pairs) == (pytest.approx(np.mean(pairs)), len(pairs))


def test_adjusted_means_hold_fixed_which_lines_are_paired():
    one = world(2, lines=3, effect=0.1, noise=0)
    far = np.where(one.lines == 0, 5.0, 0.0)
    shifted = replace(one, scores=one.scores + far[:, None] + far[None, :])
    adjusted = [mean.adjusted for mean in grid_means(shifted)]
    rises = [0, 0.025, 0.05, 0.05, 0.075, 0.1]
    assert np.subtract(adjusted, adjusted[0]) == pytest.approx(rises)


def test_without_an_effect_one_world_in_twenty_is_sure_and_with_one_four_in_five():
    idle = [weak_contrast(world(seed), draws=39, seed=seed).p <= 0.05 for seed in range(150)]
    assert np.mean(idle) <= 0.05 + 2 * 0.0178
    weak = [weak_contrast(weakened(seed, apart=0.1), draws=39, seed=seed) for seed in range(40)]
    assert np.mean([one.p <= 0.05 and one.value < 0 for one in weak]) >= 0.8


def test_what_cannot_be_compared_is_nan_with_a_reason():
    one = world(5, lines=1)
    contrast = weak_contrast(one)
    assert np.isnan(contrast.value)
    assert (
        contrast.reason == "no two objectives or families have pairs both within the lowest level"
        " and from it to the highest"
    )
    with pytest.raises(InputError, match="at least 1; got 0"):
        weak_contrast(one, draws=0)
