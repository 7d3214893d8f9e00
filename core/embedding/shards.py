"""Finished batches on disk, in NAME.parts/DIGEST next to the file that they will become, one each,
named by the first stimulus. DIGEST is that of the recipe, so that batches of different recipes
never mix.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from core.encoders.encoder import Encoding
from core.store.publishing import sync, writing


@dataclass(frozen=True)
class Shard:
    """One finished batch: stimuli start … stop − 1. limit: the largest piece that fits the device,
    0 if all do.
    """

    path: Path
    start: int
    stop: int
    limit: int
    seconds: float


def parts_folder(target: Path) -> Path:
    return target.with_name(f"{target.stem}.parts")


def write_shard(
    folder: Path, encoding: Encoding, *, start: int, limit: int, seconds: float
) -> Shard:
    """Put a finished batch on the disk in one step; raises StoreWriteError."""
    path = folder / f"{start:08d}.npz"
    arrays = {f"layer_{index:02d}": layer for index, layer in enumerate(encoding.layers)}
    if encoding.bits is not None and encoding.bytes is not None:
        arrays |= {"bits": encoding.bits, "bytes": encoding.bytes}
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            np.savez(file, allow_pickle=False, limit=limit, seconds=seconds, **arrays)
        sync(new)
        os.replace(new, path)
    return Shard(path, start, start + len(encoding.layers[0]), limit, seconds)


def resume(folder: Path) -> list[Shard]:
    """Return the shards that are whole, from the first stimulus on without a gap, and remove all
    other files.
    """
    shards: list[Shard] = []
    for path in sorted(folder.glob("*")):
        try:
            with zipfile.ZipFile(path) as archive:
                is_whole = path.suffix == ".npz" and archive.testzip() is None
            with np.load(path) as arrays:
                start, stop = int(path.stem), int(path.stem) + len(arrays["layer_00"])
                limit, seconds = int(arrays["limit"]), float(arrays["seconds"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            is_whole, start = False, -1
        if is_whole and start == (shards[-1].stop if shards else 0):
            shards.append(Shard(path, start, stop, limit, seconds))
        else:
            path.unlink()
    return shards


def discard(target: Path) -> None:
    folder = parts_folder(target)
    with writing(target):
        if folder.exists():
            shutil.rmtree(folder)


def read_all(
    shards: Sequence[Shard], order: Int64[np.ndarray, "n"], name: str
) -> np.ndarray | None:
    """Return what all shards hold of a name, in the order of the dataset, None if they hold none of
    it.
    """
    parts = []
    for shard in shards:
        with np.load(shard.path) as arrays:
            if name not in arrays:
                return None
            parts.append(arrays[name])
    values = np.concatenate(parts)
    sorted_back = np.empty_like(values)
    sorted_back[order] = values
    return sorted_back


class SavedLayers(Sequence[Float32[np.ndarray, "n _"]]):
    """The layers of finished batches, each read when it is needed."""

    def __init__(self, shards: Sequence[Shard], order: Int64[np.ndarray, "n"], count: int) -> None:
        self._shards, self._order, self._count = shards, order, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        layer = read_all(self._shards, self._order, f"layer_{range(self._count)[index]:02d}")
        assert layer is not None
        return layer
