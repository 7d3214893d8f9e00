"""Features made elsewhere, read from a file without running or unfolding what it hides.

    .npy .parquet          one array: (n, d), or (n, layers, d) for .npy
    .npz .safetensors .pt  one such array, or several (n, d) ones: a layer each, in the natural
    order of their names
    .pt of platonic-rep    `feats` (n, layers, d); its other entries are not features

A file may not unfold to more than MAX_BYTES, nor to more than MAX_RATIO times its size, before
anything is allocated.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from io import BufferedIOBase
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from jaxtyping import Float32

from core.errors import FeatureError

Space = Float32[np.ndarray, "_ _"]  # (n, d); d may differ between layers

MAX_BYTES = 8 << 30  # 1,024 stimuli × 81 layers × 8,192 dims in float32 take 2.7 GB
MAX_RATIO = 200  # features hardly compress; zeros do a thousandfold
SMALL = 64 << 20  # below this no ratio does harm
INDEX = "__index_level_"  # how pandas names a column that is its index
CLOSED = {  # how datasets of rsatoolbox and of NWB are saved, by the end of the name
    **dict.fromkeys((".pkl", ".pickle"), "a pickle, which could run code"),
    **dict.fromkeys((".h5", ".hdf5", ".nwb"), "HDF5, which is not read"),
}
ELSEWHERE = (
    "expected plain arrays: of rsatoolbox's data numpy.savez('FILE.npz', measurements=…,"
    " stimulus=…), the place of each row's stimulus from 0; of its dissimilarities"
    " numpy.save('FILE.npy', rdms.get_matrices())"
)
REPRESENTABLE = "numbers: float16, bfloat16, float32, float64 or integers"


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
    if not path.is_file():
        raise FeatureError(
            f"there is no file {path}; check its path, and that this machine sees it"
        )
    return reader(path)


def in_order(arrays: Mapping[str, np.ndarray]) -> Iterable[np.ndarray]:
    """Sort by name so that layer2 comes before layer10."""

    def key(name: str) -> list[str | int]:
        return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]

    return [arrays[name] for name in sorted(arrays, key=key)]


def _split(array: np.ndarray, path: Path, *, alone: bool) -> list[Space]:
    if array.ndim not in ((2, 3) if alone else (2,)) or 0 in array.shape:
        wanted = "(n, d) or (n, layers, d)" if alone else "(n, d) for each of several arrays"
        raise FeatureError(
            f"{path} holds an array of shape {array.shape}; expected {wanted}, none of them 0"
        )
    with np.errstate(
        over="ignore"
    ):  # a float64 over float32's range turns to infinity, which no embedding takes
        numbers = array.astype(np.float32)
    return [
        np.ascontiguousarray(layer)
        for layer in ([numbers] if array.ndim == 2 else np.moveaxis(numbers, 1, 0))
    ]


def _check_size(path: Path, unfolded: int) -> None:
    if unfolded > MAX_BYTES or (unfolded > SMALL and unfolded > MAX_RATIO * path.stat().st_size):
        raise FeatureError(
            f"{path} is {path.stat().st_size:,} bytes and claims to unfold to {unfolded:,}; at most"
            f" {MAX_BYTES:,} and {MAX_RATIO} times its size are read: save the features"
            " uncompressed, in parts where they are larger"
        )


def _check_type(path: Path, name: str, *, fits: bool) -> None:
    if not fits:
        raise FeatureError(f"{path} holds values of type {name}; expected {REPRESENTABLE}")


def _read_npy(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as file:
        return {"": _read_array(file, path, path.stat().st_size)}


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    with _open_zip(path) as archive:
        arrays = {}
        for entry in archive.infolist():
            try:
                member = archive.open(entry)
            except (
                zipfile.BadZipFile,
                NotImplementedError,
                RuntimeError,
                OSError,
            ) as error:  # damaged, or made by a stranger
                raise FeatureError(
                    f"{path} cannot be read ({error}); expected a file of numpy.savez"
                ) from error
            with member as file:
                arrays[entry.filename.removesuffix(".npy")] = _read_array(
                    file, path, entry.file_size
                )
    return arrays


def _read_array(file: IO[bytes] | BufferedIOBase, path: Path, size: int) -> np.ndarray:
    """Read one .npy stream after its header was held against the `size` in bytes of what there
    is.
    """
    try:
        version = np.lib.format.read_magic(file)
        header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, in_columns, kind = header(file)
        if kind.hasobject:
            raise FeatureError(
                f"{path} holds pickled objects, which could run code; expected plain arrays of"
                f" {REPRESENTABLE}"
            )
        _check_type(path, str(kind), fits=kind.kind in "fiu")
        if min(shape, default=0) < 0 or prod(shape) * kind.itemsize > size:
            raise FeatureError(
                f"{path} claims shape {shape} of {kind} but holds {size:,} bytes; expected a whole"
                " file"
            )
        _check_size(path, prod(shape) * max(kind.itemsize, 4))
        values = np.frombuffer(file.read(prod(shape) * kind.itemsize), kind)
        return values.reshape(shape, order="F" if in_columns else "C")
    except (ValueError, RuntimeError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise FeatureError(f"{path} cannot be read ({error}); expected whole .npy data") from error


def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise FeatureError(
            f"{path} cannot be read ({error}); expected a whole {path.suffix} file"
        ) from error
    try:
        _check_size(path, sum(entry.file_size for entry in archive.infolist()))
    except FeatureError:
        archive.close()
        raise
    return archive


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    from safetensors import (  # with torch: seconds that the other kinds need not pay
        SafetensorError,
        safe_open,
    )

    try:
        with safe_open(path, framework="pt") as file:
            return {name: _from_tensor(file.get_tensor(name), path) for name in file.keys()}  # noqa: SIM118 — no mapping
    except (SafetensorError, OSError) as error:
        raise FeatureError(
            f"{path} cannot be read ({error}); expected a whole safetensors file"
        ) from error


def _read_torch(path: Path) -> dict[str, np.ndarray]:
    from torch import Tensor  # as above

    from core.encoders.checkpoint import UnsafeFileError, load_torch

    try:
        _open_zip(path).close()
        features = load_torch(path)
    except UnsafeFileError as error:
        raise FeatureError(
            f"{path} holds pickled objects, which could run code; expected tensors alone"
        ) from error
    except (ValueError, RuntimeError, OSError) as error:
        raise FeatureError(
            f"{path} cannot be read ({str(error).splitlines()[0]}); expected a whole file of"
            " torch.save"
        ) from error
    if isinstance(features, Mapping) and isinstance(features.get("feats"), Tensor):
        features = {"feats": features["feats"]}
    if isinstance(features, Tensor):
        features = [features]
    if isinstance(features, list | tuple):
        features = {str(i): part for i, part in enumerate(features)}
    if not isinstance(features, Mapping) or not all(
        isinstance(part, Tensor) for part in features.values()
    ):
        raise FeatureError(
            f"{path} holds {type(features).__name__}; expected a tensor, several, or platonic-rep's"
            " feats"
        )
    return {str(name): _from_tensor(part, path) for name, part in features.items()}


def _from_tensor(tensor: Any, path: Path) -> np.ndarray:
    import torch  # as above

    plain = tensor.layout is torch.strided and not (
        tensor.is_quantized or tensor.is_complex() or tensor.dtype is torch.bool
    )
    _check_type(path, f"{tensor.dtype} ({tensor.layout})", fits=plain)
    _check_size(
        path, tensor.numel() * max(tensor.element_size(), 4)
    )  # a view that repeats one value is small on disk
    values: np.ndarray = tensor.detach().float().numpy()
    return values


def _read_parquet(path: Path) -> dict[str, np.ndarray]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            meta = file.metadata
            parts = [
                meta.row_group(i).column(j)
                for i in range(meta.num_row_groups)
                for j in range(meta.num_columns)
            ]
            _check_size(
                path, sum(max(part.total_uncompressed_size, part.num_values * 8) for part in parts)
            )
            table = file.read()
    except (pa.ArrowInvalid, OSError) as error:
        raise FeatureError(
            f"{path} cannot be read ({str(error).splitlines()[0]}); expected a whole Parquet file"
        ) from error
    names = [name for name in table.column_names if not name.startswith(INDEX)]
    columns = [_from_column(table.column(name).combine_chunks(), path, name) for name in names]
    if len(columns) > 1 and any(column.ndim > 1 for column in columns):
        raise FeatureError(
            f"{path} has {len(columns)} columns, some of them lists; expected only numbers, or one"
            " column of lists"
        )
    if not columns:
        return {}
    return {"": columns[0] if columns[0].ndim > 1 else np.stack(columns, axis=1)}


def _from_column(column: Any, path: Path, name: str) -> np.ndarray:
    import pyarrow as pa

    if column.null_count:
        raise FeatureError(
            f"column {name!r} of {path} has {column.null_count} empty cells; expected a number in"
            " each"
        )
    kind = column.type
    if not (
        pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)
    ):
        _check_type(
            path,
            f"{kind} in column {name!r}",
            fits=pa.types.is_floating(kind) or pa.types.is_integer(kind),
        )
        values: np.ndarray = column.to_numpy(zero_copy_only=False)
        return values
    lengths = set(column.value_lengths().to_pylist())
    if len(lengths) > 1:
        raise FeatureError(
            f"column {name!r} of {path} has lists of {len(lengths)} lengths; expected one"
        )
    values = _from_column(column.flatten(), path, name)
    return values.reshape(len(column), *lengths, *values.shape[1:])


READERS: dict[str, Callable[[Path], dict[str, np.ndarray]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".pt": _read_torch,
    ".parquet": _read_parquet,
}
