"""Neighbors by dissimilarities alone, where no vectors are known."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int32

from core.spaces.inputs import check_k, check_space
from core.spaces.neighbors import PROBED, check_falling, tie_order


def nearest_by(distances: Float[np.ndarray, "n n"], *, k: int) -> Int32[np.ndarray, "n k"]:
    """Find the k stimuli least dissimilar to each, itself excluded, the least first.

    Ties are broken as `core.spaces.neighbors.nearest` breaks them.

    distances: symmetric, with a diagonal of 0. Raises MetricError as `nearest` does.
    """
    check_space(distances)
    n = len(distances)
    check_k(k, n)
    near = -distances.astype(np.float32)
    np.fill_diagonal(near, -np.inf)
    probed = np.unique(np.linspace(0, n - 1, PROBED).astype(int))
    check_falling(-np.sort(-near[probed], axis=1)[:, : k + 1])
    order = tie_order(distances.astype(np.float64))
    lists: np.ndarray = order[np.argsort(-near[:, order], axis=1, kind="stable")[:, :k]]
    return lists.astype(np.int32)
