"""The arrays of a file by their names, read without running or unfolding what it hides.

    .npy                      one array, without a name
    .npz .safetensors .pt     arrays by name, groups before a slash
    .h5 .hdf5 .mat
    .parquet .csv .tsv .txt   a column each, numbers, texts or lists of numbers
    .gz                       any of these, compressed

What a file may take is said in core/files/userfile.py, and is checked before it is allocated.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import FeatureError
from core.files.arrays import NUMBERS, TEXTS, check_type, read_numpy
from core.files.ids import INDEX, OTHERS, is_number, leaf, names_rows, plain_name
from core.files.parquet import as_text, read_parquet
from core.files.userfile import UserFile, shown

COPIES = 4  # of a batch of a table: as read, side by side, as float32, and in one piece
DEEPEST = 2  # lists in lists: layers of dims
LISTS = pa.types.is_list, pa.types.is_fixed_size_list, pa.types.is_large_list
PACKED = ".gz"
TABLES = (".parquet", ".csv", ".tsv", ".txt")
CLOSED = {  # what is refused by the end of the name
    **dict.fromkeys((".pkl", ".pickle"), "a pickle, which could run code"),
    ".nwb": "a recording of NWB",
}
ELSEWHERE = (
    "expected plain arrays: save rsatoolbox's data and rdms as HDF5 (data.save('FILE.h5', 'hdf5')),"
    " responses by numpy.save, (trials, stimuli, units)"
)
# how thingsvision names parts of what is too large for memory, by their rows: features_0-512.npy
PART = re.compile(r"(.*_)(\d{1,9})-(\d{1,9})(\.npy|\.pt)")
LABELS = frozenset(
    [
        *("label", "labels", "class", "classes", "target", "targets", "y", "category"),
        *("split", "fold", "caption", "captions", "text"),
    ]
)
# whole numbers are no features if a word of their name is one of these
FACTORS = LABELS | {"id", "ids", "idx", "index", "subject", "trial", "session", "run", "repeat"}
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Columns:
    """What of a file is read, by name. ids: what names the rows, "" for what is called so.
    features: the layers, or the dims of a table, in this order; all that can be if none is named.
    drop: what is left out. stimuli: the ids that name stimuli, if these are known.
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

    def may_hold_ids(self, name: str, values: np.ndarray) -> bool:
        """Return whether a line of values can be ids whatever it is called: of texts any, of whole
        numbers one in which each is another.
        """
        is_not = name in self.features or name.startswith(OTHERS)
        if self.ids or is_not or plain_name(name) in self.drop:
            return False
        if values.dtype.kind in TEXTS:
            return True
        few = values.ravel()[:1000]
        differ = values.dtype.kind in "iu" and len(np.unique(few)) == len(few)
        return differ and not self._is_factor(name) and len(np.unique(values)) == values.size

    def is_out(self, name: str) -> bool:
        """Return whether a column is no feature by its name; what has none may be."""
        if not name:
            return False
        if plain_name(name) in (*self.drop, self.ids):
            return True
        return name not in self.features if self.features else leaf(name) in LABELS

    def is_aside(self, name: str, *, whole: bool) -> bool:
        """Return whether a line of numbers is no dim by its name. whole: whether of whole ones."""
        if name in self.features:
            return False
        return self.is_out(name) or self.holds_ids(name) or (whole and self._is_factor(name))

    def _is_factor(self, name: str) -> bool:
        words = re.sub(r"([a-z])([A-Z])", r"\1_\2", name.rpartition("/")[2]).lower()
        return bool(FACTORS & {*re.split(r"[^a-z]+", words)}) or words.endswith("id")


EVERY = Columns()


def read_arrays(path: Path, columns: Columns = EVERY) -> Arrays:
    """Read the arrays of a file by their names, as they are; raise FeatureError for a file that is
    not safe, or of another kind.
    """
    kind = kind_of(path)
    if kind in CLOSED:
        raise FeatureError(f"{path} is {CLOSED[kind]}; {ELSEWHERE}")
    reader = READERS.get(kind)
    if reader is None:
        raise FeatureError(f"{path} is of no known kind; expected one of {', '.join(ENDINGS)}")
    file = UserFile(path, f"whole {kind} data", FeatureError)
    if path.suffix.lower() == PACKED:
        with TemporaryDirectory() as folder:
            whole = Path(folder, path.stem)
            with file.decoding(), gzip.open(path) as packed, whole.open("wb") as out:
                while part := packed.read(1 << 20):
                    out.write(part)
                    file.check_room(2 * out.tell())
            try:
                return reader(UserFile(whole, file.expected, FeatureError), columns)
            except FeatureError as error:
                raise FeatureError(str(error).replace(str(whole), str(path))) from error
    parts = [reader(UserFile(one, file.expected, FeatureError), columns) for one in parts_of(path)]
    if len(parts) < 2:
        return reader(file, columns)
    with file.decoding():  # parts of other shapes
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def kind_of(path: Path) -> str:
    """Return the end of a file's name, small, without that of what it is compressed by."""
    name = path.name.lower()
    return Path(name.removesuffix(PACKED)).suffix or Path(name).suffix


def parts_of(path: Path) -> list[Path]:
    """Return the files of which one is a part, in the order of their rows; raises FeatureError if
    rows between them are missing.
    """
    if not (match := PART.fullmatch(path.name)):
        return []
    found = [PART.fullmatch(one.name) for one in path.parent.iterdir()]
    parts = sorted(
        (int(one[2]), int(one[3]), one[0])
        for one in found
        if one and one.group(1, 4) == match.group(1, 4)
    )
    for end, (start, _, name) in zip([0, *(part[1] for part in parts)], parts, strict=False):
        if start != end:
            raise FeatureError(
                f"{path} is one of {len(parts)} parts, but the rows from {end} to {start}, before"
                f" {name}, are missing or there twice; put all parts into one folder, alone"
            )
    return [path.with_name(name) for _, _, name in parts]


def read_columns(file: UserFile, columns: Columns = EVERY) -> Arrays:
    """Return the columns of a Parquet table; raises FeatureError for a damaged file, and for
    columns that are neither numbers, texts nor lists of numbers. What pandas calls the index of a
    table names its rows. Empty cells of texts and ids are "".
    """
    texts: dict[str, bool] = {}

    def check(name: str, kind: pa.DataType) -> None:
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        texts[name] = is_text or columns.is_aside(name, whole=pa.types.is_integer(kind))
        for _ in range(DEEPEST):
            kind = kind.value_type if any(is_one(kind) for is_one in LISTS) else kind
        said = f"{as_text(kind)} in column {shown(name)}"
        check_type(file, said, fits=texts[name] or _is_flat(kind))

    parts, taken = dict[str, list[np.ndarray]](), 0
    for batch in read_parquet(file, check=check, index=True):
        taken += COPIES * batch.nbytes
        file.check_room(taken)
        with file.decoding():  # damaged texts and dates
            for name, column in zip(texts, batch.columns, strict=True):
                part = _from_column(column, file, name, as_texts=texts[name])
                parts.setdefault(name, []).append(part)
    for name, each in parts.items():
        if len({part.shape[1:] for part in each}) > 1:
            raise FeatureError(
                f"column {shown(name)} of {file.path} has lists of several lengths; expected one"
            )
    return {name: np.concatenate(each) for name, each in parts.items()}


def _is_flat(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    )


def _from_column(
    column: pa.Array, file: UserFile, name: str, *, as_texts: bool = False
) -> np.ndarray:
    if as_texts and (column.null_count or not _is_flat(column.type)):
        return np.array(["" if one is None else f"{one}" for one in column.to_pylist()])
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


def read_table(file: UserFile, _: Columns = EVERY) -> Arrays:
    """Return the columns of a table of text; fields are separated by commas, semicolons, tabs or
    spaces. A first line of numbers is a row, not a header; lines before it that are empty or begin
    with # are left out. A first column that the header does not name has the ids of the rows. A
    cell may hold a list: [0.1, 0.2]. Numbers of a table without commas between fields may have
    decimal commas.
    """
    import pandas as pd

    file.check_room(4 * file.size)
    text = file.text().replace("\r\n", "\n").replace("\r", "\n").lstrip("\n ")
    while text.startswith("#"):
        text = text.partition("\n")[2].lstrip("\n ")
    csv.field_size_limit(len(text) + 1)  # a list in a cell is as long as it is
    lines = [line for line in islice(io.StringIO(text), 5) if line.strip()][:2]
    mark = next((one for one in "\t;," if all(one in line for line in lines)), " ")
    head, row = (
        next(csv.reader([line.strip(" \r\n")], delimiter=mark, skipinitialspace=True), []) or [""]
        for line in (*lines, *lines, "", "")[:2]
    )
    comma = mark in "\t;" and any(re.fullmatch(r"\s*-?\d+,\d+\s*", field) for field in row)
    # numbers behind the first field are a row's, but 0, 1, 2 … are what pandas calls columns
    others = head[1:-1] if len(head) > 2 and not head[-1].strip() else head[1:]
    counts = [[f"{place + start}" for place in range(len(others))] for start in (0, 1)]
    first, *numbers = (is_number(one.replace(",", ".") if comma else one) for one in head)
    is_row = all(numbers[: len(others)]) and others not in counts if others else first
    if is_row:
        head = [f"{place}" if place or first else INDEX for place in range(len(head))]
    elif len(row) == len(head) + 1 and not row[-1].strip():
        head = [*head, ""]
    elif len(row) == len(head) + 1 and not (EVERY.holds_ids(head[0]) and is_number(row[1])):
        head = [INDEX, *head]
    if len(row) != len(head):
        raise FeatureError(
            f"{file.path} has {len(head)} names in its header and {len(row)} fields in the row"
            " below; expected as many, or one more whose first is the id of the row"
        )
    names = [name.strip() or "(no name)" for name in head]
    names[0] = INDEX if head[0] in ("", "Unnamed: 0") else names[0]  # as pandas calls its index
    for place, name in enumerate(names):  # no two alike
        again = names[:place].count(name)
        names[place] = f"{name}.{again}" if again else name
    with file.decoding():
        table = pd.read_csv(
            io.StringIO(text if is_row else text.partition("\n")[2]),
            sep=r"\s+" if mark == " " else mark,
            skipinitialspace=True,
            header=None,
            names=names,
            na_filter=False,
            decimal="," if comma else ".",
            low_memory=False,
        )
        return {
            f"{name}": column.to_numpy()
            if column.dtype.kind in "fiub"
            else np.array([f"{cell}" for cell in column])
            for name, column in table.items()
        }


def read_safetensors(file: UserFile, _: Columns = EVERY) -> Arrays:
    """Return the tensors of a file by their names; raises FeatureError for a damaged file, and for
    tensors that are no numbers.
    """
    from safetensors import safe_open  # with torch: seconds that the other kinds need not pay

    with file.decoding(), safe_open(file.path, framework="pt") as tensors:
        parts = {name: tensors.get_slice(name) for name in list(tensors.keys())}
        file.check_room(sum(8 * prod(part.get_shape()) for part in parts.values()))
        return _numbers({name: tensors.get_tensor(name) for name in parts}, file)


def read_torch(file: UserFile, columns: Columns = EVERY) -> Arrays:
    """Return the tensors and arrays of a file of torch.save by their names, nested ones joined by a
    slash, or by their places from 0; lists of texts or whole numbers, too. The count of stimuli, if
    it is known, tells batches from layers. Raises FeatureError as `read_safetensors` does, and for
    pickled objects.
    """
    from core.encoders.checkpoint import load_torch

    file.check_room(2 * file.size)
    held = load_torch(file)
    with file.decoding():
        named = dict(_flattened(held, "", len(columns.stimuli)))
        # as they are and as float32; a view that repeats one value is small on disk
        file.check_room(sum(8 * prod(part.shape) for part in named.values()))
        return _numbers(named, file)


def _numbers(parts: Mapping[str, Any], file: UserFile) -> Arrays:
    arrays = {name: _as_array(part) for name, part in parts.items()}
    for array in arrays.values():
        check_type(file, str(array.dtype), fits=array.dtype.kind in NUMBERS + TEXTS)
    return arrays


def _flattened(value: Any, name: str, rows: int) -> Iterator[tuple[str, Any]]:
    """Yield what a file holds that has a shape, by name; scalars and what else it says are passed
    over.
    """
    if isinstance(value, list | tuple) and value:
        matrix = _as_matrix(value)
        value = _in_columns(value, rows) if matrix is None else matrix
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flattened(each, f"{name}/{key}" if name else f"{key}", rows)
    elif isinstance(value, list) and all(isinstance(one, str | int) for one in value):
        yield name, np.array(value)
    elif isinstance(value, list):
        is_plain = all(hasattr(one, "shape") for one in value)
        if (joined := _joined(value, rows) if is_plain else None) is not None:
            yield name, joined
        else:
            yield from _flattened(dict(enumerate(value)), name, rows)
    elif hasattr(value, "shape") and len(value.shape):
        yield name, value


def _as_matrix(value: Sequence[Any]) -> np.ndarray | None:
    if not all(isinstance(one, list | tuple) and len(one) == len(value[0]) for one in value):
        return None
    plain = {type(number) for one in value for number in one}
    return np.array(value) if float in plain <= {int, float} else None


def _in_columns(value: Sequence[Any], rows: int) -> Mapping[Any, list[Any]] | list[Any]:
    """Return records, a mapping or tuple for each stimulus or batch, as lists by field; lists of
    texts or whole numbers as one; all else as a list.
    """
    first, are_lists = value[0], all(isinstance(one, list | tuple) for one in value)
    if are_lists and all(one and all(isinstance(x, str | int) for x in one) for one in value):
        return [name for one in value for name in one]
    if all(isinstance(one, Mapping) and one.keys() == first.keys() for one in value):
        fields = {key: [one[key] for one in value] for key in first}
    elif are_lists and all(len(one) == len(first) for one in value):
        fields = {place: [one[place] for one in value] for place in range(len(first))}
    else:
        return list(value)
    told = any(not hasattr(one, "shape") for each in fields.values() for one in each)
    is_one = told or len(value) == rows or any(_whole(each, rows) for each in fields.values())
    return fields if is_one else list(value)


def _whole(parts: Sequence[Any], rows: int) -> bool:
    """Return whether parts, none of which is of all stimuli, have a row for each together."""
    counts = [len(part) for part in parts if len(part.shape)]
    return sum(counts) == rows and rows not in counts


def _joined(parts: Sequence[Any], rows: int) -> np.ndarray | None:
    shapes = [tuple(part.shape) for part in parts]
    if len(shapes) < 2 or len({shape[1:] for shape in shapes}) > 1:
        return None
    lengths = {shape[:1] for shape in shapes}
    whole = _whole(parts, rows)
    if len(shapes[0]) < 2:
        in_rows = len(lengths) == 1 and not (whole and len(parts) != rows)
        join = np.stack if in_rows else np.concatenate if whole else None
    else:
        join = np.concatenate if whole or len(lengths) > 1 or lengths == {(1,)} else None
    return join([_as_array(part) for part in parts]) if join else None


def _as_array(tensor: Any) -> np.ndarray:
    """Return a tensor as an array: integers and wide floats as they are, others as float32; a
    sparse one in full.
    """
    if isinstance(tensor, np.ndarray):
        return tensor
    from torch import strided  # as above

    plain = tensor.detach()
    plain = (plain if tensor.layout == strided else plain.to_dense()).resolve_neg()
    if plain.is_floating_point() and plain.element_size() < 8:
        plain = plain.float()
    values: np.ndarray = plain.numpy()
    return values


def _read_hdf5(file: UserFile, _: Columns) -> Arrays:
    from core.files.hdf5 import read_hdf5  # with h5py: 0.2 s that the other kinds need not pay

    return read_hdf5(file)


READERS: dict[str, Callable[[UserFile, Columns], Arrays]] = {
    ".npy": lambda file, _: read_numpy(file),
    ".npz": lambda file, _: read_numpy(file, kinds=NUMBERS + TEXTS),
    ".safetensors": read_safetensors,
    **dict.fromkeys((".pt", ".pth"), read_torch),
    ".parquet": read_columns,
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_table),
    **dict.fromkeys((".h5", ".hdf5", ".mat"), _read_hdf5),
}
ENDINGS = (*READERS, PACKED)
