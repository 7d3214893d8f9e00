"""Features in a table, Parquet or text: columns of lists, or a column for each dim; and the columns
that name its rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from core.errors import FeatureError
from core.files.arrays import TEXTS, check_type
from core.files.ids import INDEX, OTHERS, leaf, names_rows, plain_name
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
# whole numbers are no features if a word of their name is one of these
FACTORS = LABELS | {"id", "ids", "idx", "index", "subject", "trial", "session", "run", "repeat"}


@dataclass(frozen=True)
class Columns:
    """What of a file is read, by name. ids: what names the rows, "" for what is called so.
    features: the layers, or the dims of a table, in this order; all that can be where none is
    named. drop: what is left out. stimuli: the ids that name stimuli, if these are known.
    """

    ids: str = ""
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    stimuli: tuple[str, ...] = ()

    def holds_ids(self, name: str) -> bool:
        """Return whether what is called so names the rows."""
        plain = plain_name(name)
        if plain in self.drop or name in self.features or name.startswith(OTHERS):
            return False
        if self.ids:
            return self.ids == plain
        return names_rows(name)

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
        if self.features:
            return name not in self.features
        return leaf(name) in LABELS

    def is_aside(self, name: str, *, whole: bool) -> bool:
        """Return whether a line of numbers is no dim by its name. whole: whether of whole ones."""
        if name in self.features:
            return False
        return self.is_out(name) or self.holds_ids(name) or (whole and self._is_factor(name))

    def _is_factor(self, name: str) -> bool:
        words = re.sub(r"([a-z])([A-Z])", r"\1_\2", name.rpartition("/")[2]).lower()
        return bool(FACTORS & {*re.split(r"[^a-z]+", words)}) or words.endswith("id")


EVERY = Columns()


def read_columns(file: UserFile, columns: Columns = EVERY) -> dict[str, np.ndarray]:
    """Return the columns of a Parquet table; raises FeatureError for a damaged file, and for
    columns that are neither numbers, texts nor lists of numbers. What pandas calls the index of a
    table names its rows. Empty cells of texts and ids are "".
    """
    import pyarrow as pa

    texts: dict[str, bool] = {}

    def check(name: str, kind: pa.DataType) -> None:
        whole = pa.types.is_integer(kind)
        texts[name] = _is_text(kind) or columns.is_aside(name, whole=whole)
        if not texts[name]:
            _check_kind(kind, name, file)

    parts, taken = dict[str, list[np.ndarray]](), 0
    for batch in read_parquet(file, check=check, index=True):
        taken += COPIES * batch.nbytes
        file.check_room(taken)
        with file.decoding():  # damaged texts and dates
            values = {
                name: _from_column(column, file, name, as_texts=texts[name])
                for name, column in zip(texts, batch.columns, strict=True)
            }
        for name, part in values.items():
            parts.setdefault(name, []).append(part)
    for name, each in parts.items():
        if len({part.shape[1:] for part in each}) > 1:
            raise FeatureError(
                f"column {shown(name)} of {file.path} has lists of several lengths; expected one"
            )
    return {name: np.concatenate(each) for name, each in parts.items()}


def read_table(file: UserFile, _: Columns = EVERY) -> dict[str, np.ndarray]:
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
    head, row = (_fields(line, mark) or [""] for line in (*lines, *lines, "", "")[:2])
    comma = mark in "\t;" and any(re.fullmatch(r"\s*-?\d+,\d+\s*", field) for field in row)
    # numbers behind the first field are a row's, but 0, 1, 2 … are what pandas calls columns
    others = head[1:-1] if len(head) > 2 and not head[-1].strip() else head[1:]
    counts = [[f"{place + start}" for place in range(len(others))] for start in (0, 1)]
    first, *numbers = (_is_number(one.replace(",", ".") if comma else one) for one in head)
    is_row = all(numbers[: len(others)]) and others not in counts if others else first
    if is_row:
        head = [f"{place}" if place or first else INDEX for place in range(len(head))]
    elif len(row) == len(head) + 1 and not row[-1].strip():
        head = [*head, ""]
    elif len(row) == len(head) + 1 and not (EVERY.holds_ids(head[0]) and _is_number(row[1])):
        head = [INDEX, *head]
    if len(row) != len(head):
        raise FeatureError(
            f"{file.path} has {len(head)} names in its header and {len(row)} fields in the row"
            " below; expected as many, or one more whose first is the id of the row"
        )
    with file.decoding():
        table = pd.read_csv(
            io.StringIO(text if is_row else text.partition("\n")[2]),
            sep=r"\s+" if mark == " " else mark,
            skipinitialspace=True,
            header=None,
            names=_unlike(head),
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


def _fields(line: str, mark: str) -> list[str]:
    rows = csv.reader([line.strip(" \r\n")], delimiter=mark, skipinitialspace=True)
    return next(rows, [])


def _unlike(head: Sequence[str]) -> list[str]:
    """Return the names of columns, no two alike. pandas gives its index none."""
    names = [
        INDEX if not place and name in ("", "Unnamed: 0") else name.strip() or "(no name)"
        for place, name in enumerate(head)
    ]
    return [
        f"{name}.{names[:place].count(name)}" if name in names[:place] else name
        for place, name in enumerate(names)
    ]


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and not isnan(float(text))
    except ValueError:
        return False


def stacked(
    whole: dict[str, np.ndarray], by: str, columns: Columns, path: Path
) -> dict[str, np.ndarray]:
    """Return columns of numbers as one array, the layer "", and all others by their names: those of
    lists, each a layer, texts, ids and labels. by: the column that names the rows. Raises
    FeatureError for a column of numbers with a cell that is none, and for numbers next to lists.
    """
    dims = list[str]()
    for name, values in whole.items():
        kind = values.dtype.kind
        if name == by or columns.is_aside(name, whole=kind in "iu"):
            continue
        if kind in TEXTS:
            rows, wrong = _lists(values, sure=name in columns.features)
            if wrong is not None:
                raise FeatureError(
                    f"column {shown(name)} of {path} has {shown(str(values[wrong]))} in row"
                    f" {wrong + 1}; expected a number in each row, or a list of as many: mend the"
                    " cell, or leave the column out by --drop"
                )
            if rows is None:
                continue
            whole[name] = rows
        dims.append(name)
    if by == "" and not columns.features and _is_count(whole, dims):
        raise FeatureError(
            f"column {shown(dims[0])} of {path} holds another whole number in each row, next to"
            " fractions; if these are ids, expected those of stimuli, or places from 0; else say"
            " which columns are features by --feature-column, or leave it out by --drop"
        )
    lists = {name: whole[name] for name in dims if whole[name].ndim > 1}
    flat = {name: whole[name] for name in dims if name not in lists}
    if lists and flat:
        raise FeatureError(
            f"{path} has {len(dims)} columns, some of them lists; expected only numbers, or"
            " only lists: name them by --feature-column"
        )
    found = {"": np.stack([*flat.values()], axis=1)} if flat else {}
    if len(lists) == 1:
        found, lists = {"": next(iter(lists.values()))}, {}
    return {**found, **lists, **{name: whole[name] for name in whole if name not in dims}}


def _lists(
    texts: np.ndarray, *, sure: bool
) -> tuple[Float64[np.ndarray, "n _"] | None, int | None]:
    """Return the rows of numbers that texts list, None if they list none; and the first row that is
    no number, or no list of as many, if most are. sure: whether all have to be.
    """
    cells = [
        text.strip("[] \n").replace(",", " ").split() if text[:1] == "[" else [text]
        for text in texts
    ]
    likely = sum(any(map(_is_number, row)) for row in cells)
    if not sure and 2 * likely <= len(cells):
        return None, None
    width = Counter(map(len, cells)).most_common(1)[0][0]
    for place, row in enumerate(cells):
        if len(row) != width or not all(map(_is_number, row)):
            return None, place
    return (np.array(cells, np.float64) if texts[0][:1] == "[" or sure else None), None


def _is_count(whole: Mapping[str, np.ndarray], dims: Sequence[str]) -> bool:
    """Return whether the first of some columns counts rows, and the others hold fractions."""
    kinds = [whole[name].dtype.kind for name in dims]
    values = whole[dims[0]] if dims else np.empty(0)
    is_first = kinds[:1] in (["i"], ["u"]) and {*kinds[1:]} == {"f"} and values.ndim == 1
    return is_first and len(np.unique(values)) == len(values) > 1


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind  # of pandas: categories
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check_kind(kind: pa.DataType, name: str, file: UserFile, depth: int = 0) -> None:
    """Raise FeatureError where a column holds neither numbers nor lists of them."""
    import pyarrow as pa

    is_list = (
        pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)
    )
    if is_list and depth < DEEPEST:
        _check_kind(kind.value_type, name, file, depth + 1)
        return
    check_type(file, f"{as_text(kind)} in column {shown(name)}", fits=_is_flat(kind))


def _is_flat(kind: pa.DataType) -> bool:
    import pyarrow as pa

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
