"""Effective rank and participation ratio against spaces whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import MetricError
from core.spaces.bases import effective_rank, participation_ratio

MEASURES = (effective_rank, participation_ratio)


def with_spectrum(values: list[float], n: int = 40) -> np.ndarray:
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((n, len(values)))
    left = np.linalg.qr(basis - basis.mean(0))[0]
    right = np.linalg.qr(rng.standard_normal((6, 6)))[0][: len(values)]
    return (left * values @ right + 5.0).astype(np.float32)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_equal_directions_are_counted(measure, rank):
    assert measure(with_spectrum([2.0] * rank)) == pytest.approx(rank, rel=1e-4)


def test_unequal_directions_by_hand():
    space = with_spectrum([3.0, 1.0])  # shares 3/4 and 1/4; variances 9 and 1
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert effective_rank(space) == pytest.approx(np.exp(entropy), rel=1e-4)
    assert participation_ratio(space) == pytest.approx(100 / 82, rel=1e-4)


@pytest.mark.parametrize("measure", MEASURES)
def test_rotation_offset_and_scale_change_nothing_and_stretching_does(measure):
    space = with_spectrum([3.0, 2.0, 1.0])
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    moved = (7 * space @ turn - 2).astype(np.float32)
    assert measure(moved) == pytest.approx(measure(space), rel=1e-3)
    assert measure(space * np.array([9, 1, 1, 1, 1, 1], np.float32)) < measure(space)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_point_has_no_rank(measure):
    with pytest.raises(MetricError, match="all stimuli lie at one point"):
        measure(np.full((5, 3), 2.5, np.float32))
