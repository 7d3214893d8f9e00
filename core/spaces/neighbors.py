"""The nearest stimuli of each stimulus, ties in one order: by inner products or by dissimilarities.

Products of float32 values are summed in float64 and rounded once to float32, so that equal stimuli
get equal similarities for any block size, number of threads or order of summation.
What all stimuli have in common is removed first, since xᵢ·(xⱼ − m) orders the others of i as xᵢ·xⱼ
does: rounding would make ties of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64, Int32, Int64

from core.errors import MetricError
from core.spaces.preprocess import check_k, check_space

VERSION = 4  # raise it when a space gets other neighbors, or more is kept of them
BLOCK_BYTES = 256 * 2**20  # of one block of similarities, in float64
MANY = 4096  # stimuli whose search takes long: it reports progress, and a GPU saves time
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
    lists = np.empty((n, k), dtype=np.int32)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        lists[rows] = _nearest_in_block(sides, rows, k, order)
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


def _nearest_in_block(
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
    keys = np.sort(_falling_keys(similar.ravel()[places], rank[places % n]), axis=1)
    nearest: np.ndarray = order[keys & 0xFFFFFFFF].astype(np.int32)
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
