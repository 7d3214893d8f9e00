"""The nearest stimuli of each stimulus, ties in one order: by inner products or by dissimilarities.

Products of float32 values are summed in float64 and rounded once to float32, so that equal stimuli
get equal similarities for any block size, number of threads or order of summation.
What all stimuli have in common is removed first, since xᵢ·(xⱼ − m) orders the others of i as xᵢ·xⱼ
does: rounding would make ties of it.

Among many stimuli, products in float32 first leave out what cannot be a neighbor. Such a product is
off by at most γ = m·u / (1 − m·u) times both lengths, m the number of roundings and u = 2⁻²⁴
(Higham 2002, 3.1), so what is below the k-th largest by more than two such errors is no neighbor.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64, Int32, Int64

from core.errors import MetricError
from core.spaces.preprocess import check_k, check_space

UNIT = 2.0**-24  # half the distance of 1 to the next float32
TINY = 2.0**-126  # below this float32 loses digits, or all where the processor flushes to 0
GROUPED = 16  # stimuli that share a bound, their largest product
SPARSE = 0.5  # of the groups: where more can hold a neighbor, a sieve is no use


class Sieve(NamedTuple):
    """A space prepared for `possible`.

    around: the vectors minus their mean: ranks are unchanged and rounding is smaller. slack: by how
    much a product of a vector of length 1 may fall short; never: of any vector. products: where
    they are written, group by group.
    """

    scaled: Float64[np.ndarray, "n d"]
    around: Float32[np.ndarray, "n d"]
    slack: float
    never: float
    products: Float32[np.ndarray, "rows grouped groups"]


class Pairs(NamedTuple):
    """Stimuli and others that may be near them: rows of a block, rising, and indices of a space."""

    row: Int64[np.ndarray, " pairs"]
    other: Int64[np.ndarray, " pairs"]


def make_sieve(
    scaled: Float64[np.ndarray, "n d"], others: Float64[np.ndarray, "n d"], *, rows: int
) -> Sieve:
    """Prepare a space whose values lie in −1 … 1 for at most so many rows at once. others: what the
    exact products are with.
    """
    around = others - others.mean(axis=0)
    longest, farthest = (float(np.linalg.norm(some, axis=1).max()) for some in (others, around))
    n, dims = scaled.shape
    roundings = (dims + 4) * UNIT  # of both vectors and of their product
    error = roundings / (1 - roundings) * farthest if roundings < 1 else np.inf
    # the exact product is rounded once, too: two that differ by less may come out equal
    slack = 2 * error + 4 * UNIT * longest
    # a factor loses up to TINY, times the other's 2; so may a term and a sum: 6 TINY a dimension
    never = 2 * 7 * dims * TINY
    products = np.empty((rows, GROUPED, -(-n // GROUPED)), dtype=np.float32)
    return Sieve(scaled, around.astype(np.float32), slack, never, products)


def possible(sieve: Sieve, rows: slice, k: int) -> Pairs | None:
    """Return which stimuli can be among the k nearest of these, themselves excluded; None if those
    are many.

    All of the k nearest are there, and few others: those within the slack of rounding, and those
    above the k-th largest of the groups' largest products, which is at most the k-th largest of
    all. Expects more than k groups.
    """
    some = sieve.scaled[rows]
    products, most = _multiply(sieve, some, rows.start)
    groups = most.shape[1]
    bound = np.partition(most, groups - k, axis=1)[:, groups - k].astype(np.float64)
    bound -= np.linalg.norm(some, axis=1) * sieve.slack + sieve.never
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


VERSION = 4  # raise it when a space gets other neighbors, or more is kept of them
BLOCK_BYTES = 256 * 2**20  # of one block of similarities, in float64
MANY = 4096  # stimuli from which on a sieve saves time
PROBED = 64  # stimuli that ties are estimated from
DIGESTED = 4096  # values that seed the order of ties
MOST_TIED = 0.5
COMMON = 100.0  # times the variance; as if the mean cosine were .99


class Sides(NamedTuple):
    """What is multiplied to compare stimuli: each one's own vector with those of the others."""

    own: Float64[np.ndarray, "n d"]
    others: Float64[np.ndarray, "n d"]


def nearest(
    space: Float[np.ndarray, "n d"], *, k: int, report: Callable[[int], None] | None = None
) -> Int32[np.ndarray, "n k"]:
    """Find the k stimuli with the largest inner product with each stimulus, itself excluded, most
    similar first.

    Order of work: scale by a power of two, inner products in float64, one rounding to float32; ties
    in an order of the space's own. report: called with the number of stimuli whose neighbors are
    found. Centering, clamping and normalization are the caller's. Raises MetricError for k outside
    1 … n − 1, fewer than three stimuli, NaN, infinity, constant features, and if most of the
    neighbors are tied.
    """
    n = len(space)
    check_space(space)
    check_k(k, n)
    sides = sides_of(space)
    check_ties(sides, k)
    order = tie_order(sides.own)
    step = min(n, max(1, BLOCK_BYTES // (8 * n)))
    sieve = make_sieve(*sides, rows=step) if n >= max(MANY, 4 * GROUPED * k) else None
    lists = np.empty((n, k), dtype=np.int32)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        pairs = possible(sieve, rows, k) if sieve else None
        if pairs:
            lists[rows] = _nearest_of_some(sides, rows, pairs, k, order)
        else:
            lists[rows] = _nearest_of_all(sides, rows, k, order)
        if report:
            report(rows.stop)
    return lists


def tie_order(scaled: Float64[np.ndarray, "n d"]) -> Int64[np.ndarray, "n"]:
    """Return the order in which a space's ties are broken: random, and always the same for the same
    vectors.

    By index, two unrelated spaces would break them alike and seem aligned: with a fifth of the
    stimuli sharing one vector in each, 70% of such pairs had p ≤ 0.05. The seed is a digest of some
    of the values.
    """
    some = scaled.ravel()[:: max(1, scaled.size // DIGESTED)]
    return np.random.default_rng(zlib.crc32(some.tobytes())).permutation(len(scaled))


def check_ties(sides: Sides, k: int) -> None:
    """Refuse a space in which more than half of the neighbors are as similar as the next in line,
    so that chance would choose them: one dimension scaled to unit length, a few vectors that many
    stimuli share, vectors that differ by less than float32 resolves next to a common offset.
    Estimated from PROBED stimuli.
    """
    rows = np.unique(np.linspace(0, len(sides.own) - 1, PROBED).astype(int))
    similar = (sides.own[rows] @ sides.others.T).astype(np.float32)
    similar[np.arange(len(rows)), rows] = -np.inf
    check_falling(-np.sort(-similar, axis=1)[:, : k + 1])


def check_falling(falling: Float32[np.ndarray, "rows _"]) -> None:
    tied = np.mean(falling[:, 1:] == falling[:, :-1])
    if tied > MOST_TIED:
        raise MetricError(
            f"{100 * tied:.0f}% of this space's neighbors are as similar as the next in line, so"
            " chance would choose them; choose a layer with more distinct vectors, or import the"
            " features centered"
        )


def sides_of(space: Float[np.ndarray, "n d"]) -> Sides:
    """Scale a space, and take out of the others what all have in common, if that is more than
    COMMON times what they differ by. The mean is rounded to float32, so that taking it out costs at
    most one rounding of float64; equal stimuli stay equal.
    """
    scaled = unit_scaled(space)
    mean = scaled.mean(axis=0)
    in_common = mean @ mean
    apart = np.einsum("nd,nd->", scaled, scaled) / len(scaled) - in_common
    return Sides(scaled, scaled - mean.astype(np.float32) if in_common > COMMON * apart else scaled)


def unit_scaled(space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n d"]:
    """Scale by the power of two that brings the largest entry into [0.5, 1): exact."""
    _, exponent = np.frexp(max(space.max(), -space.min()))
    power = np.ldexp(1.0, min(-int(exponent), 1022))  # 2 ** 1023 is the last finite one
    scaled: np.ndarray = np.multiply(space, power, dtype=np.float64)
    return scaled


def _nearest_of_all(
    sides: Sides, rows: slice, k: int, order: Int64[np.ndarray, "n"]
) -> Int32[np.ndarray, "rows k"]:
    similar = (sides.own[rows] @ sides.others.T).astype(np.float32)
    own = np.arange(len(similar))
    similar[own, own + rows.start] = -np.inf
    n, rank = similar.shape[1], np.argsort(order)
    least = np.partition(similar, n - k, axis=1)[:, n - k, None]
    kept = similar >= least
    for row in np.flatnonzero(np.count_nonzero(kept, axis=1) > k):
        tied = np.flatnonzero(similar[row] == least[row])
        kept[row, tied[np.argsort(rank[tied])][k - np.count_nonzero(kept[row]) :]] = False
    places = np.flatnonzero(kept).reshape(-1, k)
    keys = _falling_keys(similar.ravel()[places], rank[places % n])
    return _first(keys, k, order)


def _nearest_of_some(
    sides: Sides, rows: slice, pairs: Pairs, k: int, order: Int64[np.ndarray, "n"]
) -> Int32[np.ndarray, "rows k"]:
    counts = np.bincount(pairs.row, minlength=rows.stop - rows.start)
    ends = np.cumsum(counts)
    values = np.empty(len(pairs.row), dtype=np.float32)
    for own, start, end in zip(sides.own[rows], ends - counts, ends, strict=True):
        values[start:end] = sides.others[pairs.other[start:end]] @ own
    keys = np.full((len(counts), counts.max()), np.iinfo(np.int64).max)
    places = np.arange(len(values)) - np.repeat(ends - counts, counts)
    keys[pairs.row, places] = _falling_keys(values, np.argsort(order)[pairs.other])
    return _first(keys, k, order)


def _first(
    keys: Int64[np.ndarray, "rows m"], k: int, order: Int64[np.ndarray, "n"]
) -> Int32[np.ndarray, "rows k"]:
    nearest: np.ndarray = order[np.sort(keys, axis=1)[:, :k] & 0xFFFFFFFF].astype(np.int32)
    return nearest


def _falling_keys(
    values: Float32[np.ndarray, "*places"], ranks: Int64[np.ndarray, "*places"]
) -> Int64[np.ndarray, "*places"]:
    """Pack value and rank into one integer: rising order is falling value, then rising rank."""
    # + 0 turns −0 into 0: equal values must have equal bits
    bits = (values + np.float32(0)).view(np.int32)
    rising = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # floats order like sign-magnitude integers
    keys: np.ndarray = (~rising).astype(np.int64) << 32 | ranks
    return keys


def nearest_by(distances: Float[np.ndarray, "n n"], *, k: int) -> Int32[np.ndarray, "n k"]:
    """Find the k stimuli least dissimilar to each, itself excluded, the least first. distances:
    symmetric, with a diagonal of 0. Ties, errors: as of `nearest`.
    """
    check_space(distances)
    n = len(distances)
    check_k(k, n)
    near = -distances.astype(np.float32)
    np.fill_diagonal(near, -np.inf)
    probed = np.unique(np.linspace(0, n - 1, PROBED).astype(int))
    check_falling(-np.sort(-near[probed], axis=1)[:, : k + 1])
    order = tie_order(distances.astype(np.float64))
    lists: np.ndarray = order[np.argsort(-near[:, order], axis=1, kind="stable")[:, :k]]
    return lists.astype(np.int32)
