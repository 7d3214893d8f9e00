"""The compiled loops behind `core.pairs.subsets`. It imports numba: import this on first use
only.
"""

from __future__ import annotations

from functools import partial
from typing import no_type_check

import numpy as np

from core.pairs.loops.compiled import compiled


@compiled
@no_type_check
def first_within(order, rows, place, lists, ranks):
    """Write into lists[i, a] the places of the first stimuli in order[a, rows[i]] that have one,
    and into ranks where they stand.

    -1 in `place` is none. What an order is too short for stays as it is.
    """
    m, layers, k = lists.shape
    for a in range(layers):
        for i in range(m):
            own, near, at = order[a, rows[i]], lists[i, a], ranks[i, a]
            filled = rank = 0
            while filled < k and rank < len(
                own
            ):  # write first and keep what has a place: a branch here would be guessed wrong
                near[filled] = place[own[rank]]
                at[filled] = rank
                filled += near[filled] >= 0
                rank += 1


@partial(compiled, fastmath={"reassoc", "contract"})  # several sums at once
@no_type_check
def centered_within(similar, wide, edges, rows, ranks, values):
    """Write into values[i, a] the similarities at ranks[i, a], less the mean similarity of rows[i]
    to all rows in space a.

    similar[a, i]: falling. wide: the spaces side by side, space a in columns edges[a] to edges[a +
    1].
    """
    m, layers, k = ranks.shape
    for a in range(layers):
        mean = np.zeros(edges[a + 1] - edges[a])
        for i in range(m):
            own = wide[rows[i], edges[a] : edges[a + 1]]
            for c in range(len(mean)):
                mean[c] += own[c]
        for i in range(m):
            own = wide[rows[i], edges[a] : edges[a + 1]]
            total = 0.0
            for c in range(len(mean)):
                total += own[c] * mean[c]
            for j in range(k):
                values[i, a, j] = similar[a, rows[i], ranks[i, a, j]] - total / m
