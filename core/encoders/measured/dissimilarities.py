"""Dissimilarity matrices without the vectors behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from core.encoders.imported import natural_order, read_arrays
from core.encoders.measured.judgments import read_ratings
from core.errors import FeatureError

Matrix = Float32[np.ndarray, "n n"]
ROUNDING = 1e-4  # of the largest entry, by which a matrix may differ from its transpose


def read_dissimilarities(path: Path, stimuli: Sequence[str]) -> list[Matrix]:
    """Read one matrix per layer: (n, n), (layers, n, n), several (n, n), or the pairs i < j in the
    order of rows, (pairs,) or (layers, pairs); of a CSV the mean ratings of pairs.

    Nothing is scaled or centered. Raises FeatureError for a file that is not safe, and for a matrix
    that is not over these stimuli, not symmetric, not finite, or has negative entries or a diagonal
    that is not 0.
    """
    if path.suffix.lower() == ".csv":
        return [_checked(read_ratings(path, stimuli), path, len(stimuli))]
    held = read_arrays(path)
    arrays = (np.asarray(held[name], dtype=np.float64) for name in natural_order(held))
    matrices = (matrix for each in arrays for matrix in _unfold(each))
    return [_checked(matrix, path, len(stimuli)) for matrix in matrices]


def _unfold(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the matrices of an array, one in memory at a time."""
    if array.ndim == 1:
        yield _square(array)
    elif array.ndim == 3 or (array.ndim == 2 and array.shape[0] != array.shape[1]):
        yield from (_square(each) if each.ndim == 1 else each for each in array)
    else:
        yield array


def _square(pairs: np.ndarray) -> np.ndarray:
    """Return the matrix of the pairs i < j; what is no number of pairs stays as it is."""
    n = (1 + isqrt(1 + 8 * len(pairs))) // 2
    if n * (n - 1) // 2 != len(pairs):
        return pairs
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = pairs
    return matrix + matrix.T


def _checked(matrix: np.ndarray, path: Path, n: int) -> Matrix:
    if matrix.shape != (n, n):
        raise FeatureError(
            f"{path} holds an array of shape {matrix.shape}; expected dissimilarities of {n}"
            f" stimuli: {n} × {n}, or {n * (n - 1) // 2} pairs, in the dataset's order"
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise FeatureError(
            f"{path} has no number for stimuli {row} and {column}; expected a dissimilarity for"
            " each pair"
        )
    slack = ROUNDING * np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > slack or np.abs(np.diagonal(matrix)).max() > slack:
        raise FeatureError(
            f"{path} is not symmetric with a diagonal of 0; expected dissimilarities: of"
            " similarities take 1 − s first"
        )
    if matrix.min() < 0:
        raise FeatureError(f"{path} has negative entries; expected dissimilarities of at least 0")
    halves: np.ndarray = ((matrix + matrix.T) / 2).astype(np.float32)
    np.fill_diagonal(halves, 0)
    return halves
