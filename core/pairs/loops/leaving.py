"""The compiled loop behind `core.statistics.neighbor_intervals`. It imports numba: import this on
first use only.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from core.pairs.loops.compiled import compiled


@compiled
@no_type_check
def add_influences(x, y, k, shares, own, influences):
    """Write every stimulus's term into own, and add to influences[j] what all terms lose without j.

    x, y: (n, k + 1) neighbors, most similar first. shares[c]: a term of c neighbors in common.
    Where one is left out of a list, the next one moves up. `rank` holds, by side, where each
    stimulus stands in the two lists at hand, k where it is in neither's first k.
    """
    rank = np.full((2, len(x)), k, np.int64)
    for i in range(len(x)):
        common = 0
        for r in range(k):
            rank[0, x[i, r]] = r
            rank[1, y[i, r]] = r
        for r in range(k):
            common += rank[1, x[i, r]] < k
        next_x, next_y = x[i, k], y[i, k]
        gained_x, gained_y = rank[1, next_x] < k, rank[0, next_y] < k
        own[i] = shares[common]
        influences[i] += shares[common]
        for r in range(k):  # of x's neighbors
            both = rank[1, x[i, r]] < k
            left = common - both + gained_x + (both and (gained_y or next_x == next_y))
            influences[x[i, r]] += shares[common] - shares[left]
        for r in range(k):  # of y's neighbors that are none of x's
            if rank[0, y[i, r]] == k:
                influences[y[i, r]] += shares[common] - shares[common + gained_y]
        for r in range(k):
            rank[0, x[i, r]] = rank[1, y[i, r]] = k
