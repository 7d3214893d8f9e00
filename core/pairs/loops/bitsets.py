"""The compiled loop behind `core.pairs.overlap`. It imports numba, which takes half a second:
import this on first use only.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from numba import extending

from core.pairs.loops.compiled import compiled


@extending.intrinsic
@no_type_check
def _ones(_context, word):
    """Count the set bits of a word in one instruction."""

    def codegen(_context, builder, _signature, arguments):
        return builder.ctpop(arguments[0])

    return word(word), codegen


@compiled
@no_type_check
def _set_bits(bits, neighbors, slot):
    """Set in bits[a] the slots of layer a's neighbors; those without a slot are in no layer of the
    other model.
    """
    for a in range(neighbors.shape[0]):
        for j in range(neighbors.shape[1]):
            place = slot[neighbors[a, j]]
            if place >= 0:
                bits[a, place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@compiled
@no_type_check
def count_common(x, y, n, total):
    """Add to total[a, b] the neighbors that layers a and b share over some stimuli; x: (m, Lx, k),
    y: (m, Ly, k); neighbors are among n stimuli.

    Per stimulus every layer's neighbors become a bitset over the stimuli that some layer of x names
    there. That is at most Lx · k bits however large n is, and with many layers the cost hardly
    grows with k.
    """
    stimuli, layers, k = x.shape
    most = (min(n, layers * k) + 63) // 64
    bits_x = np.zeros((layers, most), np.uint64)
    bits_y = np.zeros((y.shape[1], most), np.uint64)
    slot = np.full(n, -1, np.int64)
    for i in range(stimuli):
        used = 0
        for named in x[i].flat:
            if slot[named] < 0:
                slot[named] = used
                used += 1
        words = (used + 63) // 64
        bits_x[:, :words] = 0
        bits_y[:, :words] = 0
        _set_bits(bits_x, x[i], slot)
        _set_bits(bits_y, y[i], slot)
        for a in range(layers):
            for b in range(y.shape[1]):
                common = np.uint64(0)
                for word in range(words):
                    common += _ones(bits_x[a, word] & bits_y[b, word])
                total[a, b] += np.int64(common)
        for named in x[i].flat:
            slot[named] = -1
