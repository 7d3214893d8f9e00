"""Mutual kNN of all layer pairs under permutations of one side's stimuli, from cached neighbors:
none is found again.

Shuffling a space renames its stimuli and reorders their lists. Unrelated lists rarely share a
neighbor (k²/(n − 1) of them per stimulus), so the work is a look-up for each of y's neighbors and a
step for each shared one, for all models of x at once.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Float64, Int32, Integer

from core.errors import MetricError
from core.machine.processes import count_threads
from core.pairs.overlap import by_stimulus, check_lists


def permuted_overlaps(
    x: Int32[np.ndarray, "Lx n kx"],
    y: Int32[np.ndarray, "Ly m ky"],
    orders: Integer[np.ndarray, "P _"],
    *,
    k: int,
) -> Float64[np.ndarray, "P Lx Ly"]:
    """Return `core.pairs.overlap.overlaps` of x with y, y's stimuli in each of the given orders:
    stimulus i becomes order[i].

    x, y: neighbors of each layer, of one model or of many stacked, most similar first. A layer of
    -1 has no neighbors, and its scores are NaN. Equal to finding the shuffled space's neighbors
    anew, but exact ties keep the order that they had. Range [0, 1], higher is more aligned. Counts
    are integers, so threads cannot change the result. Raises MetricError where k is not in 1 … kx,
    ky, the stimuli differ, or an order is no permutation of them.
    """
    check_lists(x, y, k=k)
    n = x.shape[1]
    check_orders(orders, n)
    alive_x, alive_y = (np.flatnonzero(lists[:, 0, 0] >= 0) for lists in (x, y))
    counts = _counts(by_stimulus(x[alive_x], k), by_stimulus(y[alive_y], k), orders)
    scores = np.full((len(orders), len(x), len(y)), np.nan)
    scores[:, alive_x[:, None], alive_y] = counts.transpose(0, 2, 1) / (n * k)
    return scores


def check_orders(orders: Integer[np.ndarray, "P m"], n: int) -> None:
    """Refuse rows that are not permutations of 0 … n − 1."""
    if orders.shape[1] != n or (np.sort(orders, axis=1) != np.arange(n)).any():
        raise MetricError(
            f"permutations of 0 … {n - 1} expected, one in each row; draw them with draw_orders"
        )


def _counts(
    x: Int32[np.ndarray, "n Lx k"],
    y: Int32[np.ndarray, "n Ly k"],
    orders: Integer[np.ndarray, "P n"],
) -> Int32[np.ndarray, "P Ly Lx"]:
    """Count the shared neighbors, a share of the permutations in each thread."""
    from core.pairs.loops.inverted import count_permuted

    orders = orders.astype(np.int32)
    renamed = np.argsort(orders, axis=1).astype(np.int32)
    totals = np.zeros((len(orders), y.shape[1], x.shape[1]), dtype=np.int32)
    threads = count_threads()
    with ThreadPoolExecutor(threads) as pool:
        shares = [np.array_split(each, threads) for each in (orders, renamed, totals)]
        done = [pool.submit(count_permuted, x, y, *share) for share in zip(*shares, strict=True)]
        for each in done:
            each.result()
    return totals
