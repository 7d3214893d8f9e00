"""Compiled loops over neighbor lists; importing numba takes half a second."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, no_type_check

import numpy as np
from numba import extending, njit


def compiled(function: Callable[..., None], **options: Any) -> Callable[..., None]:
    """Compile without the interpreter lock; keep the machine code on disk if any folder can be
    written. options: numba's, such as `fastmath` if sums may be taken in any order.
    """
    loop: Callable[..., None]
    try:
        loop = njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # numba found no folder for its cache: compile again in every process
        loop = njit(nogil=True, **options)(function)
    return loop


@extending.intrinsic
@no_type_check
def _ones(_context, word):
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


@compiled
@no_type_check
def find_cycles(a, b, hits):
    """Write 1 into hits[i] if a stimulus of b[i] has i in its list in a, else 0."""
    for i in range(len(a)):
        hits[i] = 0.0
        for j in b[i]:
            for back in a[j]:
                if back == i:
                    hits[i] = 1.0


@compiled
@no_type_check
def measure_common(a, b, lengths):
    """Write into lengths[i] the length of the longest common subsequence of a[i] and b[i]."""
    n, k = a.shape
    row = np.zeros(k + 1, np.int64)  # of a's entries so far with b's first t
    for i in range(n):
        row[:] = 0
        for s in range(k):
            corner = 0
            for t in range(k):
                above = row[t + 1]
                row[t + 1] = corner + 1 if a[i, s] == b[i, t] else max(above, row[t])
                corner = above
        lengths[i] = row[k]


@compiled
@no_type_check
def count_edits(a, b, edits):
    """Write into edits[i] the Levenshtein distance of a[i] and b[i]."""
    n, k = a.shape
    row = np.zeros(k + 1, np.int64)  # from a's entries so far to b's first t
    for i in range(n):
        for t in range(k + 1):
            row[t] = t
        for s in range(k):
            corner, row[0] = row[0], s + 1
            for t in range(k):
                above = row[t + 1]
                row[t + 1] = min(corner + (a[i, s] != b[i, t]), above + 1, row[t] + 1)
                corner = above
        edits[i] = row[k]


@compiled
@no_type_check
def add_influences(x, y, k, shares, own, influences):
    """Write every stimulus's term into own, and add to influences[j] what all terms lose without j.

    x, y: (n, k + 1) neighbors, most similar first. shares[c]: a term of c neighbors in common.
    Where one is left out of a list, the next one moves up. `rank` holds, by side, the rank of each
    stimulus in both lists, k if it is in neither's first k.
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


@compiled
@no_type_check
def first_within(order, rows, place, lists, ranks):
    """Write into lists[i, a] the places of the first stimuli in order[a, rows[i]] that have one,
    and into ranks their places in the order.

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

    similar[a, i]: falling. wide: the spaces next to each other, space a in columns edges[a] to
    edges[a + 1].
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
