"""Measurements of each stimulus that were repeated: over trials, or over subjects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float32

from core.encoders.columns import EVERY, Columns
from core.encoders.encoder import Over
from core.encoders.imported import Features, find_ids, held_arrays, is_layer, narrowed
from core.errors import FeatureError

Repeats = Float32[np.ndarray, "r n d"]


def read_repeats(path: Path, columns: Columns = EVERY, over: Over = "trials") -> Features:
    """Read one array (repeats, stimuli, units) per layer; or (rows, units), in any order, of a file
    that names the stimulus of each row. over: what differs between repeats.

    Raises FeatureError for a file that is not safe, for other shapes, for a single repeat, and for
    layers with different numbers of repeats.
    """
    arrays = held_arrays(path, columns)
    kept = {name: array for name, array in arrays.items() if is_layer(name, array, columns)}
    shapes = [array.shape for array in kept.values()]
    if not kept:
        raise FeatureError(f"{path} holds no arrays; expected one per layer")
    rows = shapes[0][-2]
    ids, by = find_ids(arrays, rows, columns, path)
    for shape in shapes:
        in_rows = len(shape) == 2 and ids is not None and 0 not in shape
        if not in_rows and (len(shape) != 3 or 0 in shape or shape[0] < 2):
            raise FeatureError(
                f"{path} holds an array of shape {shape}; expected (repeats, stimuli, units) with"
                " at least 2 repeats, or (rows, units) and the stimulus of each row, for each of"
                " several layers"
            )
    if len(counts := {shape[:-1] for shape in shapes}) > 1:
        raise FeatureError(
            f"{path} has layers of {min(counts)} to {max(counts)} repeats and stimuli; expected as"
            " many of each: import layers that were measured at other times as models of their own"
        )
    made = [_narrowed(array, over, path) for array in kept.values()]
    layers, changed = [layer for layer, _ in made], {one: None for _, done in made for one in done}
    left_out = tuple(name for name in arrays if name not in kept and name != by)
    names = tuple(kept) if all(kept) else ()
    return Features(layers, names, ids, by, left_out, tuple(changed))


def _narrowed(array: np.ndarray, over: Over, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return repeats as float32. A unit is a column: over trials the same in each, so that what
    differs between trials stays; over subjects one of its own.
    """
    if array.ndim == 2:
        return narrowed(array, path)
    repeats, rows, units = array.shape
    if over == "trials":
        flat, done = narrowed(array.reshape(-1, units), path)
        return flat.reshape(array.shape), done
    flat, done = narrowed(np.moveaxis(array, 0, 1).reshape(rows, -1), path)
    return np.ascontiguousarray(np.moveaxis(flat.reshape(rows, repeats, units), 1, 0)), done
