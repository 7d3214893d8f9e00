"""Which stimuli can be among the nearest: a sieve in float32 that never loses one.

A product in float32 differs from the exact one by at most γ = m·u / (1 − m·u) times the lengths of
both vectors, m the number of roundings and u = 2⁻²⁴, in whatever order it is summed (Higham 2002,
*Accuracy and Stability of Numerical Algorithms*, 3.1). What falls short of the k-th largest by more
than two such errors cannot be a neighbor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Float64

UNIT = 2.0**-24  # half the distance of 1 to the next float32
TINY = 2.0**-126  # below this float32 loses digits, or all where the processor flushes to 0
GROUPED = 16  # stimuli of which the largest product stands for all


class Sieve(NamedTuple):
    """A space prepared for `possible`.

    around: the vectors less their mean, which changes all products of one stimulus by the same and
    takes what they have in common out of the rounding. room: by how much a product of a vector of
    length 1 may fall short; never: of any vector. similar: where products are written, since taking
    new memory for each block costs as much as they do.
    """

    scaled: Float64[np.ndarray, "n d"]
    around: Float32[np.ndarray, "n d"]
    room: float
    never: float
    similar: Float32[np.ndarray, "rows n"]


def make_sieve(scaled: Float64[np.ndarray, "n d"], *, rows: int) -> Sieve:
    """Prepare a space whose values lie in −1 … 1 for at most so many rows at once."""
    around = scaled - scaled.mean(axis=0)
    longest, farthest = (float(np.linalg.norm(some, axis=1).max()) for some in (scaled, around))
    dims = scaled.shape[1]
    roundings = (dims + 4) * UNIT  # of both vectors and of their product
    error = roundings / (1 - roundings) * farthest if roundings < 1 else np.inf
    # the exact product is rounded once, too: two that differ by less may come out equal
    room = 2 * error + 4 * UNIT * longest
    similar = np.empty((rows, len(scaled)), dtype=np.float32)
    return Sieve(scaled, around.astype(np.float32), room, 8 * dims * TINY, similar)


def possible(sieve: Sieve, rows: slice, k: int) -> Bool[np.ndarray, "rows n"]:
    """Return which stimuli can be among the k nearest of these, themselves excluded.

    All of the k nearest are marked, and few others: those within the room of rounding, and those
    above the k-th largest of the groups' largest products, which is at most the k-th largest of
    all. Raises nothing; expects at least k groups of stimuli.
    """
    some = sieve.scaled[rows]
    similar = sieve.similar[: len(some)]
    np.matmul(some.astype(np.float32), sieve.around.T, out=similar)
    own = np.arange(len(some))
    similar[own, own + rows.start] = -np.inf
    room = np.linalg.norm(some, axis=1) * sieve.room + sieve.never
    least = _lower_bound(similar, k).astype(np.float64) - room
    return similar >= np.nextafter(least.astype(np.float32), np.float32(-np.inf))[:, None]


def _lower_bound(similar: Float32[np.ndarray, "rows n"], k: int) -> Float32[np.ndarray, " rows"]:
    """Return the k-th largest of each row's group maxima."""
    groups = similar.shape[1] // GROUPED
    most = similar[:, :groups].copy()
    for start in range(groups, GROUPED * groups, groups):
        np.maximum(most, similar[:, start : start + groups], out=most)
    return np.partition(most, groups - k, axis=1)[:, groups - k]
