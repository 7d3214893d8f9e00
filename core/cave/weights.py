"""The Cave's weights as the repository tracks them: packed without loss, each tokenizer once.

    data/cave/NAME/model.xz            model.safetensors
    data/cave/tokenizers/MODALITY/     the tokenizer that all models of a modality share

Imports nothing of the project, since setup.py runs it.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from pathlib import Path

PACKED, WEIGHTS = "model.xz", "model.safetensors"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 0, "pb": 0}]


def compress(weights: bytes) -> bytes:
    """Compress half floats: first the low bytes, which are noise, then the signs and exponents."""
    return lzma.compress(weights[0::2] + weights[1::2], filters=_FILTERS)


def expand(packed: bytes) -> bytes:
    """Undo `compress`."""
    parts = lzma.decompress(packed)
    middle, weights = (len(parts) + 1) // 2, bytearray(len(parts))
    weights[0::2], weights[1::2] = parts[:middle], parts[middle:]
    return bytes(weights)


def pack(folder: Path) -> None:
    """Pack the models that were trained under `folder` since the last time.

    Raises ValueError if one was trained with another tokenizer than the others.
    """
    for weights in sorted(folder.glob(f"*/{WEIGHTS}")):
        packed = weights.with_name(PACKED)
        if _is_current(packed, weights):
            continue
        for own, shared in _tokenizer(weights.parent):
            if not shared.exists():
                shared.parent.mkdir(parents=True, exist_ok=True)
                shared.write_bytes(own.read_bytes())
            elif shared.read_bytes() != own.read_bytes():
                raise ValueError(f"{own} differs from {shared}: train the other models again")
        _write(packed, compress(weights.read_bytes()), like=weights)


def unpack(folder: Path) -> None:
    """Write the weights and tokenizers under `folder` that are missing or older than Git's."""
    for packed in sorted(folder.glob(f"*/{PACKED}")):
        weights = packed.with_name(WEIGHTS)
        if _is_current(weights, packed):
            continue
        for own, shared in _tokenizer(packed.parent):
            _write(own, shared.read_bytes(), like=shared)
        _write(weights, expand(packed.read_bytes()), like=packed)


def _tokenizer(model: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files of a language model's tokenizer: its own, and those that Git tracks."""
    if "model_type" in json.loads((model / "config.json").read_text("utf-8")):
        card = json.loads((model / "card.json").read_text("utf-8"))
        shared = model.parent / "tokenizers" / card.get("modality", "language")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            yield model / name, shared / name


def _is_current(made: Path, source: Path) -> bool:
    return made.exists() and made.stat().st_mtime_ns >= source.stat().st_mtime_ns


def _write(path: Path, content: bytes, *, like: Path) -> None:
    """Write a file, whole or not at all, with the time of another."""
    time = like.stat().st_mtime_ns
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    os.utime(new, ns=(time, time))
    new.replace(path)
