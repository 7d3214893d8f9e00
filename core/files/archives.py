"""Zips of a person's: of NumPy's arrays and of torch's tensors."""

from __future__ import annotations

import pickletools
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from core.files.userfile import UserFile, shown

PICKLE = b"\x80"  # begins all since Python 2.3


@contextmanager
def open_zip(file: UserFile) -> Iterator[zipfile.ZipFile]:
    """Open a zip; raises the file's error for a damaged one, and for two members of one name."""
    with file.open() as opened, file.decoding(), zipfile.ZipFile(opened) as archive:
        counts = Counter(archive.namelist())
        if twice := [name for name, count in counts.items() if count > 1]:
            raise file.raising(f"{file.path} has {shown(twice[0])} twice; rename one of the two")
        yield archive


def check_torch(file: UserFile) -> None:
    """Look at what torch.save wrote before torch does; raises the file's error for what is no zip,
    as torch takes that for a pickle of before 1.6, and for what would make more than it holds: of
    what torch lets a pickle call, `bytearray` alone takes a length.
    """
    with file.open() as opened:
        if opened.read(1) == PICKLE:
            raise file.raising(
                f"{file.path} is a pickle, as torch.save wrote before version 1.6 and NumPy and"
                f" Python do; expected {file.expected}: load it and save it with today's torch.save"
            )
    with open_zip(file) as archive:
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError("it is compressed, as torch.save writes none")
            if not entry.filename.endswith("data.pkl"):
                continue
            for code, value, _ in pickletools.genops(archive.read(entry)):
                if code.name == "GLOBAL" and "bytearray" in str(value):
                    raise ValueError("it makes an array of bytes of any length")
