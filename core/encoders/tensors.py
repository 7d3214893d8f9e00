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


def read_torch(file: UserFile) -> dict[str, np.ndarray]:
    """Return the tensors and arrays of a file of torch.save by their names, nested ones joined by a
    dot, or by their places from 0; lists of texts, too. Raises FeatureError as `read_safetensors`
    does, and for pickled objects.
    """
    from core.encoders.checkpoint import load_torch

    file.check_room(2 * file.size)
    held = load_torch(file)
    with file.decoding():
        named = dict(_flattened(held, ""))
        # as they are and as float32; a view that repeats one value is small on disk
        file.check_room(sum(8 * prod(part.shape) for part in named.values()))
        return {name: _checked_array(part, file) for name, part in named.items()}


def _flattened(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield what a file holds that has a shape, by name; scalars and what else it says are passed
    over.
    """
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flattened(each, f"{name}.{key}" if name else f"{key}")
    elif isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        yield name, np.array(value)
    elif isinstance(value, list | tuple):
        parts = [one for one in value if hasattr(one, "shape")]
        if (joined := _joined(parts)) is not None:
            yield name, joined
        else:
            for place, each in enumerate(value):
                yield from _flattened(each, f"{name}.{place}" if name else f"{place}")
    elif hasattr(value, "shape") and len(value.shape):
        yield name, value


def _joined(parts: Sequence[Any]) -> np.ndarray | None:
    """Return the rows of one layer that came in parts, rows or batches; None of several layers."""
    shapes = [tuple(part.shape) for part in parts]
    if len(shapes) < 2 or len({shape[1:] for shape in shapes}) > 1:
        return None
    if all(len(shape) == 1 for shape in shapes) and len(set(shapes)) == 1:
        return np.stack([np.asarray(_as_array(part)) for part in parts])
    batches = all(len(shape) == 2 for shape in shapes) and len({shape[0] for shape in shapes}) > 1
    return np.concatenate([_as_array(part) for part in parts]) if batches else None


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
