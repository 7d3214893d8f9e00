"""Features in a table, Parquet or text: columns of lists, or a column for each dim; and the columns
that name its rows.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import FeatureError
from core.files.arrays import check_type
from core.files.ids import INDEX, names_rows, plain_name
from core.files.parquet import as_text, read_parquet
from core.files.userfile import UserFile, shown

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa

COPIES = 4  # of a batch: as read, side by side, as float32, and in one piece
DEEPEST = 2  # lists in lists: layers of dims
LABELS = frozenset(
    [
        *("label", "labels", "class", "classes", "target", "targets", "y", "category"),
        *("split", "fold", "caption", "captions", "text"),
    ]
)


@dataclass(frozen=True)
class Columns:
    """What of a file is read, by name. ids: what names the rows, "" for what is called so.
    features: the layers, or the dims of a table, in this order; all that can be where none is
    named. drop: what is left out.
    """

    ids: str = ""
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def holds_ids(self, name: str) -> bool:
        plain = plain_name(name)
        if plain in self.drop:
            return False
        if self.ids:
            return self.ids == plain
        return names_rows(name)

    def is_out(self, name: str) -> bool:
        """Return whether a column is no feature by its name."""
        if plain_name(name) in (*self.drop, self.ids):
            return True
        if self.features:
            return name not in self.features
        return name.lower() in LABELS


EVERY = Columns()


def read_columns(file: UserFile, columns: Columns = EVERY) -> dict[str, np.ndarray]:
    """Return the features of a Parquet table, and its columns of ids and labels; raises
    FeatureError for a damaged file, and for columns that are neither.

    A column of lists is a layer; columns of numbers are the dims of one, named "". What pandas
    calls the index of a table names its rows.
    """
    fields: dict[str, pa.DataType] = {}

    def check(name: str, kind: pa.DataType) -> None:
        if not _is_aside(kind, name, columns):
            _check_kind(kind, name, file)
        fields[name] = kind

    parts, taken = dict[str, list[np.ndarray]](), 0
    for batch in read_parquet(file, check=check, index=True):
        taken += COPIES * batch.nbytes
        file.check_room(taken)
        with file.decoding():  # damaged texts and dates
            values = {
                name: np.array([f"{one}" for one in column.to_pylist()])
                if _is_aside(fields[name], name, columns)
                else _from_column(column, file, name)
                for name, column in zip(fields, batch.columns, strict=True)
            }
        for name, part in values.items():
            parts.setdefault(name, []).append(part)
    for name, each in parts.items():
        if len({part.shape[1:] for part in each}) > 1:
            raise FeatureError(
                f"column {shown(name)} of {file.path} has lists of several lengths; expected one"
            )
    whole = {name: np.concatenate(each) for name, each in parts.items()}
    aside = [name for name in whole if _is_aside(fields[name], name, columns)]
    return _stacked(whole, aside, columns, file)


def read_table(file: UserFile, columns: Columns = EVERY) -> dict[str, np.ndarray]:
    """Return the features of a table of text, and its columns of ids and labels, as `read_columns`
    does; fields are separated by commas, semicolons, tabs or spaces. A first line of numbers is a
    row, not a header; lines before it that begin with # are left out.
    """
    import pandas as pd

    file.check_room(4 * file.size)
    text = file.text()
    while text.startswith("#"):
        text = text.partition("\n")[2]
    head = text.partition("\n")[0]
    mark = max(",;\t", key=head.count)
    mark = mark if mark in head else r"\s+"
    first, *others = (head.split() if mark == r"\s+" else head.split(mark)) or [""]
    # numbers behind the first field are a row's, but 0, 1, 2 … are what pandas calls columns
    counts = [[f"{place + start}" for place in range(len(others))] for start in (0, 1)]
    is_row = all(map(_is_number, others)) and others not in counts
    is_row = is_row if others else _is_number(first)
    with file.decoding():
        table = pd.read_csv(
            io.StringIO(text), sep=mark, skipinitialspace=True, header=None if is_row else 0
        )
    whole = {
        f"{name}": column.to_numpy() if column.dtype.kind in "fiub" else column.to_numpy(dtype=str)
        for name, column in table.items()
    }
    # pandas writes its index as a first column without a name
    index = "0" if is_row and not _is_number(first) else "Unnamed: 0"
    whole = {INDEX if name == index else name: values for name, values in whole.items()}
    aside = [
        name
        for name, values in whole.items()
        if name not in columns.features
        and (values.dtype.kind not in "fiub" or columns.is_out(name) or columns.holds_ids(name))
    ]
    return _stacked(whole, aside, columns, file)


def _is_number(text: str) -> bool:
    try:
        return bool(text.strip()) and float(text) is not None
    except ValueError:
        return False


def _stacked(
    whole: dict[str, np.ndarray], aside: Sequence[str], columns: Columns, file: UserFile
) -> dict[str, np.ndarray]:
    """Return columns of numbers as one array, those of lists and those aside by their names."""
    wanted, held = [*columns.features, *([columns.ids] if columns.ids else [])], set(whole)
    held |= set(map(plain_name, whole))
    if missing := [name for name in wanted if name not in held]:
        raise FeatureError(
            f"{file.path} has no column {shown(missing[0])}; it has"
            f" {', '.join(map(shown, list(whole)[:20]))}"
        )
    if columns.features:
        whole = {name: whole[name] for name in dict.fromkeys((*columns.features, *whole))}
    dims = [name for name in whole if name not in aside]
    lists = {name: whole[name] for name in dims if whole[name].ndim > 1}
    flat = [whole[name] for name in dims if name not in lists]
    if lists and flat:
        raise FeatureError(
            f"{file.path} has {len(dims)} columns, some of them lists; expected only numbers, or"
            " only lists: name them by --feature-column"
        )
    found = {"": np.stack(flat, axis=1)} if flat else {}
    if len(lists) == 1:
        found, lists = {"": next(iter(lists.values()))}, {}
    return {**found, **lists, **{name: whole[name] for name in aside}}


def _is_aside(kind: pa.DataType, name: str, columns: Columns) -> bool:
    """Return whether a column is no feature: texts, ids, labels."""
    import pyarrow as pa

    if name in columns.features:
        return False
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    counts = columns.holds_ids(name) and pa.types.is_integer(kind)
    return texts or counts or columns.is_out(name)


def _check_kind(kind: pa.DataType, name: str, file: UserFile, depth: int = 0) -> None:
    """Raise FeatureError where a column holds neither numbers nor lists of them."""
    import pyarrow as pa

    is_list = (
        pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)
    )
    if is_list and depth < DEEPEST:
        _check_kind(kind.value_type, name, file, depth + 1)
        return
    fits = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
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
