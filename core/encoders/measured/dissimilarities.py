"""Dissimilarity matrices without the vectors behind them."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from core.encoders.columns import EVERY, Columns
from core.encoders.imported import Features, find_ids, held_arrays, id_line, narrowed
from core.errors import FeatureError
from core.files.arrays import NUMBERS

Matrix = Float32[np.ndarray, "n n"]
ROUNDING = 1e-4  # of the largest entry, by which a matrix may differ from its transpose
OF_RSATOOLBOX = "dissimilarities"  # what its RDMs call them, next to other arrays


def read_dissimilarities(path: Path, columns: Columns = EVERY) -> Features:
    """Read one matrix per layer: (n, n), (layers, n, n), several (n, n), or the pairs i < j in the
    order of rows, (pairs,) or (layers, pairs), and the ids of the n where the file has any.

    All are rescaled if their scale is out of float32's range. Raises FeatureError for a file that
    is not safe, and for a matrix that is not square, not symmetric, not finite, or has negative
    entries or a diagonal that is not 0.
    """
    arrays = held_arrays(path, columns)
    kept = [name for name, array in arrays.items() if _are_values(name, array, columns)]
    kept = [OF_RSATOOLBOX] if OF_RSATOOLBOX in arrays else kept
    layers, names, changed = list[Matrix](), list[str](), dict[str, None]()
    for name in kept:
        made = [checked(each, path) for each in _unfold(arrays[name].astype(np.float64))]
        matrices = [matrix for matrix, _ in made]
        changed |= {one: None for _, done in made for one in done}
        layers += matrices
        alone = len(matrices) == 1 and bool(name)
        names += [name] if alone else [f"layer {place}" for place in range(len(matrices))]
    if not layers:
        raise FeatureError(f"{path} holds no arrays; expected one per layer")
    if len(sizes := sorted({len(layer) for layer in layers})) > 1:
        raise FeatureError(f"{path} has layers over {sizes} stimuli; expected as many in each")
    ids, by = find_ids(arrays, sizes[0], columns, path)
    left_out = tuple(name for name in arrays if name not in kept and name != by)
    return Features(layers, tuple(names), ids, by, left_out, tuple(changed))


def _are_values(name: str, array: np.ndarray, columns: Columns) -> bool:
    if array.dtype.kind not in NUMBERS or array.size < 2:
        return False
    named = name and (columns.is_out(name) or columns.holds_ids(name))
    return not (named or id_line(name, array, columns))


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
    matrix = np.zeros((n, n), pairs.dtype)
    matrix[np.triu_indices(n, 1)] = pairs
    return matrix + matrix.T


def checked(matrix: np.ndarray, path: Path) -> tuple[Matrix, tuple[str, ...]]:
    """Return a matrix of dissimilarities, and what was done so that float32 holds it; raises
    FeatureError for any other.
    """
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1]:
        raise FeatureError(
            f"{path} holds an array of shape {matrix.shape}; expected dissimilarities of n stimuli:"
            " n × n, or n (n − 1) / 2 pairs"
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
    pairs = (matrix / 2 + matrix.T / 2)[np.triu(np.ones(matrix.shape, dtype=bool), 1)]
    values, changed = narrowed(pairs[:, None], path, center=False)
    return _square(values[:, 0]), changed
