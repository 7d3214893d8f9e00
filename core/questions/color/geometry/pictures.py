"""Pictures as pixels, from a folder, an .npz file or their encoded bytes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from core.cores import count_threads
from core.errors import InputError, StimuliError
from core.questions.color.geometry.batches import BATCH, find_batches, read_batches
from core.stimuli.images import load_image

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
        return decode(
            [file.read_bytes() for file in files], names=[str(file) for file in files], side=side
        )
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
        return list(
            pool.map(lambda data, name: shrink(load_image(data, name=name), side), encoded, names)
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
    if not zipfile.is_zipfile(
        path
    ):  # NumPy would take it for other kinds of files, and advise to open those unsafely
        raise StimuliError(
            f"{path} cannot be read (it is not a complete .npz file); expected an .npz file of"
            " plain arrays"
        )
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = [file[name] for name in file.files]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise StimuliError(
            f"{path} cannot be read ({error}); expected an .npz file of plain arrays"
        ) from error
    pictures = [
        array
        for array in arrays
        if array.dtype == np.uint8 and array.ndim == 4 and array.shape[3] == 3
    ]
    if len(pictures) != 1:
        raise StimuliError(
            f"{path} has {len(pictures)} arrays of pictures; expected one, uint8"
            " (n, height, width, 3)"
        )
    only: np.ndarray = pictures[0]
    return only
