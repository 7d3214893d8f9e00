"""Mutual kNN of all layer pairs of two models at once, from cached neighbors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Float64, Int32, Int64

from core.errors import MetricError
from core.machine.processes import count_threads

LEAST_WORK = 2**22  # neighbors compared per thread; fewer take less than a pool of threads does


def overlaps(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly m ky"], *, k: int
) -> Float64[np.ndarray, "Lx Ly"]:
    """Return mutual kNN for each layer of x with each layer of y: (1/n) Σᵢ |Aᵢ ∩ Bᵢ| / k.

    x, y: neighbors of each layer, most similar first, as `core.spaces.neighbors.nearest` gives
    them; the first k are compared. A layer of -1 has no neighbors (its space is degenerate) and its
    scores are NaN. Range [0, 1], higher is more aligned. Counts are integers, so threads cannot
    change the result. Raises MetricError where k is not in 1 … kx, ky or the stimuli differ.
    """
    check_lists(x, y, k=k)
    scores: np.ndarray = _common(x, y, k) / (x.shape[1] * k)
    scores[x[:, 0, 0] < 0] = np.nan
    scores[:, y[:, 0, 0] < 0] = np.nan
    return scores


def check_lists(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly m ky"], *, k: int
) -> None:
    """Refuse neighbors over other stimuli, and k outside what was kept of both."""
    if x.shape[1] != y.shape[1]:
        raise MetricError(
            f"expected neighbors over the same stimuli; got {x.shape[1]} and {y.shape[1]} stimuli"
        )
    kept = min(x.shape[2], y.shape[2])
    if not 1 <= k <= kept:
        raise MetricError(
            f"k must lie in 1 … {kept}, the neighbors kept for each stimulus; got {k}"
        )


def by_stimulus(neighbors: Int32[np.ndarray, "L n kept"], k: int) -> Int32[np.ndarray, "n L k"]:
    """Copy the first k neighbors, stimulus first: the loop then walks through memory in order."""
    return np.array(neighbors[:, :, :k].transpose(1, 0, 2), order="C")


def _common(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly n ky"], k: int
) -> Int64[np.ndarray, "Lx Ly"]:
    """Count common neighbors over all stimuli, a share of the stimuli in each thread where there
    are many.

    Python's threads rather than numba's: its default threading layer ends the process when two
    pages compute at once.
    """
    n, work = x.shape[1], x.shape[0] * x.shape[1] * k * y.shape[0]
    shares = max(1, min(count_threads(), work // LEAST_WORK))
    if shares == 1:
        return _count(x, y, k, slice(None))
    edges = np.linspace(0, n, shares + 1).astype(int)
    with ThreadPoolExecutor(shares) as pool:
        counts = pool.map(lambda part: _count(x, y, k, part), map(slice, edges[:-1], edges[1:]))
        common: np.ndarray = np.sum(list(counts), axis=0)
        return common


def _count(
    x: Int32[np.ndarray, "Lx n kx"], y: Int32[np.ndarray, "Ly n ky"], k: int, part: slice
) -> Int64[np.ndarray, "Lx Ly"]:
    """Count common neighbors over a part of the stimuli."""
    from core.pairs.loops.bitsets import count_common

    total = np.zeros((len(x), len(y)), dtype=np.int64)
    count_common(by_stimulus(x[:, part], k), by_stimulus(y[:, part], k), x.shape[1], total)
    return total
