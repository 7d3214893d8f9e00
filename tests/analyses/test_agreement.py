"""Shared neighbors at single stimuli, against sets and against mutual kNN."""

import numpy as np
import pytest

from core.analyses.agreement import shared_neighbors
from core.pairs.overlap import overlaps


def test_shared_neighbors_are_counted_whatever_their_order():
    x = np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32)
    y = np.array([[2, 1], [2, 3], [3, 4]], dtype=np.int32)
    assert shared_neighbors(x, y).tolist() == [2, 1, 0]


def test_their_mean_over_k_is_mutual_knn():
    rng = np.random.default_rng(3)
    x, y = (np.stack([rng.permutation(np.delete(np.arange(20), i))[:5] for i in range(20)]).astype(np.int32) for _ in range(2))
    assert shared_neighbors(x, y).mean() / 5 == pytest.approx(overlaps(x[None], y[None], k=5)[0, 0])
