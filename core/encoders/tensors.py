"""Features in torch's own files and in safetensors: tensors alone, and only those that hold numbers
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from core.errors import FeatureError
from core.files.arrays import check_type
from core.files.userfile import UserFile

# names of torch's types that are numbers, a whole number of bytes each
TYPES = frozenset(
    [f"float{bits}" for bits in (16, 32, 64)]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
# what safetensors calls these
KINDS = frozenset(
    [f"F{bits}" for bits in (16, 32, 64)]
    + [f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64)]
    + ["BF16", "F8_E4M3", "F8_E5M2"]
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
    """Return the tensors of a file of torch.save by their names, or by their places from 0; raises
    FeatureError as `read_safetensors` does, and for pickled objects.
    """
    from torch import Tensor  # as above

    from core.encoders.checkpoint import load_torch

    file.check_room(2 * file.size)
    features = load_torch(file)
    if isinstance(features, Mapping) and isinstance(features.get("feats"), Tensor):
        features = {"feats": features["feats"]}
    if isinstance(features, Tensor):
        features = [features]
    if isinstance(features, list | tuple):
        features = dict(enumerate(features))
    if not isinstance(features, Mapping) or not all(
        isinstance(part, Tensor) for part in features.values()
    ):
        raise FeatureError(
            f"{file.path} holds {type(features).__name__}; expected a tensor, several, or"
            " platonic-rep's feats"
        )
    with file.decoding():
        for part in features.values():
            kind = str(part.dtype).removeprefix("torch.")
            check_type(file, str(part.dtype), fits=kind in TYPES)
        # as they are and as float32; a view that repeats one value is small on disk
        file.check_room(sum(8 * part.numel() for part in features.values()))
        return {str(name): _as_array(part) for name, part in features.items()}


def _as_array(tensor: Any) -> np.ndarray:
    values: np.ndarray = tensor.detach().resolve_neg().float().numpy()
    return values
