"""The compiled loop behind `core.pairs.local`. It imports numba: import this on first use only."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from core.pairs.loops.compiled import compiled


@compiled
@no_type_check
def add_products(near_x, values_x, near_y, values_y, total):
    """Add to total[a, b] the products of values that layers a of x and b of y have at the same
    place; all arrays: (n, L, k).

    Each of x's short lists is spread over a row of zeros, where y's lists look their neighbors up.
    Lists by rising index, so that x with y and y with x add the same products in the same order.
    """
    n, layers, k = near_x.shape
    row = np.zeros(n)
    for i in range(n):
        for a in range(layers):
            for j in range(k):
                row[near_x[i, a, j]] = values_x[i, a, j]
            for b in range(near_y.shape[1]):
                common = 0.0
                for j in range(near_y.shape[2]):
                    common += row[near_y[i, b, j]] * values_y[i, b, j]
                total[a, b] += common
            for j in range(k):
                row[near_x[i, a, j]] = 0.0
