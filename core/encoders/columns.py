"""Features in a Parquet table: a column of lists, or a column for each dim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.errors import FeatureError
from core.files.arrays import check_type
from core.files.parquet import as_text, read_parquet
from core.files.userfile import UserFile, shown

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa

COPIES = 4  # of a batch: as read, side by side, as float32, and in one piece
DEEPEST = 2  # lists in lists: layers of dims


def read_columns(file: UserFile) -> dict[str, np.ndarray]:
    """Return the one array of a table; raises FeatureError for a damaged file, and for columns that
    are not all numbers.
    """
    kinds: dict[str, pa.DataType] = {}

    def check(name: str, kind: pa.DataType) -> None:
        _check_kind(kind, name, file)
        kinds[name] = kind

    parts, taken = [], 0
    for batch in read_parquet(file, check=check):
        if len(kinds) > 1 and any(kind.num_fields for kind in kinds.values()):
            raise FeatureError(
                f"{file.path} has {len(kinds)} columns, some of them lists; expected only numbers,"
                " or one column of lists"
            )
        taken += COPIES * batch.nbytes
        file.check_room(taken)
        named = zip(kinds, batch.columns, strict=True)
        columns = [_from_column(column, file, name) for name, column in named]
        parts.append(columns[0] if len(columns) == 1 else np.stack(columns, axis=1))
    if not parts:
        return {}
    if len(widths := {part.shape[1:] for part in parts}) > 1:
        raise FeatureError(
            f"column {shown(next(iter(kinds)))} of {file.path} has lists of {len(widths)} lengths"
            " or more; expected one"
        )
    values = np.concatenate(parts)
    return {"": values if values.ndim > 1 else values[:, None]}


def _check_kind(kind: pa.DataType, name: str, file: UserFile, depth: int = 0) -> None:
    """Raise FeatureError where a column holds neither numbers nor lists of them."""
    import pyarrow as pa

    is_list = (
        pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)
    )
    if is_list and depth < DEEPEST:
        _check_kind(kind.value_type, name, file, depth + 1)
        return
    fits = pa.types.is_floating(kind) or pa.types.is_integer(kind)
    check_type(file, f"{as_text(kind)} in column {shown(name)}", fits=fits)


def _from_column(column: pa.Array, file: UserFile, name: str) -> np.ndarray:
    if column.null_count:
        raise FeatureError(
            f"column {shown(name)} of {file.path} has {column.null_count} empty cells; expected a"
            " number in each"
        )
    if not column.type.num_fields:
        values: np.ndarray = column.to_numpy(zero_copy_only=False)
        return values
    lengths = set(column.value_lengths().to_pylist())
    if len(lengths) > 1:
        raise FeatureError(
            f"column {shown(name)} of {file.path} has lists of {len(lengths)} lengths; expected one"
        )
    values = _from_column(column.flatten(), file, name)
    return values.reshape(len(column), *lengths, *values.shape[1:])
