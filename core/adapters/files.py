"""Trained adapters as one safetensors file, with the recipe that made them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read
from safetensors.numpy import save

from core.adapters.model import Adapter, Adapters
from core.errors import FeatureError
from core.recipe import Recipe

FORMAT = "platoscope adapters 1"


def dump(adapters: Adapters, recipe: Recipe) -> bytes:
    """Return a file with a weight and an offset per encoder, numbered, and in its metadata their names and the recipe."""
    tensors = {}
    for number, adapter in enumerate(adapters.maps.values()):
        tensors[f"weight_{number}"] = np.ascontiguousarray(adapter.weight)
        tensors[f"offset_{number}"] = np.ascontiguousarray(adapter.offset)
    metadata = {
        "format": FORMAT,
        "encoders": json.dumps(list(adapters.maps)),
        "temperature": repr(adapters.temperature),
        "recipe_kind": recipe.kind,
        "recipe": recipe.text,
        "digest": _digest(tensors),
    }
    return save(tensors, metadata)


def load(data: bytes) -> tuple[Adapters, Recipe]:
    """Read what `dump` wrote; raises FeatureError for a file of anything else and for one that is cut short or changed."""
    try:
        tensors = read(data)
        metadata = _metadata(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise FeatureError(
            "this is no whole safetensors file; expected adapters that were downloaded here: fetch the file again"
        ) from error
    if metadata.get("format") != FORMAT:
        raise FeatureError(
            f"this safetensors file holds no adapters: its metadata lacks {FORMAT!r}; choose one that was downloaded here"
        )
    if metadata.get("digest") != _digest(tensors):
        raise FeatureError("the numbers in this file are not those that were written; fetch it again, or train the adapters anew")
    names = json.loads(metadata["encoders"])
    maps = {name: Adapter(tensors[f"weight_{number}"], tensors[f"offset_{number}"]) for number, name in enumerate(names)}
    recipe = Recipe.of(metadata["recipe_kind"], **json.loads(metadata["recipe"]))
    return Adapters(maps, float(metadata["temperature"])), recipe


def _metadata(data: bytes) -> dict[str, Any]:
    """Return the metadata in the header, whose length stands in the first eight bytes."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]).get("__metadata__") or {}


def _digest(tensors: dict[str, np.ndarray]) -> str:
    state = hashlib.sha256()
    for name in sorted(tensors):
        state.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode() + tensors[name].tobytes())
    return state.hexdigest()
