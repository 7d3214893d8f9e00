"""The compiled loop behind `core.pairs.permuted`. It imports numba: import this on first use
only.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from core.pairs.loops.compiled import compiled


@compiled
@no_type_check
def count_permuted(x, y, orders, renamed, totals):
    """Add to totals[p, b, a] the neighbors that layer a of x shares with layer b of y, whose
    stimuli permutation p shuffled.

    x: (n, Lx, k), y: (n, Ly, k), orders and renamed (their inverses): (P, n). Per stimulus, an
    index from each stimulus to the entries of x that name it, as chains through `following`; it
    serves all permutations, and each of y's neighbors walks one chain.
    """
    n, layers, k = x.shape
    first = np.full(n, -1, np.int32)
    following = np.empty(layers * k, np.int32)
    layer_of = (np.arange(layers * k) // k).astype(np.int32)
    for i in range(n):
        for entry, named in enumerate(x[i].flat):
            following[entry] = first[named]
            first[named] = entry
        for p in range(len(orders)):
            source = y[orders[p, i]]
            for b in range(source.shape[0]):
                for j in range(k):
                    entry = first[renamed[p, source[b, j]]]
                    while entry >= 0:
                        totals[p, b, layer_of[entry]] += 1
                        entry = following[entry]
        for named in x[i].flat:
            first[named] = -1
