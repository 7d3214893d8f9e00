"""Weights and notes on disk, read without running anything that they contain."""

from __future__ import annotations

import hashlib
import pickle
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy._core import multiarray
from safetensors.torch import load_file

from core.encoders.fields import check_training, read_json
from core.errors import EncoderError
from core.files.userfile import UserFile

FORMATS = (".safetensors", ".pt", ".pth", ".tar")  # .pth.tar, as training scripts name them
WRAPPERS = (
    "state_dict_ema",
    "model_ema",
    "state_dict",
    "model",
)  # where training scripts keep the weights, best first
# MoCo's trained encoder stands beside its slow copy and its queue; its projection is no part of it
MOCO = ("encoder_q.", "base_encoder.")
PROJECTIONS = ("fc.", "head.")
# names that folders of many models have: of training scripts, of the hub's cache
STEP = r"((global[-_]?)?(checkpoint|ckpt|step|epoch|iter)[-_]?)?\d+"
COMMON = (
    r"|(pytorch[-_]?)?models?|weights|checkpoints?|ckpt|final|best|last|latest|outputs?|saved?|hf"
    r"|(final|best|last|saved)[-_](model|checkpoint|ckpt)|snapshots|0_\w+"
    rf"|{STEP}|(?=(.*\d){{2}})(?=.*[a-f])[0-9a-f]{{8,64}}"
)


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read the tensors of one weights file by name.

    Raises EncoderError for another format, a damaged file and one that holds pickled objects.
    """
    if path.suffix not in FORMATS:
        raise EncoderError(
            f"{path} is not a weights file; expected one that ends in {', '.join(FORMATS)}"
        )
    file = UserFile(path, "whole weights", EncoderError)
    if path.suffix == ".safetensors":
        with file.decoding():
            return _state_dict(load_file(path), path)
    return _state_dict(load_torch(file), path)


# NumPy's arrays and scalars of plain types, which torch.load makes without running anything else
PLAIN = [
    *(np.ndarray, np.dtype, multiarray._reconstruct, multiarray.scalar),
    *(type(np.dtype(kind)) for kind in "?bhilqBHILQefdUS"),
]


def load_torch(file: UserFile, **where: Any) -> Any:
    """Return what torch.save wrote: tensors, arrays and plain containers only; raises the file's
    error for a damaged file, and any other pickled object. where: see torch.load; in memory else.
    """
    with file.decoding():
        try:
            with torch.serialization.safe_globals(PLAIN), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that sparse tensors are checked
                return torch.load(file.path, **{"map_location": "cpu", **where}, weights_only=True)
        except pickle.UnpicklingError as error:
            raise file.raising(
                f"{file.path} holds pickled objects, which could run code; expected tensors alone:"
                " save a state dict, as .safetensors where you can"
            ) from error


def _state_dict(tensors: Any, path: Path) -> dict[str, torch.Tensor]:
    if isinstance(tensors, Mapping):
        tensors = next(
            (tensors[key] for key in WRAPPERS if isinstance(tensors.get(key), Mapping)), tensors
        )
    if (
        not isinstance(tensors, Mapping)
        or not tensors
        or not all(isinstance(name, str) for name in tensors)
        or not all(isinstance(value, torch.Tensor) for value in tensors.values())
    ):
        raise EncoderError(
            f"{path} holds no state dict; expected tensors by parameter name, bare or under"
            f" {', '.join(WRAPPERS)}"
        )
    bare = {re.sub(r"^(module\.|_orig_mod\.)+", "", name): value for name, value in tensors.items()}
    return _of_moco(bare)


def _of_moco(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the trained encoder alone where MoCo wrote the tensors, else all of them."""
    prefix = next((one for one in MOCO if any(name.startswith(one) for name in tensors)), "")
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if not prefix
        or (name.startswith(prefix) and not name.removeprefix(prefix).startswith(PROJECTIONS))
    }


def read_notes(folder: Path) -> dict[str, Any]:
    """Read what a model's maker wrote in card.json beside the weights (title, family, objective,
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
    try:
        check_training(notes.get("training", {}))
    except ValueError as error:
        raise EncoderError(f"{path}: {error}; check the file") from error
    return notes


def digest_files(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' contents in the order of their names, in hexadecimal."""
    total = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                total.update(part)
    return total.hexdigest()


def digest_state(state: Mapping[str, torch.Tensor]) -> str:
    """Return the SHA-256 over names, types, shapes and bytes of a state dict, in hexadecimal."""
    total = hashlib.sha256()
    for name in sorted(state):
        value = state[name].detach().cpu().contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def store_name(place: str, said: str = "") -> str:
    """Return the last part of a folder, file or hub id as a name that is safe as a file's name.

    A folder that is called as many are gets the name that its config says, else the nearest folder
    around it that has one; a step of a training keeps its number.
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
