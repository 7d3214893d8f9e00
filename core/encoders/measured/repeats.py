"""Measurements of each stimulus that were repeated: over trials, or over subjects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from core.encoders.imported import natural_order, read_arrays
from core.errors import FeatureError

Repeats = Float32[np.ndarray, "r n d"]
MEASURED, OF = "measurements", "stimulus"  # rows in any order, and of which stimulus each is


def read_repeats(path: Path) -> list[Repeats]:
    """Read one array (repeats, stimuli, units) per layer; or `measurements` (rows, units) beside
    `stimulus` (rows,), the place of each row's stimulus from 0, with equally many rows of each.

    Raises FeatureError for a file that is not safe, for other shapes, for a single repeat, and for
    layers with different numbers of repeats.
    """
    arrays = read_arrays(path)
    as_table = set(arrays) == {MEASURED, OF}
    layers = (
        [_stacked(arrays, path)] if as_table else [arrays[name] for name in natural_order(arrays)]
    )
    for layer in layers:
        if layer.ndim != 3 or 0 in layer.shape or len(layer) < 2:
            raise FeatureError(
                f"{path} holds an array of shape {layer.shape}; expected (repeats, stimuli, units)"
                " with at least 2 repeats, for each of several layers"
            )
    if len(counts := {len(layer) for layer in layers}) > 1:
        raise FeatureError(
            f"{path} has layers of {min(counts)} to {max(counts)} repeats; expected as many of"
            " each: import layers that were measured at other times as models of their own"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # infinity, which no embedding takes
        return [np.ascontiguousarray(layer.astype(np.float32)) for layer in layers]


def _stacked(arrays: Mapping[str, np.ndarray], path: Path) -> np.ndarray:
    """Return the rows of a table of measurements by repeat and stimulus."""
    rows, of = arrays[MEASURED], arrays[OF]
    if rows.ndim != 2 or not of.size or of.shape != (len(rows),) or of.dtype.kind not in "iu":
        raise FeatureError(
            f"{path} has {MEASURED} of shape {rows.shape} and {OF} of shape {of.shape}; expected"
            " (rows, units) and (rows,), the place of each row's stimulus from 0"
        )
    kinds, counts = np.unique(of, return_counts=True)
    if len(set(counts)) != 1 or not np.array_equal(kinds, np.arange(len(kinds))):
        raise FeatureError(
            f"{path} has {counts.min()} to {counts.max()} rows per stimulus, from {kinds.min()} to"
            f" {kinds.max()}; expected every stimulus from 0 on, each equally often"
        )
    in_turn = rows[np.argsort(of, kind="stable")]
    return in_turn.reshape(len(kinds), counts[0], -1).swapaxes(0, 1)
