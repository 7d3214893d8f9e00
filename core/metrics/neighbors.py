"""Neighbors of every stimulus in one space: computed once per space, then compared as often as one likes.

The result does not depend on block size, thread count or machine. The trap: a matrix product rounds each entry in an order that
depends on its place in the matrix, so duplicates of one stimulus get inner products that differ in the last bit, and ties are
then broken by noise. Products of float32 values are exact in float64; summed there and rounded once to float32, equal stimuli
get equal similarities again.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Float64, Int32, Int64

from core.metrics.inputs import check_k, check_space

BLOCK_BYTES = 32 * 2**20  # of one block of similarities, in float64


def nearest(space: Float[np.ndarray, "n d"], *, k: int) -> Int32[np.ndarray, "n k"]:
    """Find the k stimuli with the largest inner product with each stimulus, itself excluded, most similar first.

    Order of work: scale by a power of two, inner products in float64, one rounding to float32, ties by lower index.
    Centering, clamping and normalization are the caller's.
    Raises MetricError for k outside 1 … n − 1, fewer than three stimuli, NaN, infinity, or constant features.
    """
    n = len(space)
    check_space(space)
    check_k(k, n)
    scaled = _unit_scaled(space)
    rows = max(1, BLOCK_BYTES // (8 * n))
    found = np.empty((n, k), dtype=np.int32)
    for start in range(0, n, rows):
        similar = (scaled[start : start + rows] @ scaled.T).astype(np.float32)
        own = np.arange(len(similar))
        similar[own, own + start] = -np.inf
        found[start : start + rows] = _largest(similar, k)
    return found


def _unit_scaled(space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n d"]:
    """Scale by the power of two that brings the largest entry into [0.5, 1): exact, and no product overflows float32."""
    _, exponent = np.frexp(np.abs(space).max())
    return np.ldexp(space.astype(np.float64), -exponent)


def _largest(values: Float32[np.ndarray, "rows n"], k: int) -> Int32[np.ndarray, "rows k"]:
    """Return the columns of each row's k largest values in falling order, ties by lower column."""
    keys = _falling_keys(values)
    if k < keys.shape[1]:
        keys = np.partition(keys, k - 1, axis=1)[:, :k]
    return (np.sort(keys, axis=1) & 0xFFFFFFFF).astype(np.int32)


def _falling_keys(values: Float32[np.ndarray, "rows n"]) -> Int64[np.ndarray, "rows n"]:
    """Pack value and column into one integer whose rising order is falling value, then rising column.

    No two keys are equal, so any partition of them is the same; argpartition would break ties at random.
    """
    bits = (values + np.float32(0)).view(np.int32)  # + 0 turns −0 into 0: equal values must have equal bits
    rising = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # floats order like sign-magnitude integers
    return (~rising).astype(np.int64) << 32 | np.arange(values.shape[1])
