"""A batch through an encoder: halved until it fits the device, and refused where it is not all
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.encoders.encoder import Encoder, Encoding
from core.errors import DeviceError, FeatureError
from core.machine.memory import is_out_of_memory

AUTO = {
    "cpu": 64,
    "mps": 128,
    "cuda": 256,
}  # images or texts; a GPU is idle with less, and halving corrects too much


def auto_batch_size(device: object) -> int:
    """Return how many items to start with: 64 on the CPU, 128 on MPS, 256 on CUDA."""
    return AUTO.get(str(device).partition(":")[0], AUTO["cpu"])


def encode_fitting(encoder: Encoder, items: Sequence[Any], *, limit: int) -> tuple[Encoding, int]:
    """Encode a batch in pieces of at most `limit`, or of the half, quarter … that fits (0: as one);
    return that limit too.

    A piece that fails fails the batch, which then starts again: all of it comes from pieces of one
    size, whatever happened before. Raises DeviceError where a single item does not fit.
    """
    while True:
        size = limit or len(items)
        pieces = _try_pieces(encoder, items, size)
        if pieces is not None:
            return _join(pieces), limit
        # Only out here is the failed attempt's memory free: an exception holds every tensor of its
        # frames.
        if size == 1:
            raise DeviceError(
                f"{encoder.card.name} does not fit on {encoder.device} even one item at a time; "
                "choose another device with --device, or free its memory"
            )
        limit = min(size, len(items)) // 2 or 1


def check_encoding(encoder: Encoder, encoding: Encoding, ids: Sequence[str]) -> None:
    """Raise FeatureError where a batch has not every layer of the card, a vector per stimulus, and
    finite numbers in it.
    """
    card = encoder.card
    if len(encoding.layers) != len(card.layers) or any(
        len(layer) != len(ids) for layer in encoding.layers
    ):
        shapes = ", ".join(str(layer.shape) for layer in encoding.layers)
        raise FeatureError(
            f"{card.name} has {len(card.layers)} layers and was given {len(ids)} items, but"
            f" returned {shapes}"
        )
    for name, layer in zip(card.layers, encoding.layers, strict=True):
        check_finite(layer, ids, layer=name, model=card.name)


def check_finite(space: np.ndarray, ids: Sequence[str], *, layer: str, model: str) -> None:
    """Raise FeatureError that names the first stimuli with NaN or infinity in `space` (n, dims)."""
    wrong = np.flatnonzero(~np.isfinite(space).all(axis=1))
    if len(wrong):
        some = ", ".join(repr(ids[index]) for index in wrong[:3]) + (
            f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        )
        raise FeatureError(
            f"layer {layer!r} of {model} has NaN or infinity for stimulus {some}; a space takes"
            " finite numbers only: compute in a wider float, or leave these stimuli out of the"
            " dataset"
        )


def _try_pieces(encoder: Encoder, items: Sequence[Any], size: int) -> list[Encoding] | None:
    """Encode all pieces, or return None where the device is full."""
    try:
        return [encoder.encode(items[start : start + size]) for start in range(0, len(items), size)]
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None


def _join(pieces: Sequence[Encoding]) -> Encoding:
    layers = tuple(
        np.concatenate(parts) for parts in zip(*(piece.layers for piece in pieces), strict=True)
    )
    return Encoding(
        layers,
        _join_costs([piece.bits for piece in pieces]),
        _join_costs([piece.bytes for piece in pieces]),
    )


def _join_costs(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    costs = [part for part in parts if part is not None]
    return np.concatenate(costs) if costs else None
