"""What a folder of sentence-transformers says of reading: where its model lies, which tokens count,
and what becomes of their vector.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.encoders.checkpoint import load_torch, read_weights
from core.encoders.fields import PICKLED, SINGLE, read_json
from core.encoders.requests import Pooling
from core.errors import EncoderError
from core.files.userfile import CONFIG, UserFile

MODULES = "modules.json"
MODES: dict[str, Pooling] = {
    **{"cls": "first", "mean": "mean", "max": "max", "lasttoken": "last"},
    **{"pooling_mode_cls_token": "first", "pooling_mode_mean_tokens": "mean"},
    **{"pooling_mode_max_tokens": "max", "pooling_mode_lasttoken": "last"},
}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"Identity": lambda x: x, "Tanh": torch.tanh}
Vectors = Float[Tensor, "batch _"]


@dataclass(frozen=True)
class Sentences:
    """How a folder reads texts. folder: of the transformers model. pooling, longest (tokens): None
    if it does not say. lower: whether texts become lower-case. prompt: precedes each. steps:
    folders of linear layers over the pooled vector in order, "" for unit length. unread: what it
    asks for that cannot be done here, in words.
    """

    folder: Path
    pooling: Pooling | None = None
    longest: int | None = None
    lower: bool = False
    prompt: str = ""
    steps: tuple[str, ...] = ()
    unread: str = ""

    @property
    def files(self) -> list[Path]:
        return [_weights_of(Path(step)) for step in self.steps if step]


def read_sentences(root: Path) -> Sentences:
    """Return how a folder reads texts by its modules.json; the folder alone if it has none. Raises
    EncoderError for one that cannot be read.
    """
    if not (root / MODULES).exists():
        return Sentences(root)
    modules = _modules(root)
    folder = root / modules[0][1]
    said = Sentences(folder)
    for path in folder.glob("sentence_*_config.json"):
        own = read_json(path)
        longest = own.get("max_seq_length")
        longest = longest if isinstance(longest, int) and longest > 0 else None
        said = replace(said, longest=longest, lower=own.get("do_lower_case") is True)
    if (root / "config_sentence_transformers.json").exists():
        own = read_json(root / "config_sentence_transformers.json")
        prompt = (own.get("prompts") or {}).get(own.get("default_prompt_name"))
        said = replace(said, prompt=prompt if isinstance(prompt, str) else "")
    for kind, place in modules[1:]:
        if kind == "Pooling":
            said = _with_pooling(said, read_json(root / place / "config.json"))
        elif kind == "Normalize":
            said = replace(said, steps=(*said.steps, ""))
        elif kind == "Dense" and _activation(root / place) in ACTIVATIONS:
            said = replace(said, steps=(*said.steps, str(root / place)))
        elif kind != "Dropout":
            said = replace(said, unread=f"a module {kind}")
    return said


def finish(said: Sentences) -> Callable[[Vectors], Vectors]:
    layers = [_linear(Path(step)) if step else F.normalize for step in said.steps]

    def finished(vectors: Vectors) -> Vectors:
        for layer in layers:
            vectors = layer(vectors)
        return vectors

    return finished


def width_after(said: Sentences, width: int) -> int:
    for step in filter(None, said.steps):
        width = int(read_json(Path(step) / "config.json").get("out_features") or width)
    return width


def _modules(root: Path) -> list[tuple[str, str]]:
    path = root / MODULES
    file = UserFile(path, "a list of modules in JSON", EncoderError, most=CONFIG)
    try:
        modules = [
            (str(one["type"]).rpartition(".")[2], str(one["path"]))
            for one in json.loads(file.read().decode())
        ]
    except (ValueError, RecursionError, TypeError, KeyError):
        modules = []
    if not modules or any(Path(place).is_absolute() or ".." in place for _, place in modules):
        raise EncoderError(
            f"{path} must list modules, each with a type and the path of a folder in it; check the"
            " file"
        )
    return modules


def _with_pooling(said: Sentences, config: dict[str, Any]) -> Sentences:
    named = config.get("pooling_mode")
    names = [str(one) for one in (named if isinstance(named, list) else [named] if named else [])]
    names = names or [name for name in config if name.startswith("pooling_mode_") and config[name]]
    unread = said.unread
    if len(names) != 1 or names[0] not in MODES:
        unread = f"the pooling {' and '.join(names) or 'of no tokens'}"
    elif said.prompt and config.get("include_prompt") is False:
        unread = "pooling without its prompt"
    return replace(said, pooling=MODES.get(names[0]) if names else None, unread=unread)


def _activation(folder: Path) -> str:
    return str(read_json(folder / "config.json").get("activation_function")).rpartition(".")[2]


def _weights_of(folder: Path) -> Path:
    return folder / (SINGLE if (folder / SINGLE).exists() else PICKLED)


def _linear(folder: Path) -> Callable[[Vectors], Vectors]:
    path = _weights_of(folder)
    state = (
        read_weights(path)
        if path.suffix != ".bin"
        else load_torch(UserFile(path, "whole weights", EncoderError))
    )
    try:
        weight = state["linear.weight"].float()
        bias = state["linear.bias"].float() if "linear.bias" in state else None
    except (KeyError, TypeError, AttributeError) as error:
        raise EncoderError(
            f"{path} holds no linear.weight; expected a Dense module of sentence-transformers"
        ) from error
    activate = ACTIVATIONS[_activation(folder)]
    return lambda vectors: activate(F.linear(vectors, weight, bias))
