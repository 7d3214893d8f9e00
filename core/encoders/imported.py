"""Features made elsewhere: which arrays of a file are layers, and which stimulus each row is of.

(n, d) or (n, layers, d)  one array; or several (n, d) ones, a layer each, in the file's order
                          (if it keeps none, in the natural order of their names)
tables                    a column for each dim, or a column of lists for each layer
.pt of platonic-rep       `feats` (n, layers, d); its other entries are not features
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isnan
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.encoders.arrays import EVERY, TABLES, Arrays, Columns, read_arrays
from core.encoders.rows import LONGEST, places_of
from core.errors import FeatureError, shortened
from core.files.arrays import TEXTS
from core.files.ids import is_index, plain_name
from core.files.userfile import shown

Space = Float32[np.ndarray, "_ _"]  # (n, d); d may differ between layers
FEATS = "feats"  # of platonic-rep
COMPARED = 10_000  # rows, of many, that are compared after narrowing
REMEDY = "subtract what is common to all rows, and take logarithms of what spans many powers of ten"
# keep no order of their own, if their names are sorted
UNORDERED = (".h5", ".hdf5", ".mat", ".safetensors")


@dataclass(frozen=True)
class Features:
    """Layers with their names, and the id of each row, None if the file has none. named_by: the
    array of the ids.
    """

    layers: list[Float32[np.ndarray, "..."]]  # (n, d); of repeats (r, n, d)
    names: tuple[str, ...]
    ids: list[str] | None = None
    named_by: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        out = ", ".join(shortened(plain_name(name), LONGEST) for name in self.left_out)
        return [f"Left out, since they are not features: {out}."] if out else []


def read_features(path: Path, columns: Columns = EVERY) -> Features:
    """Read one (n, d) float32 matrix per layer, and the ids of the rows; raise FeatureError."""
    arrays = held_arrays(path, columns)
    kept = {name: array for name, array in arrays.items() if is_layer(name, array, columns)}
    kept = {FEATS: kept[FEATS]} if FEATS in kept and kept[FEATS].ndim == 3 else kept
    made = {name: _split(array, path, alone=len(kept) == 1) for name, array in kept.items()}
    rows = sorted({len(layer) for layers in made.values() for layer in layers})
    if not rows:
        held = "; ".join(
            f"{shown(name)} of type {array.dtype} and shape {array.shape}"
            for name, array in arrays.items()
        )
        raise FeatureError(
            f"{path} holds no features but {held or 'no array'}; expected numbers, (n, d) or"
            " (n, layers, d)"
        )
    if len(rows) > 1:
        raise FeatureError(
            f"the layers in {path} have {rows} rows; expected one row per stimulus in each, or"
            " --feature-column with those that are layers"
        )
    return gather(arrays, made, find_ids(arrays, rows[0], columns, path))


def gather(
    arrays: Arrays,
    made: Mapping[str, Sequence[Float32[np.ndarray, "..."]]],
    ids: tuple[list[str] | None, str],
) -> Features:
    layers, names = list[Space](), list[str]()
    for name, each in made.items():
        layers += each
        names += [name] if len(each) == 1 and name else [f"layer {at}" for at in range(len(each))]
    left_out = tuple(name for name in arrays if name not in made and name != ids[1])
    return Features(layers, tuple(names), *ids, left_out)


def held_arrays(path: Path, columns: Columns) -> Arrays:
    """Return the arrays of a file in its order, or in that of the features named; raise
    FeatureError.
    """
    arrays = read_arrays(path, columns)
    missing = [name for name in columns.features if name not in arrays]
    missing += [name for name in [columns.ids] if name not in {"", *map(plain_name, arrays)}]
    if missing:
        raise FeatureError(
            f"{path} has no {shown(missing[0])}; it has"
            f" {', '.join(shown(plain_name(name)) for name in islice(arrays, 20))}"
        )
    kind = path.suffix.lower()
    if columns.features:
        arrays = {name: arrays[name] for name in dict.fromkeys((*columns.features, *arrays))}
    elif kind == ".safetensors" or (kind in UNORDERED and list(arrays) == sorted(arrays)):
        arrays = {name: arrays[name] for name in natural_order(arrays)}
    return _side_by_side(arrays, columns, path) if kind in TABLES else arrays


def _side_by_side(whole: Arrays, columns: Columns, path: Path) -> Arrays:
    """Return a table's columns of numbers as one array, the layer "", and all others by name."""
    _, by = find_ids(whole, max(map(len, whole.values()), default=0), columns, path)
    dims = list[str]()
    for name, values in whole.items():
        if name == by or columns.is_out(name) or columns.holds_ids(name):
            continue
        if values.dtype.kind not in TEXTS:
            dims.append(name)
            continue
        wrong = np.flatnonzero(pd.to_numeric(pd.Series(values), errors="coerce").isna())
        if name in columns.features or 2 * len(wrong) < len(values):
            raise FeatureError(
                f"column {shown(name)} of {path} has {shown(str(values[wrong[0]]))} in row"
                f" {wrong[0] + 1}; expected a number in each row: correct the cell, or leave the"
                " column out by --drop"
            )
    lists = {name: whole[name] for name in dims if whole[name].ndim > 1}
    flat = {name: whole[name] for name in dims if name not in lists}
    if lists and flat:
        raise FeatureError(
            f"{path} has {len(dims)} columns, some of them lists; expected only numbers, or"
            " only lists: name them by --feature-column"
        )
    if any(values.dtype.kind == "f" for values in flat.values()) and not columns.features:
        for name, values in flat.items():
            if values.dtype.kind in "iu" and len(np.unique(values)) == len(values) > 1:
                raise FeatureError(
                    f"column {shown(name)} of {path} holds another whole number in each row, next"
                    " to fractions; if these are ids, name it by --id-column; else name the"
                    " features by --feature-column, or leave it out by --drop"
                )
    found = {"": np.stack([*flat.values()], axis=1)} if flat else {}
    if len(lists) == 1:
        found, lists = {"": next(iter(lists.values()))}, {}
    return {**found, **lists, **{name: whole[name] for name in whole if name not in dims}}


def find_ids(
    arrays: Arrays, rows: int, columns: Columns, path: Path
) -> tuple[list[str] | None, str]:
    """Return the ids of the rows and the name of the array that holds them; None and "" if there
    are none.

    Ids are texts, or whole numbers with a usual name. Of several arrays the one that names most
    stimuli counts; raise FeatureError if two name as many, but others, and if the array that has
    the name, or that a person named, has another length.
    """
    found = {name: one for name, array in arrays.items() if (one := id_line(name, array, columns))}
    spaces = [array.shape[1:] for array in arrays.values() if array.ndim > 1]
    widths = {len(spaces), *(size for shape in spaces for size in shape)}  # of dims or layers
    for name, (ids, *_) in found.items():
        if len(ids) != rows and (columns.ids or len(ids) not in widths):
            raise FeatureError(
                f"{path} has {shown(plain_name(name))} of shape {arrays[name].shape}; expected the"
                f" ids of its {rows} rows: correct it, or leave it out by --drop"
            )
    fitting = {name: one for name, one in found.items() if len(one[0]) == rows}
    if not fitting:
        if columns.ids:
            raise FeatureError(
                f"{path} has no ids in {shown(columns.ids)}; expected a text or a whole number for"
                f" each of its {rows} rows"
            )
        return None, ""

    def rank(name: str) -> tuple[int, bool, bool]:
        return fitting[name][2], arrays[name].dtype.kind in TEXTS, not is_index(name)

    best = max(fitting, key=rank)
    for name, (_, places, _) in fitting.items():
        if rank(name) == rank(best) and places != fitting[best][1]:
            raise FeatureError(
                f"{path} names its rows by {shown(plain_name(best))} and, differently, by"
                f" {shown(plain_name(name))}; choose one with --id-column, or name the features"
                " with --feature-column"
            )
    return fitting[best][0], best


def id_line(
    name: str, array: np.ndarray, columns: Columns
) -> tuple[list[str], list[int], int] | None:
    """Return the ids in an array, their places in the dataset and how many stimuli they name; None
    if it holds no ids.
    """
    is_line = array.size == max(array.shape, default=0) > 1 and array.dtype.kind in "iufUS"
    called = columns.holds_ids(name)
    may_be = called or not (columns.ids or columns.is_out(name) or name in columns.features)
    if not (name and is_line and may_be and (called or array.dtype.kind in TEXTS)):
        return None
    ids = _texts(array)
    places, by_place = places_of(ids, columns.stimuli)
    known = {*places} - {-1}
    if not called and 2 * len(known) <= len(ids):
        return None
    return ids, places, 0 if by_place else len(known if columns.stimuli else {*ids})


def is_layer(name: str, array: np.ndarray, columns: Columns) -> bool:
    if columns.is_out(name):
        return False
    if name in columns.features:
        return True
    narrow = array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind in "iu" and bool(name)
    return array.ndim > 1 and array.dtype.kind in "fiub" and not narrow


def _texts(array: np.ndarray) -> list[str]:
    flat = array.ravel().tolist()
    if array.dtype.kind == "f":  # of MATLAB, or of a table with an empty cell
        flat = ["" if isnan(one) else int(one) if one.is_integer() else one for one in flat]
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else f"{one}" for one in flat]


def natural_order(names: Iterable[str]) -> list[str]:
    def key(name: str) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", name)  # no int: a number may have thousands of digits
        numbers = (part.lstrip("0") if part.isdecimal() else "" for part in parts)
        return [(len(number), number or part) for number, part in zip(numbers, parts, strict=True)]

    return sorted(names, key=key)


def _split(array: np.ndarray, path: Path, *, alone: bool) -> list[Space]:
    if array.ndim not in ((2, 3) if alone else (2,)) or 0 in array.shape:
        wanted = "(n, d) or (n, layers, d)" if alone else "(n, d) for each of several arrays"
        maps = "; of maps (n, channels, height, width) save the mean over both" * (array.ndim == 4)
        raise FeatureError(
            f"{path} holds an array of shape {array.shape}; expected {wanted}, none of them 0{maps}"
        )
    layers = [array] if array.ndim == 2 else np.moveaxis(array, 1, 0)
    return [narrowed(layer, path) for layer in layers]


def narrowed(layer: np.ndarray, path: Path) -> Space:
    """Return a matrix as float32; raise FeatureError if that makes a row zero or infinite, or tells
    less than half of the rows apart.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = np.ascontiguousarray(layer, np.float32)
    if layer.dtype.itemsize < (8 if layer.dtype.kind == "f" else 4):
        return narrow
    lost = np.flatnonzero(layer.any(axis=1) & ~narrow.any(axis=1))
    if len(lost) or np.isfinite(narrow).all() < np.isfinite(layer).all():
        what = f"row {lost[0]} all zeros" if len(lost) else "values infinite"
        raise FeatureError(
            f"float32, in which the store keeps them, makes {what} in {path}; {REMEDY}"
        )
    some = slice(None, None, len(layer) // COMPARED + 1)
    before, after = (len({(row + 0.0).tobytes() for row in one[some]}) for one in (layer, narrow))
    if after < before and after < max(2, before / 2):
        raise FeatureError(
            f"float32, in which the store keeps them, distinguishes {after:,} of {before:,} rows of"
            f" {path}; {REMEDY}"
        )
    return narrow
