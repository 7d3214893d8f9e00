"""NumPy's own files, read by their headers: nothing is unpickled, and nothing is allocated that the
file does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import IO

import numpy as np

from core.files.archives import open_zip
from core.files.userfile import UserFile

VERSIONS = ((1, 0), (2, 0), (3, 0))
REPRESENTABLE = "numbers: float16, bfloat16, float32, float64 or integers"


@dataclass(frozen=True)
class Header:
    """What an .npy stream says of its array. size: bytes."""

    shape: tuple[int, ...]
    kind: np.dtype
    in_columns: bool

    @property
    def size(self) -> int:
        return prod(self.shape) * self.kind.itemsize


Wanted = Callable[[Header], bool]


def every(header: Header) -> bool:  # noqa: ARG001 — all are wanted
    """Take every array."""
    return True


def read_npy(file: UserFile) -> np.ndarray:
    """Return the array of an .npy file; raises the file's error for a damaged one, and for values
    that are no numbers.
    """
    with file.open() as opened, file.decoding():
        return _read_values(opened, _read_header(opened), file, file.size)


def read_npz(file: UserFile, wanted: Wanted = every) -> dict[str, np.ndarray]:
    """Return the wanted arrays of an .npz file by their names; raises its error as `read_npy` does.

    The values of others, such as labels beside pictures, are not looked at.
    """
    arrays: dict[str, np.ndarray] = {}
    with open_zip(file) as archive:
        for entry in archive.infolist():
            file.tick()
            with archive.open(entry) as member:
                header = _read_header(member)
                if wanted(header):
                    arrays[entry.filename.removesuffix(".npy")] = _read_values(
                        member, header, file, entry.file_size
                    )
    return arrays


def check_type(file: UserFile, name: str, *, fits: bool) -> None:
    """Raise where values are of a type that is no number's."""
    if not fits:
        raise file.raising(f"{file.path} holds values of type {name}; expected {REPRESENTABLE}")


def _read_header(stream: IO[bytes]) -> Header:
    version = np.lib.format.read_magic(stream)
    if version not in VERSIONS:
        raise ValueError(f"a format {version} that is not known")
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, in_columns, kind = read(stream)
    return Header(shape, kind, in_columns)


def _shown(shape: tuple[int, ...]) -> str:
    """Return a shape, a hostile one no longer than a line."""
    text = str(shape) if max(map(abs, shape), default=0) < 10**30 else "(…)"
    return text if len(text) <= 100 else f"{text[:100]} …"


def _read_values(stream: IO[bytes], header: Header, file: UserFile, size: int) -> np.ndarray:
    """Read an array whose header was held against the `size` in bytes of what there is."""
    shape, kind = header.shape, header.kind
    if kind.hasobject:
        raise file.raising(
            f"{file.path} holds pickled objects, which could run code; expected plain arrays of"
            f" {REPRESENTABLE}"
        )
    check_type(file, str(kind), fits=kind.kind in "fiu")
    if min(shape, default=0) < 0 or header.size > size:
        raise file.raising(
            f"{file.path} claims shape {_shown(shape)} of {kind} but holds {size:,} bytes; expected"
            " a whole file"
        )
    file.take(2 * prod(shape) * max(kind.itemsize, 4))  # as they are, and as float32
    values = np.frombuffer(stream.read(header.size), kind)
    return values.reshape(shape, order="F" if header.in_columns else "C")
