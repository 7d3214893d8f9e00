"""A planted rotation, scale, move and reflection is found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from scipy.stats import ortho_group

from core.errors import MetricError
from core.questions.color.layout import superpose

SEEDS = st.integers(0, 2**32 - 1)


def turned(points: np.ndarray, seed: int, *, reflect: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rotation = ortho_group.rvs(points.shape[1], random_state=rng)
    if (np.linalg.det(rotation) < 0) != reflect:
        rotation[0] *= -1
    return rng.uniform(0.1, 20) * points @ rotation.T + rng.normal(size=points.shape[1]) * 30


@given(SEEDS, st.booleans())
def test_planted_transforms_are_recovered_reflections_too(seed, reflect):
    points = np.random.default_rng(seed).normal(size=(9, 3))
    goal = turned(points, seed, reflect=reflect)
    assert superpose(points, goal) == pytest.approx(goal, abs=1e-8)


def test_no_better_transform_is_found_by_search():
    rng = np.random.default_rng(3)
    points, goal = rng.normal(size=(2, 7, 3))

    def loss(x: np.ndarray, sign: float) -> float:
        moved = np.exp(x[3]) * sign * points @ Rotation.from_rotvec(x[:3]).as_matrix().T + x[4:]
        return float(np.square(goal - moved).sum())

    least = min(
        minimize(
            loss, np.append(rng.normal(size=3), np.zeros(4)), args=(sign,), options={"gtol": 1e-9}
        ).fun
        for sign in (1, -1)
        for _ in range(8)
    )
    assert float(np.square(goal - superpose(points, goal)).sum()) == pytest.approx(least, rel=1e-6)


def test_points_in_one_place_have_no_shape():
    x = np.random.default_rng(0).normal(size=(5, 3))
    with pytest.raises(MetricError, match="expected points in different places"):
        superpose(np.ones((5, 3)), x)
