"""The compiled loop behind `core.pairs.subsets`. It imports numba: import this on first use only."""

from __future__ import annotations

from typing import no_type_check

from core.pairs.compiled import compiled


@compiled
@no_type_check
def first_within(order, rows, place, lists):
    """Write into lists[i] the places of the first stimuli in order[rows[i]] that have one; -1 in `place` is none."""
    m, k = lists.shape
    for i in range(m):
        found = 0
        for j in order[rows[i]]:
            if place[j] >= 0:
                lists[i, found] = place[j]
                found += 1
                if found == k:
                    break
