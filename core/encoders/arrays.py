"""The arrays of a file by their names; no code in a file runs.

.npy                      one array, without a name
.npz .safetensors .pt     arrays by name, groups before a slash
.h5 .hdf5 .mat
.parquet .csv             columns: numbers, texts, or lists of numbers (Parquet)
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import FeatureError
from core.files.arrays import NUMBERS, TEXTS, check_type, read_numpy
from core.files.ids import INDEX, OTHERS, is_number, leaf, names_rows, plain_name
from core.files.parquet import as_text, read_parquet
from core.files.userfile import UserFile, shown

COPIES = 4  # of a batch of a table: as read, by column, as float32, and in one piece
TABLES = (".parquet", ".csv")
LABELS = frozenset(  # names of what is known of stimuli: no features
    [
        *("label", "labels", "class", "classes", "target", "targets", "y", "category"),
        *("split", "fold", "caption", "captions", "text", "subject", "session", "run"),
    ]
)
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Columns:
    """What is read of a file, by name. ids: names the rows, "" for what has a usual name.
    features: the layers, or the dims of a table, in this order; all that can be if none is named.
    drop: is left out. stimuli: the ids of the dataset, if they are known.
    """

    ids: str = ""
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    stimuli: tuple[str, ...] = ()

    def holds_ids(self, name: str) -> bool:
        plain = plain_name(name)
        if plain in self.drop or name in self.features or name.startswith(OTHERS):
            return False
        return self.ids == plain if self.ids else names_rows(name)

    def is_out(self, name: str) -> bool:
        """Return whether the name says that an array is no feature."""
        if not name or name in self.features:
            return False
        if self.features or plain_name(name) in (*self.drop, self.ids):
            return True
        return leaf(name) in LABELS


EVERY = Columns()


def read_arrays(path: Path, columns: Columns = EVERY) -> Arrays:
    """Return the arrays of a file by name; raise FeatureError for a file that is unsafe, damaged
    or of another kind.
    """
    kind = path.suffix.lower()
    if kind not in READERS:
        raise FeatureError(f"{path} has an unknown format; expected one of {', '.join(ENDINGS)}")
    return READERS[kind](UserFile(path, f"whole {kind} data", FeatureError), columns)


def read_columns(file: UserFile, columns: Columns = EVERY) -> Arrays:
    """Return the columns of a Parquet table; empty cells of texts and ids are ""."""

    def check(name: str, kind: pa.DataType) -> None:
        inner = kind.value_type if _is_list(kind) else kind
        fits = _is_text(kind) or _is_flat(inner) or columns.is_out(name)
        check_type(file, f"{as_text(kind)} in column {shown(name)}", fits=fits)

    batches, taken = list[pa.RecordBatch](), 0
    for batch in read_parquet(file, check=check, index=True):
        taken += COPIES * batch.nbytes
        file.check_room(taken)
        batches.append(batch)
    with file.decoding():  # damaged texts
        table = pa.Table.from_batches(batches) if batches else pa.table({})
        return {
            name: _from_column(column.combine_chunks(), name, columns, file)
            for name, column in zip(table.column_names, table.columns, strict=True)
        }


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_flat(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    )


def _from_column(column: pa.Array, name: str, columns: Columns, file: UserFile) -> np.ndarray:
    is_named = columns.is_out(name) or columns.holds_ids(name)
    if _is_text(column.type) or (is_named and (column.null_count or not _is_flat(column.type))):
        return np.array(["" if one is None else f"{one}" for one in column.to_pylist()])
    rows, lengths = len(column), list[int]()
    if _is_list(column.type) and not column.null_count:
        lengths = sorted({*column.value_lengths().to_pylist()})
        column = column.flatten()
    if column.null_count:
        raise FeatureError(
            f"column {shown(name)} of {file.path} has {column.null_count} empty cells; expected a"
            " number in each"
        )
    if len(lengths) > 1:
        raise FeatureError(
            f"column {shown(name)} of {file.path} has lists of {len(lengths)} lengths; expected one"
        )
    values: np.ndarray = column.to_numpy(zero_copy_only=False)
    return values.reshape(rows, *lengths)


def read_table(file: UserFile, _: Columns = EVERY) -> Arrays:
    """Return the columns of a CSV with a header; fields are separated by commas, semicolons or
    tabs. A first column without a name is the index of pandas.
    """
    import pandas as pd

    file.check_room(4 * file.size)
    text = file.text()
    head = text.partition("\n")[0]
    with file.decoding():
        table = pd.read_csv(
            io.StringIO(text),
            sep=max(",;\t", key=head.count),
            na_filter=False,
            skipinitialspace=True,
            low_memory=False,
        )
    names = [f"{name}" for name in table.columns]
    if names[:1] in (["Unnamed: 0"], [""]):
        names[0] = INDEX
    others = names[1:] or names
    counts = [[f"{place + start}" for place in range(len(others))] for start in (0, 1)]
    if all(map(is_number, others)) and others not in counts:
        raise FeatureError(
            f"{file.path} has no header; expected the names of its columns in the first line"
        )
    if not isinstance(table.index, pd.RangeIndex):
        raise FeatureError(
            f"{file.path} has {len(names)} names in its header and more fields in the rows below;"
            " expected as many"
        )
    return {
        name: column.to_numpy() if column.dtype.kind in NUMBERS else np.array([*map(str, column)])
        for name, (_, column) in zip(names, table.items(), strict=True)
    }


def read_safetensors(file: UserFile, _: Columns = EVERY) -> Arrays:
    from safetensors import safe_open  # with torch: seconds that the other kinds need not pay

    with file.decoding(), safe_open(file.path, framework="pt") as tensors:
        parts = {name: tensors.get_slice(name) for name in list(tensors.keys())}
        file.check_room(sum(8 * prod(part.get_shape()) for part in parts.values()))
        return _numbers({name: tensors.get_tensor(name) for name in parts}, file)


def read_torch(file: UserFile, _: Columns = EVERY) -> Arrays:
    """Return the tensors, arrays and lists of texts in a file of torch.save by their names, or by
    their places from 0; names of nested ones are joined by a slash.
    """
    from core.encoders.checkpoint import load_torch

    file.check_room(2 * file.size)
    held = load_torch(file)
    with file.decoding():
        named = dict(_flattened(held, ""))
        # a view that repeats one value is small on disk
        file.check_room(sum(8 * prod(part.shape) for part in named.values()))
        return _numbers(named, file)


def _numbers(parts: Mapping[str, Any], file: UserFile) -> Arrays:
    """Return tensors as arrays: integers and float64 as they are, other floats as float32."""
    arrays: Arrays = {}
    for name, part in parts.items():
        if not isinstance(part, np.ndarray):
            part = part.detach().resolve_neg()
            is_narrow = part.is_floating_point() and part.element_size() < 8
            part = (part.float() if is_narrow else part).numpy()
        check_type(file, str(part.dtype), fits=part.dtype.kind in NUMBERS + TEXTS)
        arrays[name] = part
    return arrays


def _flattened(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield what has a shape, by name; scalars are left out."""
    if isinstance(value, list | tuple):
        if value and all(isinstance(one, str | int) for one in value):
            value = np.array(value)
        else:
            value = dict(enumerate(value))
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flattened(each, f"{name}/{key}" if name else f"{key}")
    elif hasattr(value, "shape") and len(value.shape):
        yield name, value


def _read_hdf5(file: UserFile, _: Columns) -> Arrays:
    from core.files.hdf5 import read_hdf5  # with h5py: 0.2 s that the other kinds need not pay

    return read_hdf5(file)


READERS: dict[str, Callable[[UserFile, Columns], Arrays]] = {
    ".npy": lambda file, _: read_numpy(file),
    ".npz": lambda file, _: read_numpy(file, kinds=NUMBERS + TEXTS),
    ".safetensors": read_safetensors,
    **dict.fromkeys((".pt", ".pth"), read_torch),
    ".parquet": read_columns,
    ".csv": read_table,
    **dict.fromkeys((".h5", ".hdf5", ".mat"), _read_hdf5),
}
ENDINGS = tuple(READERS)
