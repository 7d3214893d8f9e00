"""Pictures from folders, .npz files and CIFAR-10's binary batches, which are read as its makers
publish them; its batches for Python are pickles, which can run any code, and are never opened."""

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
    """Return the one array of pictures in an .npz file; others next to it, such as labels, are left
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


BATCH = ".bin"
SIDE = 32
RECORD = 1 + 3 * SIDE * SIDE  # bytes: a label, then red, green and blue of all pixels
FOLDERS = ("", "cifar-10-batches-bin")  # the second as the archive unpacks


def find_batches(folder: Path) -> list[Path]:
    """Return the batches of training pictures in a folder, in their order, or that of test pictures
    where it holds no others; raises InputError for those that are pickles.
    """
    for place in (folder / name for name in FOLDERS):
        batches = sorted(place.glob(f"data_batch_*{BATCH}"))
        if files := batches or sorted(place.glob(f"test_batch{BATCH}")):
            return files
    if (pickled := folder / "data_batch_1").is_file():
        raise InputError(
            f"{pickled} is a Python pickle, which is not opened since it can run any code; give the"
            " binary version of CIFAR-10 (data_batch_1.bin …)"
        )
    return []


def read_batches(files: Sequence[Path]) -> UInt8[np.ndarray, "n 32 32 3"]:
    """Return the pictures of binary batches; raises StimuliError for a file of another size.

    Source: Krizhevsky 2009, binary version: a byte for the label, 1,024 each of red, green and
    blue, row by row.
    """
    batches = [_read_batch(file) for file in files]
    pictures: np.ndarray = np.concatenate(batches)
    return pictures


def _read_batch(file: Path) -> UInt8[np.ndarray, "n 32 32 3"]:
    data = UserFile(file, "CIFAR-10's binary batches", StimuliError).read()
    records = np.frombuffer(data, np.uint8)
    if not len(records) or len(records) % RECORD:
        raise StimuliError(
            f"{file} has {len(records):,} bytes; expected CIFAR-10's binary batches, {RECORD:,}"
            " bytes per picture"
        )
    planes = records.reshape(-1, RECORD)[:, 1:].reshape(-1, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
