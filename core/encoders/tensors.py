"""Features in torch's own files and in safetensors: tensors alone, and only those that hold numbers
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from core.files.arrays import NUMBERS, TEXTS, check_type
from core.files.userfile import UserFile

# names of torch's types that are numbers, a whole number of bytes each
TYPES = frozenset(
    [f"float{bits}" for bits in (16, 32, 64)]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["bool", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
# what safetensors calls these
KINDS = frozenset(
    [f"F{bits}" for bits in (16, 32, 64)]
    + [f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64)]
    + ["BOOL", "BF16", "F8_E4M3", "F8_E5M2"]
)


def read_safetensors(file: UserFile) -> dict[str, np.ndarray]:
    """Return the tensors of a file by their names; raises FeatureError for a damaged file, and for
    tensors that are no numbers.
    """
    from safetensors import safe_open  # with torch: seconds that the other kinds need not pay

    with file.decoding(), safe_open(file.path, framework="pt") as tensors:
        names = list(tensors.keys())
        parts = {name: tensors.get_slice(name) for name in names}
        for part in parts.values():
            check_type(file, part.get_dtype(), fits=part.get_dtype() in KINDS)
        file.check_room(sum(8 * prod(part.get_shape()) for part in parts.values()))
        return {name: _as_array(tensors.get_tensor(name)) for name in parts}


def read_torch(file: UserFile, rows: int = 0) -> dict[str, np.ndarray]:
    """Return the tensors and arrays of a file of torch.save by their names, nested ones joined by a
    slash, or by their places from 0; lists of texts or whole numbers, too. rows: how many stimuli
    there are, which tells batches from layers; 0 if it is not known. Raises FeatureError as
    `read_safetensors` does, and for pickled objects.
    """
    from core.encoders.checkpoint import load_torch

    file.check_room(2 * file.size)
    held = load_torch(file)
    with file.decoding():
        named = dict(_flattened(held, "", rows))
        # as they are and as float32; a view that repeats one value is small on disk
        file.check_room(sum(8 * prod(part.shape) for part in named.values()))
        return {name: _checked_array(part, file) for name, part in named.items()}


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


def _in_columns(value: Sequence[Any], rows: int) -> Mapping[Any, list[Any]] | list[Any]:
    """Return records, a mapping or tuple for each stimulus or batch, as lists by field; lists of
    texts or whole numbers as one; all else as a list.
    """
    first = value[0]
    if all(isinstance(one, list | tuple) and _are_names(one) for one in value):
        return [name for one in value for name in one]
    if all(isinstance(one, Mapping) and one.keys() == first.keys() for one in value):
        fields = {key: [one[key] for one in value] for key in first}
    elif all(isinstance(one, list | tuple) and len(one) == len(first) for one in value):
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


def _as_matrix(value: Sequence[Any]) -> np.ndarray | None:
    """Return lists of equally many fractions as an array."""
    if not all(isinstance(one, list | tuple) and len(one) == len(value[0]) for one in value):
        return None
    plain = {type(number) for one in value for number in one}
    return np.array(value) if float in plain <= {int, float} else None


def _are_names(value: Sequence[Any]) -> bool:
    return bool(value) and all(isinstance(one, str | int) for one in value)


def _joined(parts: Sequence[Any], rows: int) -> np.ndarray | None:
    """Return the rows of one layer that came in parts, rows or batches; None of several layers."""
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
    return join([np.asarray(_as_array(part)) for part in parts]) if join else None


def _checked_array(part: Any, file: UserFile) -> np.ndarray:
    if isinstance(part, np.ndarray):
        check_type(file, f"{part.dtype}", fits=part.dtype.kind in NUMBERS + TEXTS)
        return part
    kind = str(part.dtype).removeprefix("torch.")
    check_type(file, str(part.dtype), fits=kind in TYPES)
    return _as_array(part)


def _as_array(tensor: Any) -> np.ndarray:
    """Return a tensor as an array: integers and wide floats as they are, others as float32;
    a sparse one in full."""
    if isinstance(tensor, np.ndarray):
        return tensor
    from torch import strided  # as above

    plain = (
        tensor.detach() if tensor.layout == strided else tensor.detach().to_dense()
    ).resolve_neg()
    if plain.is_floating_point() and plain.element_size() < 8:
        plain = plain.float()
    values: np.ndarray = plain.numpy()
    return values
