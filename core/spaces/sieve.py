"""Which stimuli can be among the nearest: a sieve in float32 that never loses one.

A product in float32 differs from the exact one by at most γ = m·u / (1 − m·u) times the lengths of
both vectors, m the number of roundings and u = 2⁻²⁴, in whatever order it is summed (Higham 2002,
*Accuracy and Stability of Numerical Algorithms*, 3.1). What falls short of the k-th largest by more
than two such errors cannot be a neighbor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Float64, Int64

UNIT = 2.0**-24  # half the distance of 1 to the next float32
TINY = 2.0**-126  # below this float32 loses digits, or all where the processor flushes to 0
GROUPED = 16  # stimuli of which the largest product stands for all
SPARSE = 0.5  # of the groups: where more can hold a neighbor, a sieve is no use


class Sieve(NamedTuple):
    """A space prepared for `possible`.

    around: the vectors less their mean, which changes all products of one stimulus by the same and
    takes what they have in common out of the rounding. room: by how much a product of a vector of
    length 1 may fall short; never: of any vector. products: where they are written, group by group,
    since taking new memory for each block costs as much as they do.
    """

    scaled: Float64[np.ndarray, "n d"]
    around: Float32[np.ndarray, "n d"]
    room: float
    never: float
    products: Float32[np.ndarray, "rows grouped groups"]


class Pairs(NamedTuple):
    """Stimuli and others that may be near them: rows of a block, rising, and indices of a space."""

    row: Int64[np.ndarray, " pairs"]
    other: Int64[np.ndarray, " pairs"]


def make_sieve(
    scaled: Float64[np.ndarray, "n d"], others: Float64[np.ndarray, "n d"], *, rows: int
) -> Sieve:
    """Prepare a space whose values lie in −1 … 1 for at most so many rows at once.

    others: what the exact products are with, the vectors themselves or all less one vector.
    """
    around = others - others.mean(axis=0)
    longest, farthest = (float(np.linalg.norm(some, axis=1).max()) for some in (others, around))
    n, dims = scaled.shape
    roundings = (dims + 4) * UNIT  # of both vectors and of their product
    error = roundings / (1 - roundings) * farthest if roundings < 1 else np.inf
    # the exact product is rounded once, too: two that differ by less may come out equal
    room = 2 * error + 4 * UNIT * longest
    # a factor loses up to TINY, times the other's 2; so may a term and a sum: 6 TINY a dimension
    never = 2 * 7 * dims * TINY
    products = np.empty((rows, GROUPED, -(-n // GROUPED)), dtype=np.float32)
    return Sieve(scaled, around.astype(np.float32), room, never, products)


def possible(sieve: Sieve, rows: slice, k: int) -> Pairs | None:
    """Return which stimuli can be among the k nearest of these, themselves excluded; None where
    those are many.

    All of the k nearest are there, and few others: those within the room of rounding, and those
    above the k-th largest of the groups' largest products, which is at most the k-th largest of
    all. Expects more than k groups.
    """
    some = sieve.scaled[rows]
    products, most = _multiply(sieve, some, rows.start)
    groups = most.shape[1]
    bound = np.partition(most, groups - k, axis=1)[:, groups - k].astype(np.float64)
    bound -= np.linalg.norm(some, axis=1) * sieve.room + sieve.never
    least = np.nextafter(bound.astype(np.float32), np.float32(-np.inf))
    row, group = np.divmod(np.flatnonzero(most >= least[:, None]), groups)
    if len(row) > SPARSE * most.size:
        return None
    hit, member = np.nonzero(products[row, :, group] >= least[row, None])
    return Pairs(row[hit], member * groups + group[hit])


def _multiply(
    sieve: Sieve, some: Float64[np.ndarray, "m d"], first: int
) -> tuple[Float32[np.ndarray, "m grouped groups"], Float32[np.ndarray, "m groups"]]:
    """Return the products of stimuli from `first` on with all, themselves excluded, and the largest
    of each group: of those at the same place of all parts, each as long as there are groups.
    """
    rows, products = some.astype(np.float32), sieve.products[: len(some)]
    groups, n = products.shape[2], len(sieve.scaled)
    most = np.full((len(some), groups), -np.inf, dtype=np.float32)
    for number in range(GROUPED):  # a part at a time, which the processor still holds
        part, start = products[:, number], number * groups
        stop = min(start + groups, n)
        part[:, max(stop - start, 0) :] = -np.inf  # the last parts may be shorter
        np.matmul(rows, sieve.around[start:stop].T, out=part[:, : max(stop - start, 0)])
        own = np.arange(max(first, start), min(first + len(some), stop))
        part[own - first, own - start] = -np.inf
        np.maximum(most, part, out=most)
    return products, most
