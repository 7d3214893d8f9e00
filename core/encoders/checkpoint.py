"""Weights and notes on disk, read without running anything that they contain, and models made of
them.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import torch
from numpy._core import multiarray
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from core.encoders.fields import read_json
from core.encoders.requests import TYPES, Precision
from core.errors import EncoderError, PlatoscopeError
from core.files.texts import Json
from core.files.userfile import UserFile
from core.machine.memory import is_out_of_memory
from core.unexpected import summarize

FORMATS = (".safetensors", ".pt", ".pth", ".tar")  # .pth.tar, as training scripts name them
# where training scripts keep the weights, best first
WRAPPERS = ("state_dict_ema", "model_ema", "state_dict", "model")
# MoCo's trained encoder lies next to its slow copy and its queue; its projection is no part of it
MOCO = ("encoder_q.", "base_encoder.")
PROJECTIONS = ("fc.", "head.")
# names that many folders have: of training scripts, of the hub's cache
STEP = r"(checkpoint|step|epoch)[-_]?\d+"
COMMON = (
    r"|model|pytorch_model|weights|checkpoint|final|best|last|output|hf|snapshots|0_\w+"
    rf"|[0-9a-f]{{40}}|{STEP}"
)
# NumPy's arrays and scalars of plain types, which torch.load makes without running anything else
PLAIN = [
    *(np.ndarray, np.dtype, multiarray._reconstruct, multiarray.scalar),
    *(type(np.dtype(kind)) for kind in "?bhilqBHILQefdUS"),
]
FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
PANIC = "PanicException"  # in a library written in Rust; it is no Exception
SPARE = 1 << 20  # numbers that a model may have beyond twice those of its weights
# held while a model is made: transformers meanwhile changes torch's default type and initializers
# for all threads of the process
MAKING = RLock()


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of one weights file by name; raise EncoderError for another format, a
    damaged file and pickled objects.
    """
    if path.suffix not in FORMATS:
        raise EncoderError(
            f"{path} is not a weights file; expected one that ends in {', '.join(FORMATS)}"
        )
    file = UserFile(path, "whole weights", EncoderError)
    if path.suffix == ".safetensors":
        with file.decoding():
            tensors = load_file(path)
    else:
        tensors = load_torch(file)
    if isinstance(tensors, Mapping):
        held = (tensors[key] for key in WRAPPERS if isinstance(tensors.get(key), Mapping))
        tensors = next(held, tensors)
    if not _is_state(tensors):
        raise EncoderError(
            f"{path} holds no state dict; expected tensors by parameter name, bare or under"
            f" {', '.join(WRAPPERS)}"
        )
    bare = {re.sub(r"^(module\.|_orig_mod\.)+", "", name): value for name, value in tensors.items()}
    prefix = next((one for one in MOCO if any(name.startswith(one) for name in bare)), "")
    own = {name.removeprefix(prefix): one for name, one in bare.items() if name.startswith(prefix)}
    return {name: one for name, one in own.items() if not (prefix and name.startswith(PROJECTIONS))}


def load_torch(file: UserFile, **where: Any) -> Any:
    """Return what torch.save wrote: tensors, arrays and plain containers only; raise the file's
    error for a damaged file, and any other pickled object. where: see torch.load.
    """
    with file.decoding():
        try:
            with torch.serialization.safe_globals(PLAIN), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that sparse tensors are checked
                return torch.load(file.path, **{"map_location": "cpu", **where}, weights_only=True)
        except pickle.UnpicklingError as error:
            raise file.raising(
                f"{file.path} holds pickled objects, which could run code; expected tensors alone:"
                " save a state dict, as .safetensors if you can"
            ) from error


def read_outlines(files: Sequence[Path]) -> dict[str, Tensor]:
    """Return the tensors in files of weights by name, on torch's `meta` device, without their
    numbers. Those of integers or of fewer than 16 bits are bytes.
    """
    tensors: dict[str, Tensor] = {}
    for path in files:
        file = UserFile(path, "whole weights", EncoderError)
        if path.suffix == ".bin":
            held = load_torch(file, map_location="meta", mmap=True)
            if not _is_state(held):
                raise EncoderError(
                    f"{path} holds no state dict; expected tensors by parameter name"
                )
            tensors |= held
            continue
        with file.decoding(), safe_open(path, "pt") as parts:
            for name in list(parts.keys()):
                part = parts.get_slice(name)
                kind = FLOATS.get(part.get_dtype(), torch.uint8)
                tensors[name] = torch.empty(part.get_shape(), dtype=kind, device="meta")
    return tensors


def _is_state(held: object) -> bool:
    return (
        isinstance(held, Mapping)
        and bool(held)
        and all(isinstance(name, str) for name in held)
        and all(isinstance(value, Tensor) for value in held.values())
    )


@contextmanager
def refusing(what: str, expected: str) -> Iterator[None]:
    """Raise EncoderError for any error of a library that reads a model, but those of memory."""
    try:
        yield
    except PlatoscopeError:
        raise
    except BaseException as error:
        is_panic = type(error).__name__ == PANIC
        if is_out_of_memory(error) or not (isinstance(error, Exception) or is_panic):
            raise
        raise EncoderError(f"{what}: {summarize(error)}; {expected}") from error


def check_size(model: Any, place: object, weights: Iterable[Sequence[int]]) -> None:
    """Raise EncoderError for a model on the `meta` device that is larger than its weights. place:
    of its config. weights: the shapes of its weights.
    """
    numbers = sum(each.numel() for each in model.parameters())
    held = sum(int(np.prod(shape)) for shape in weights)
    if numbers > 2 * held + SPARE:
        raise EncoderError(
            f"{place}: the model would have {numbers:,} numbers, and its weights have {held:,};"
            " check its architecture, its sizes and its depth"
        )


@dataclass(frozen=True)
class Arithmetic:
    """How a model computes. weights: their type. autocast: whether bfloat16 is used over float32
    weights. Vectors are pooled and returned in float32.
    """

    weights: torch.dtype = torch.float32
    autocast: bool = False

    @property
    def name(self) -> str:
        return "bfloat16 autocast" if self.autocast else str(self.weights).removeprefix("torch.")

    def forward_on(self, device: str | torch.device) -> AbstractContextManager[object]:
        kind = torch.device(device).type
        return torch.autocast(kind, dtype=torch.bfloat16) if self.autocast else nullcontext()


def choose_arithmetic(
    precision: Precision, device: torch.device, *, stored: torch.dtype = torch.float32
) -> Arithmetic:
    """Return how a model computes whose weights are stored in a type. `auto` keeps that type, but
    float16 runs in float32 on a CPU, and float32 under bfloat16 autocast on CUDA.
    """
    for name, option in TYPES.items():
        if precision == option:
            return Arithmetic(getattr(torch, name))
    if stored == torch.bfloat16 or (stored == torch.float16 and device.type != "cpu"):
        return Arithmetic(stored)
    return Arithmetic(autocast=device.type == "cuda")


def read_notes(folder: Path) -> Json:
    """Read what a model's maker wrote in card.json next to the weights (title, family, objective,
    modality, training); empty without one.
    """
    path = folder / "card.json"
    if not path.exists():
        return {}
    notes = read_json(path)
    texts = ("title", "family", "objective", "modality")
    if not all(isinstance(notes.get(key, ""), str) for key in texts) or not isinstance(
        notes.get("training", {}), dict
    ):
        raise EncoderError(
            f"{path} must hold text for {', '.join(texts)} and an object for training"
        )
    return notes


def digest_files(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' contents in the order of their names."""
    total = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                total.update(part)
    return total.hexdigest()


def digest_state(state: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 over names, types, shapes and bytes of a state dict."""
    total = hashlib.sha256()
    for name in sorted(state):
        value = state[name].detach().cpu().contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def store_name(place: str, said: str = "") -> str:
    """Return the last part of a folder, file or hub id as a name that is safe as a file's name. A
    folder with a common name gets the name in its config, else that of the nearest folder around it
    with another; a step of a training keeps its number.
    """
    path = Path(place)
    is_folder = path.suffix not in FORMATS or path.stem in ("model", "pytorch_model")
    if path.suffix in FORMATS:
        path = path.parent if is_folder else path.with_suffix("")
    name = path.name if path.name not in ("", ".", "..") else path.resolve().name
    if is_folder and re.fullmatch(COMMON, name, re.IGNORECASE):
        others = [Path(said).name, *reversed(path.resolve().parts[1:-1])]
        own = next((one for one in others if not re.fullmatch(COMMON, one, re.IGNORECASE)), name)
        step = f"-{name}" if re.fullmatch(STEP, name) else ""
        name = name if own == name else own.rpartition("--")[2] + step
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "model"
