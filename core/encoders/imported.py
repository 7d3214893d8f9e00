"""Features made elsewhere, read from a file without running or unfolding what it hides.

    .npy .parquet          one array: (n, d), or (n, layers, d) for .npy
    .npz .safetensors .pt  one such array, or several (n, d) ones: a layer each, in the natural
    order of their names
    .pt of platonic-rep    `feats` (n, layers, d); its other entries are not features

What a file may take is said in core/files/limits.py, and is checked before it is allocated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from core.encoders.columns import read_columns
from core.encoders.tensors import read_safetensors, read_torch
from core.errors import FeatureError
from core.files.arrays import read_npy, read_npz
from core.files.userfile import UserFile

Space = Float32[np.ndarray, "_ _"]  # (n, d); d may differ between layers

CLOSED = {  # how datasets of rsatoolbox and of NWB are saved, by the end of the name
    **dict.fromkeys((".pkl", ".pickle"), "a pickle, which could run code"),
    **dict.fromkeys((".h5", ".hdf5", ".nwb"), "HDF5, which is not read"),
}
ELSEWHERE = (
    "expected plain arrays: of rsatoolbox's data numpy.savez('FILE.npz', measurements=…,"
    " stimulus=…), the place of each row's stimulus from 0; of its dissimilarities"
    " numpy.save('FILE.npy', rdms.get_matrices())"
)


def read_features(path: Path) -> list[Space]:
    """Read one (n, d) float32 matrix per layer; raise FeatureError for a file that is not safe or
    not features.
    """
    arrays = read_arrays(path)
    layers = [
        layer for array in in_order(arrays) for layer in _split(array, path, alone=len(arrays) == 1)
    ]
    if not layers:
        raise FeatureError(f"{path} holds no features; expected (n, d) or (n, layers, d)")
    rows = sorted({len(layer) for layer in layers})
    if len(rows) > 1:
        raise FeatureError(
            f"the layers in {path} have {rows} rows; expected one row per stimulus in each"
        )
    return layers


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a file by their names, as they are; raise FeatureError for a file that is
    not safe, or of another kind.
    """
    kind = path.suffix.lower()
    if kind in CLOSED:
        raise FeatureError(f"{path} is {CLOSED[kind]}; {ELSEWHERE}")
    reader = READERS.get(kind)
    if reader is None:
        raise FeatureError(f"{path} is of no known kind; expected one of {', '.join(READERS)}")
    return reader(UserFile(path, f"whole {kind} data", FeatureError))


def in_order(arrays: Mapping[str, np.ndarray]) -> Iterable[np.ndarray]:
    """Sort by name so that layer2 comes before layer10."""

    def key(name: str) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", name)  # no int: a number may have thousands of digits
        numbers = (part.lstrip("0") if part.isdecimal() else "" for part in parts)
        return [(len(number), number or part) for number, part in zip(numbers, parts, strict=True)]

    return [arrays[name] for name in sorted(arrays, key=key)]


def _split(array: np.ndarray, path: Path, *, alone: bool) -> list[Space]:
    if array.ndim not in ((2, 3) if alone else (2,)) or 0 in array.shape:
        wanted = "(n, d) or (n, layers, d)" if alone else "(n, d) for each of several arrays"
        raise FeatureError(
            f"{path} holds an array of shape {array.shape}; expected {wanted}, none of them 0"
        )
    # a float64 over float32's range turns to infinity, which no embedding takes
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = array.astype(np.float32)
    return [
        np.ascontiguousarray(layer)
        for layer in ([numbers] if array.ndim == 2 else np.moveaxis(numbers, 1, 0))
    ]


def _read_npy(file: UserFile) -> dict[str, np.ndarray]:
    return {"": read_npy(file)}


READERS: dict[str, Callable[[UserFile], dict[str, np.ndarray]]] = {
    ".npy": _read_npy,
    ".npz": read_npz,
    ".safetensors": read_safetensors,
    ".pt": read_torch,
    ".parquet": read_columns,
}
