"""Finished batches on disk: what survives a killed run.

Shards lie in NAME.parts/DIGEST next to the file that they will become, one per batch, named by the
first stimulus. DIGEST is that of the recipe, which covers the dataset's revision, so that batches
of different recipes never meet. A shard appears in one step.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
from jaxtyping import Float32, Float64, Int64

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
    """Return where the finished batches of all recipes for `target` lie."""
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


def resume(folder: Path, part: range) -> tuple[int, int]:
    """Return up to which stimulus whole shards hold a part without a gap and the last one's limit,
    and remove all others of the part.
    """
    done, limit = part.start, 0
    for path in sorted(folder.glob("*")):
        if not path.stem.isdecimal() or int(path.stem) in part:
            shard = _read_shard(path) if path.suffix == ".npz" else None
            if shard and shard.start == done and shard.stop <= part.stop:
                done, limit = shard.stop, shard.limit
            else:
                path.unlink()
    return done, limit


def finished(folder: Path, n: int) -> list[Shard]:
    """Return the shards of all n stimuli in their order, none if some are not there yet."""
    shards: list[Shard] = []
    for path in sorted(folder.glob("*.npz")):
        shard = _read_shard(path)
        if shard and shard.start == (shards[-1].stop if shards else 0):
            shards.append(shard)
    return shards if shards and shards[-1].stop == n else []


def discard(target: Path) -> None:
    """Remove the finished batches of all recipes for `target`."""
    folder = parts_folder(target)
    with writing(target):
        if folder.exists():
            shutil.rmtree(folder)


@dataclass(frozen=True)
class SavedBatches:
    """Finished batches of all stimuli, and the order in which these came."""

    shards: Sequence[Shard]
    order: Int64[np.ndarray, "n"]

    def costs(self, name: str) -> Float64[np.ndarray, "n"] | None:
        """Return the `bits` or `bytes` of all texts, None if the model did not give them."""
        with np.load(self.shards[0].path) as arrays:
            return self.values(name) if name in arrays else None

    def values(self, name: str) -> np.ndarray:
        """Return what all shards hold of this name, in the order of the dataset."""
        parts = []
        for shard in self.shards:
            with np.load(shard.path) as arrays:
                parts.append(arrays[name])
        values = np.concatenate(parts)
        sorted_back = np.empty_like(values)
        sorted_back[self.order] = values
        return sorted_back


class SavedLayers(Sequence[Float32[np.ndarray, "n _"]]):
    """The layers of finished batches, each assembled from its shards on demand."""

    def __init__(self, batches: SavedBatches, count: int) -> None:
        self._batches, self._count = batches, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Float32[np.ndarray, "n _"]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Float32[np.ndarray, "n _"]]: ...
    def __getitem__(
        self, index: int | slice
    ) -> Float32[np.ndarray, "n _"] | list[Float32[np.ndarray, "n _"]]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._count))]
        return self._batches.values(f"layer_{range(self._count)[index]:02d}")


def _read_shard(path: Path) -> Shard | None:
    """Return a shard whose every byte is as written, None for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return None
        with np.load(path) as arrays:
            start, limit = int(path.stem), int(arrays["limit"])
            return Shard(
                path, start, start + len(arrays["layer_00"]), limit, float(arrays["seconds"])
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
