"""CIFAR-10 as its makers publish it: binary batches of 32 × 32 pictures.

The other form, batches for Python, are pickles, which can run any code when they are opened; they
are never opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from core.errors import InputError, StimuliError
from core.files.userfile import UserFile

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
