"""Where the weights of a language model go: on the chosen device, or, where they do not fit there,
over all GPUs, the memory and the disk.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from core.encoders.building import read_pickled
from core.errors import EncoderError
from core.machine.memory import free_memory, make_spill_folder, size_text

SPARE = 0.85  # of free memory for the weights; batches need the rest
TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}


def stored_type(files: Sequence[Path]) -> torch.dtype:
    """Return the type of most of the weights in files; float32 for any that is no floating one."""
    counts = count_weights(files)
    return TYPES.get(max(counts, key=lambda kind: counts[kind], default="F32"), torch.float32)


def count_weights(files: Sequence[Path]) -> dict[str, int]:
    """Return how many numbers of each type files of weights hold."""
    counts: dict[str, int] = {}
    for _, kind, count in _tensors(files):
        counts[kind] = counts.get(kind, 0) + count
    return counts


def _tensors(files: Sequence[Path]) -> Iterator[tuple[str, str, int]]:
    """Yield the name, type and count of the numbers of each tensor in files of weights."""
    names = {kind: name for name, kind in TYPES.items()}
    for path in files:
        if path.suffix == ".bin":
            for name, tensor in read_pickled(path).items():
                yield name, names.get(tensor.dtype, ""), tensor.numel()
            continue
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118
                part = file.get_slice(name)
                yield name, part.get_dtype(), torch.Size(part.get_shape()).numel()


def narrow_weights(files: Sequence[Path]) -> list[str]:
    """Return the names of tensors in files that are integers or of fewer than 16 bits."""
    return [name for name, kind, _ in _tensors(files) if kind not in TYPES]


def place(files: Sequence[Path], weights: torch.dtype, device: torch.device) -> dict[str, Any]:
    """Return transformers' arguments that put weights held in a type on a device.

    They are none where all fit there; else accelerate spreads the layers over the GPUs (where
    `device` is one), then the memory, then a temporary folder, and moves each to where it computes
    when its turn comes. Raises EncoderError where there is no room for all that either.
    """
    size = sum(count_weights(files).values()) * weights.itemsize
    if size <= SPARE * free_on(device):
        return {}
    room: dict[int | str, int] = {"cpu": int(SPARE * free_on(torch.device("cpu")))}
    if device.type == "cuda":
        every = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
        room |= {each.index: int(SPARE * free_on(each)) for each in every}
    spilled = make_spill_folder()  # first, as what it removes makes room
    _check_room(size, weights, sum(room.values()))
    return {"device_map": "auto", "max_memory": room, "offload_folder": str(spilled)}


def _check_room(size: int, weights: torch.dtype, memory: int) -> None:
    """Raise EncoderError where weights fit neither in memory nor in what the disk has besides."""
    folder = tempfile.gettempdir()
    disk = shutil.disk_usage(folder).free
    if size > memory + SPARE * disk:
        kind = str(weights).removeprefix("torch.")
        raise EncoderError(
            f"the model's weights take {size_text(size)} in {kind}, more than the"
            f" {size_text(memory)} of memory and {size_text(disk)} on the disk of {folder}"
            " that are free; free some, set TMPDIR to a larger disk, or choose a smaller model or"
            " --precision bf16"
        )


def free_on(device: torch.device) -> int:
    """Return how many bytes are free on a device; on MPS of the memory that it shares."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return free_memory()
