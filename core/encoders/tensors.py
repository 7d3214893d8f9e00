"""Features in torch's own files and in safetensors: tensors alone, and only those that hold numbers
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from core.errors import FeatureError
from core.files.archives import check_safetensors
from core.files.arrays import check_type
from core.files.limits import MEMBERS
from core.files.userfile import UserFile

# names of torch's types that are numbers, a whole number of bytes each
TYPES = frozenset(
    [f"float{bits}" for bits in (16, 32, 64)]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
# what safetensors calls these, and their bytes
SIZES = {
    **{f"F{8 * size}": size for size in (2, 4, 8)},
    **{f"{sign}{8 * size}": size for sign in "IU" for size in (1, 2, 4, 8)},
    **{"BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1},
}


def read_safetensors(file: UserFile) -> dict[str, np.ndarray]:
    """Return the tensors of a file by their names; raises FeatureError for a damaged file, and for
    tensors that are no numbers.
    """
    from safetensors import safe_open  # with torch: seconds that the other kinds need not pay

    check_safetensors(file)
    with file.decoding(), safe_open(file.path, framework="pt") as tensors:
        names = list(tensors.keys())
        file.check_count(len(names), MEMBERS, "tensors")
        for name in names:
            part = tensors.get_slice(name)
            check_type(file, part.get_dtype(), fits=part.get_dtype() in SIZES)
            file.take(2 * prod(part.get_shape()) * max(SIZES[part.get_dtype()], 4))
        return {name: _as_array(tensors.get_tensor(name)) for name in names}


def read_torch(file: UserFile) -> dict[str, np.ndarray]:
    """Return the tensors of a file of torch.save by their names, or by their places from 0; raises
    FeatureError as `read_safetensors` does, and for pickled objects.
    """
    from torch import Tensor  # as above

    from core.encoders.checkpoint import load_torch

    file.take(file.size)
    features = load_torch(file, members=MEMBERS)
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
    file.check_count(len(features), MEMBERS, "tensors")
    for part in features.values():
        _check_tensor(part, file)
    with file.decoding():
        return {str(name): _as_array(part) for name, part in features.items()}


def _check_tensor(tensor: Any, file: UserFile) -> None:
    """Raise FeatureError for a tensor without numbers, and for one that takes more memory than it
    may: a view that repeats one value is small on disk.
    """
    import torch  # as above

    kind = str(tensor.dtype).removeprefix("torch.")
    plain = tensor.layout is torch.strided and not (tensor.is_quantized or tensor.is_nested)
    check_type(file, f"{tensor.dtype} ({tensor.layout})", fits=plain and kind in TYPES)
    if tensor.device.type != "cpu":
        raise FeatureError(
            f"{file.path} holds a tensor on the device {tensor.device}, without values; save it"
            " from the CPU"
        )
    size = tensor.numel() * max(tensor.element_size(), 4)
    file.check_ratio(size)
    file.take(2 * size)


def _as_array(tensor: Any) -> np.ndarray:
    values: np.ndarray = tensor.detach().resolve_neg().float().numpy()
    return values
