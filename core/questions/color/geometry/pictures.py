"""Pictures as pixels, from a folder, an .npz file or their encoded bytes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from core.errors import InputError, StimuliError
from core.files.arrays import NUMBERS, TEXTS, read_numpy
from core.files.userfile import SMALL, UserFile, room
from core.machine.memory import size_text
from core.machine.processes import count_threads
from core.questions.color.geometry.batches import BATCH, find_batches, read_batches
from core.stimuli.images import load_image, read_image, read_size

Picture = UInt8[np.ndarray, "_ _ 3"]  # (height, width, RGB); pictures differ in size
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")


def read_pictures(path: Path, *, side: int | None = None) -> list[Picture]:
    """Read the pictures of a folder and the folders in it, those of CIFAR-10's binary batches where
    it holds them, or of an .npz file with one uint8 array (n, height, width, 3).

    side: the longer side is shrunk to so many pixels where it is longer; None leaves pictures as
    they are. Raises InputError where there is neither, StimuliError for a picture that is broken.
    """
    if path.is_dir():
        files = find_pictures(path)
        if files and files[0].suffix == BATCH:
            return _shrunk(read_batches(files), side)
        _check_memory(files, path, side)
        with ThreadPoolExecutor(count_threads()) as pool:
            return list(pool.map(lambda file: _decode(read_image(file), str(file), side), files))
    if path.suffix.lower() != ".npz" or not path.is_file():
        raise InputError(f"a folder of pictures or an .npz file expected; {path} is neither")
    return _shrunk(_from_npz(path), side)


def _shrunk(pictures: UInt8[np.ndarray, "n height width 3"], side: int | None) -> list[Picture]:
    return [shrink(Image.fromarray(picture), side) if side else picture for picture in pictures]


def find_pictures(folder: Path) -> list[Path]:
    """Return the files of pictures in a folder and the folders in it, by path, or CIFAR-10's binary
    batches where it holds them.
    """
    return find_batches(folder) or sorted(
        file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()
    )


def decode(
    encoded: Sequence[bytes], *, names: Sequence[str], side: int | None = None
) -> list[Picture]:
    """Decode pictures, in threads. side: as for `read_pictures`. names: what a message calls
    them.
    """
    with ThreadPoolExecutor(count_threads()) as pool:
        return list(pool.map(lambda data, name: _decode(data, name, side), encoded, names))


def _decode(data: bytes, name: str, side: int | None) -> Picture:
    return shrink(load_image(data, name=name), side)


def _check_memory(files: Sequence[Path], folder: Path, side: int | None) -> None:
    """Raise InputError where the pixels of all pictures together take more memory than they may."""
    sizes = [read_size(file, str(file)) for file in files]
    kept = (1.0 if side is None else min(1.0, side / max(size)) for size in sizes)
    pixels = sum(
        width * height * part**2 for (width, height), part in zip(sizes, kept, strict=True)
    )
    if (taken := 3 * pixels) > SMALL and taken > (most := room()):
        raise InputError(
            f"the {len(files):,} pictures in {folder} take {size_text(taken)} of memory, and"
            f" {size_text(most)} may be used, half of what is free; shrink them with --side, or"
            " give fewer"
        )


def shrink(picture: Image.Image, side: int | None) -> Picture:
    """Return a picture's pixels, its longer side at most `side`; each pixel is then the mean of
    those it stands for.
    """
    longer = max(picture.size)
    if side is not None and longer > side:
        size = [max(1, round(length * side / longer)) for length in picture.size]
        picture = picture.resize((size[0], size[1]), Image.Resampling.BOX)
    return np.asarray(picture.convert("RGB"))


def _from_npz(path: Path) -> UInt8[np.ndarray, "n height width 3"]:
    """Return the one array of pictures in an .npz file; others beside it, such as labels, are left
    alone.
    """
    file = UserFile(path, "an .npz file of plain arrays", StimuliError)
    arrays = read_numpy(file, kinds=NUMBERS + TEXTS).values()
    pictures = [one for one in arrays if one.dtype == np.uint8 and one.shape[3:] == (3,)]
    if len(pictures) != 1:
        raise StimuliError(
            f"{path} has {len(pictures)} arrays of pictures; expected one, uint8"
            " (n, height, width, 3)"
        )
    return pictures[0]
