"""Trained adapters as one safetensors file, with the recipe that made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import inf

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read
from safetensors.numpy import save

from core.errors import FeatureError
from core.questions.adapters.maps.model import Adapter, Adapters
from core.questions.adapters.parts import Products
from core.recipe import Recipe

FORMAT = "platoscope adapters 3"
PRODUCTS: Mapping[str, Products] = {"cosine": "cosine", "raw": "raw"}


def dump(adapters: Adapters, recipe: Recipe) -> bytes:
    """Return a file with a weight and an offset per encoder, numbered, and in its metadata their
    names and the recipe.
    """
    tensors = {}
    for number, adapter in enumerate(adapters.maps.values()):
        tensors[f"weight_{number}"] = np.ascontiguousarray(adapter.weight)
        tensors[f"offset_{number}"] = np.ascontiguousarray(adapter.offset)
    metadata = {
        "format": FORMAT,
        "encoders": json.dumps(list(adapters.maps)),
        "temperature": repr(adapters.temperature),
        "products": adapters.products,
        "recipe_kind": recipe.kind,
        "recipe": recipe.text,
    }
    data: bytes = save(tensors, {**metadata, "digest": digest(tensors, metadata)})
    return data


def load(data: bytes) -> tuple[Adapters, Recipe]:
    """Read what `dump` wrote; raises FeatureError for a file of anything else and for one that is
    cut short or changed.
    """
    try:
        tensors = read(data)
        metadata = _metadata(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FeatureError(
            "this is not a complete safetensors file; expected adapters that were downloaded here:"
            " fetch the file again"
        ) from error
    if metadata.get("format") != FORMAT:
        raise FeatureError(
            f"this safetensors file holds no adapters: its metadata lacks {FORMAT!r}; choose one"
            " that was downloaded here"
        )
    if metadata.pop("digest", None) != digest(tensors, metadata):
        raise FeatureError(
            "this file was changed after it was written; fetch it or train the adapters again"
        )
    try:
        return _adapters(tensors, metadata), Recipe.of(
            metadata["recipe_kind"], **json.loads(metadata["recipe"])
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FeatureError(
            "this file lacks some of what it should say of its adapters (encoders, weights that fit"
            " together, temperature, products, recipe): choose one that was downloaded here"
        ) from error


def digest(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    """Return a digest of all that a file holds and says, save the digest itself."""
    state = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        state.update(
            f"{name} {tensors[name].dtype} {tensors[name].shape}".encode() + tensors[name].tobytes()
        )
    return state.hexdigest()


def _metadata(data: bytes) -> dict[str, str]:
    """Return the metadata in the header, whose length is in the first eight bytes."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]).get("__metadata__") or {}


def _adapters(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> Adapters:
    """Return the adapters; raises KeyError, TypeError or ValueError where they are not whole."""
    names, temperature = json.loads(metadata["encoders"]), float(metadata["temperature"])
    products = PRODUCTS[metadata["products"]]
    maps = {
        name: Adapter(tensors[f"weight_{number}"], tensors[f"offset_{number}"])
        for number, name in enumerate(names)
    }
    width = tensors["offset_0"].shape
    whole = all(
        each.weight.shape[1:] == each.offset.shape == width and each.weight.ndim == 2
        for each in maps.values()
    )
    finite = all(
        tensor.dtype == np.float32 and np.isfinite(tensor).all() for tensor in tensors.values()
    )
    if not (
        whole
        and finite
        and isinstance(names, list)
        and len(maps) == len(names) >= 2
        and 0 < temperature < inf
    ):
        raise ValueError("adapters that do not fit together")
    return Adapters(maps, temperature, products)
