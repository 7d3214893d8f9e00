"""NumPy's own files, read by NumPy's header parser: nothing is unpickled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

import numpy as np

from core.files.archives import open_zip
from core.files.userfile import UserFile

REPRESENTABLE = "numbers: float16, bfloat16, float32, float64 or integers"
NUMBERS, TEXTS = "fiub", "US"  # kinds of NumPy's types


@dataclass(frozen=True)
class Header:
    """What an .npy stream says of its array."""

    shape: tuple[int, ...]
    in_columns: bool
    kind: np.dtype


Wanted = Callable[[Header], bool]


def every(header: Header) -> bool:  # noqa: ARG001 — all are wanted
    """Take every array."""
    return True


def read_npy(file: UserFile) -> np.ndarray:
    """Return the array of an .npy file; raises the file's error for a damaged one, and for values
    that are no numbers.
    """
    file.check_room(2 * file.size)  # as it is, and as float32
    with file.open() as opened, file.decoding():
        return _read_values(opened, _read_header(opened), file)


def read_npz(
    file: UserFile, wanted: Wanted = every, *, kinds: str = NUMBERS
) -> dict[str, np.ndarray]:
    """Return the wanted arrays of an .npz file by their names, in its order; raises its error as
    `read_npy` does. kinds: of values that are read.

    The values of others, such as labels beside pictures, are not looked at.
    """
    arrays: dict[str, np.ndarray] = {}
    with open_zip(file) as archive:
        file.check_room(2 * sum(entry.file_size for entry in archive.infolist()))
        for name in archive.namelist():
            with archive.open(name) as member:
                header = _read_header(member)
                if wanted(header):
                    values = _read_values(member, header, file, kinds)
                    arrays[name.removesuffix(".npy")] = values
    return arrays


def check_type(file: UserFile, name: str, *, fits: bool) -> None:
    """Raise where values are of a type that is no number's."""
    if not fits:
        raise file.raising(f"{file.path} holds values of type {name}; expected {REPRESENTABLE}")


def _read_header(stream: IO[bytes]) -> Header:
    is_first = np.lib.format.read_magic(stream) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
    return Header(*read(stream))


def _read_values(
    stream: IO[bytes], header: Header, file: UserFile, kinds: str = NUMBERS
) -> np.ndarray:
    if header.kind.hasobject:
        raise file.raising(
            f"{file.path} holds pickled objects, which could run code; expected plain arrays of"
            f" {REPRESENTABLE}"
        )
    check_type(file, str(header.kind), fits=header.kind.kind in kinds)
    values = np.frombuffer(stream.read(), header.kind)
    return values.reshape(header.shape, order="F" if header.in_columns else "C")
