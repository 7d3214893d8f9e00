"""Tar files of images, texts and labels, listed without unpacking them: what a member is called is
a name and never a path.
"""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Collection
from os import SEEK_END
from pathlib import Path
from typing import NamedTuple

from core.errors import StimuliError
from core.files.userfile import FIELD, UserFile
from core.stimuli.images import Stored

_BLOCK = 512  # bytes, of zeros at a tar's end


class Member(NamedTuple):
    """A file in a tar. key: its name without the ending, which those that belong together share.
    suffix: the ending, in small letters. data: what it holds, where that was asked for.
    """

    name: str
    key: str
    suffix: str
    place: Stored
    data: bytes = b""


def list_members(path: Path, *, read: Collection[str], listed: Collection[str]) -> list[Member]:
    """Return the files of a tar in its order by their endings: those that are read, FIELD bytes of
    each at most, and those that are only listed. Raises StimuliError for what is no whole tar.
    """
    members = []
    archive = UserFile(path, "a whole tar file", StimuliError)
    with archive.open() as file, archive.decoding(), tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            name = posixpath.normpath(member.name)
            key, dot, suffix = name.rpartition(".")
            ending, data = dot + suffix.lower(), b""
            hidden = posixpath.basename(name).startswith(".")  # macOS adds ._a.jpg to a.jpg
            if not member.isfile() or hidden or ending not in (*read, *listed):
                continue
            if ending in read:  # without moving the file from where tarfile reads on
                here = file.tell()
                file.seek(member.offset_data)
                data = file.read(min(member.size, FIELD))
                file.seek(here)
            place = Stored(path, member.offset_data, member.size)
            members.append(Member(name, key, ending, place, data))
        # what is cut off behind a member looks like a smaller set
        file.seek(-_BLOCK, SEEK_END)
        if any(file.read()):
            raise tarfile.ReadError("its end is missing")
    return members
