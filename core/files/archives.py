"""Zips, pickles and safetensors of a person's, judged by their lists before anything in them is
unpacked.
"""

from __future__ import annotations

import io
import pickletools
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import BinaryIO

from core.files.limits import HEADER, MEMBERS
from core.files.userfile import UserFile, shown
from core.machine.memory import size_text

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack with dictionaries of gigabytes


class HugeListError(ValueError):
    """A zip whose list of members is larger than is read."""


@contextmanager
def open_zip(file: UserFile, *, members: int = MEMBERS) -> Iterator[zipfile.ZipFile]:
    """Open a zip of at most so many members; raises the file's error for one that is damaged, has
    two members of one name, or unpacks to more than there is room for.
    """
    with file.open() as opened, file.decoding(), read_list(opened) as archive:
        entries = archive.infolist()
        file.check_count(len(entries), members, "members")
        counts = Counter(entry.filename for entry in entries)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise file.raising(f"{file.path} has {shown(twice[0])} twice; rename one of the two")
        for entry in entries:
            if entry.compress_type not in METHODS:
                raise file.raising(
                    f"{shown(entry.filename)} in {file.path} is compressed in a rare way (method"
                    f" {entry.compress_type}); save it anew with the usual one, deflate"
                )
            if entry.compress_size > file.size:  # as many bytes would be asked for at once
                raise file.raising(
                    f"{shown(entry.filename)} in {file.path} claims {entry.compress_size:,} bytes,"
                    f" more than the {file.size:,} of the file; fetch it again"
                )
        file.check_ratio(sum(entry.file_size for entry in entries))
        yield archive


def read_list(opened: BinaryIO, *, most: int = HEADER) -> zipfile.ZipFile:
    """Return a zip whose list of members takes at most so many bytes; raises HugeListError for a
    larger one, and whatever `zipfile` raises for a damaged one.
    """
    listed = _Listed(opened, most)
    archive = zipfile.ZipFile(listed)
    listed.most = inf  # the list is read; members may be larger
    return archive


class _Listed(io.BufferedIOBase):
    """A file that gives no more bytes at once than the list of a zip may take: zipfile reads it
    whole, however long it says that it is.
    """

    def __init__(self, opened: BinaryIO, most: float) -> None:
        self._opened, self.most = opened, most

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self.most:
            raise HugeListError(f"a list of members of {size:,} bytes")
        return self._opened.read(-1 if size is None else size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._opened.seek(offset, whence)

    def tell(self) -> int:
        return self._opened.tell()

    def seekable(self) -> bool:
        return True


def check_torch(file: UserFile, *, members: int = MEMBERS) -> None:
    """Look at the list of members and the pickle of what torch.save wrote, before torch does.

    Raises the file's error for more members, for a pickle that is no list of tensors by its size,
    and for one that would make more than it holds.
    """
    with open_zip(file, members=members) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith("data.pkl"):
                continue
            if entry.file_size > HEADER:
                raise file.raising(
                    f"{file.path} has a pickle of {size_text(entry.file_size)}; expected tensors"
                    f" alone, whose list takes {size_text(HEADER)} at most"
                )
            check_pickle(archive.read(entry))


def check_safetensors(file: UserFile) -> None:
    """Raise the file's error for safetensors whose list of tensors is larger than is read: the
    library would take gigabytes for it.
    """
    with file.open() as opened:
        length = int.from_bytes(opened.read(8), "little")
    if length > min(HEADER, file.size):
        raise file.raising(
            f"{file.path} cannot be read (a header of {length:,} bytes); expected {file.expected},"
            f" whose list of tensors takes {size_text(HEADER)} at most: copy or fetch it again, or"
            " make it anew"
        )


def check_pickle(data: bytes) -> None:
    """Raise ValueError where a pickle of tensors would make more than its bytes hold.

    What torch lets a pickle call is safe save for `bytearray`, which takes a length; of the two
    opcodes that name what to call torch knows GLOBAL alone.
    """
    for code, value, _ in pickletools.genops(data):
        if code.name == "GLOBAL" and "bytearray" in str(value):
            raise ValueError("it makes an array of bytes of any length")
