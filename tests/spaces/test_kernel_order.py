"""The order in which kernels are drawn."""

from __future__ import annotations

import numpy as np

from core.spaces.kernels import order_alike
from core.spaces.preprocess import normalize_rows


def test_like_stimuli_stand_together_whatever_order_they_come_in():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat([0, 1, 2], 5))
    space = normalize_rows(np.eye(3)[groups] + 0.05 * rng.normal(size=(15, 3)))
    order = order_alike(space @ space.T)
    assert sorted(order) == list(range(15))
    assert (np.diff(groups[order]) != 0).sum() == 2


def test_neighbors_on_a_line_keep_their_order():
    angles = np.array([0.0, 0.3, 0.1, 0.4, 0.2])
    space = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    order = order_alike(space @ space.T)
    assert list(angles[order]) in ([0.0, 0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1, 0.0])
