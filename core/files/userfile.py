"""One file of a person's: looked at before it is opened, and read within limits."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from core.errors import PlatoscopeError
from core.files.limits import RATIO, SECONDS, SMALL, room
from core.machine.memory import free_memory, size_text

PART = 16 << 20  # bytes that are read between two looks at the clock
_NAME = 80  # characters of a name that stands in a file
_LONGEST = 200  # characters of what a library says of a file
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(eq=False)
class UserFile:
    """A regular file, and what reading it has taken so far.

    expected: what it should hold, for messages. raising: what all its faults are raised as. most:
    its bytes. Making one raises where there is no such file, or one that is no regular file or too
    large; nothing is opened for that.
    """

    path: Path
    expected: str
    raising: type[PlatoscopeError]
    most: float = float("inf")
    size: int = field(init=False)
    _taken: int = field(init=False, default=0)
    _start: float = field(init=False, default_factory=monotonic)

    def __post_init__(self) -> None:
        self._check(self._stat())

    def open(self) -> BinaryIO:
        """Open the file, which may have become another since it was looked at."""
        try:
            handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError) as error:
            raise self.unreadable(error) from error
        try:
            self._check(os.fstat(handle))
        except PlatoscopeError:
            os.close(handle)
            raise
        return os.fdopen(handle, "rb")

    def read(self) -> bytes:
        """Return all bytes, as many as the file had when it was opened."""
        with self.open() as file:
            self.take(self.size)
            parts, left = [], self.size
            try:
                while left and (part := file.read(min(left, PART))):
                    parts.append(part)
                    left -= len(part)
                    self.tick()
            except OSError as error:
                raise self.unreadable(error) from error
        return b"".join(parts)

    def text(self) -> str:
        """Return the file as text without a byte order mark; raises for what is not UTF-8, and for
        NUL characters.
        """
        return decode(self.read(), self.path.name, self.raising)

    def take(self, size: int) -> None:
        """Note memory that is about to be used, in bytes; raises where it is more than there is
        room for.
        """
        self._taken += size
        if self._taken > SMALL and self._taken > (most := room()):
            raise self.raising(
                f"{self.path} takes {size_text(self._taken)} of memory, and {size_text(most)} may"
                " be used, half of what is free; free some, or split the file"
            )

    def check_ratio(self, unpacked: int) -> None:
        """Raise where a file claims to unpack to far more than honest numbers do. unpacked: its
        bytes then.
        """
        if unpacked > SMALL and unpacked > RATIO * self.size:
            raise self.raising(
                f"{self.path} has {self.size:,} bytes and claims to unfold to {unpacked:,}; at most"
                f" {RATIO} times its size is read: save it uncompressed, in parts if it is large"
            )

    def check_count(self, count: int, most: int, what: str) -> None:
        """Raise where a file has more of something than is read."""
        if count > most:
            raise self.raising(
                f"{self.path} has {count:,} {what}; at most {most:,} are read: split it"
            )

    def tick(self) -> None:
        """Raise where reading has taken too long."""
        if monotonic() - self._start > SECONDS:
            raise self.raising(
                f"{self.path} was not read within {SECONDS:.0f} s; copy it to a disk of this"
                " machine, or split it"
            )

    def let_go(self) -> None:
        """Count memory and time anew: what was read so far is not held any more."""
        self._taken, self._start = 0, monotonic()

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Turn whatever a decoder raises on foreign bytes into a sentence: they raise anything."""
        try:
            yield
        except PlatoscopeError:
            raise
        except MemoryError as error:
            raise self.raising(
                f"{self.path}, of {size_text(self.size)}, asks for more memory than the"
                f" {size_text(free_memory())} that is free; expected {self.expected}: free some, or"
                " make the file anew, in parts if it is large"
            ) from error
        except Exception as error:
            raise self.raising(
                f"{self.path} cannot be read ({said(error)}); expected {self.expected}: copy or"
                " fetch it again, or make it anew"
            ) from error

    def _stat(self) -> os.stat_result:
        try:
            return os.stat(self.path)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise self.unreadable(error) from error

    def _check(self, status: os.stat_result) -> None:
        self.size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "no file")
            raise self.raising(
                f"{self.path} is {kind}; expected {self.expected}, as a regular file"
            )
        if self.size > self.most:
            raise self.raising(
                f"{self.path} has {size_text(self.size)}; expected {self.expected}, of"
                f" {size_text(self.most)} at most"
            )

    def unreadable(self, error: Exception) -> PlatoscopeError:
        if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError):
            return self.raising(
                f"there is no file {self.path}; check its path, and that this machine sees it"
            )
        reason = getattr(error, "strerror", None) or said(error)
        return self.raising(
            f"cannot read {self.path}: {reason}; change its rights, or copy it again"
        )


def decode(data: bytes, name: str, raising: type[PlatoscopeError]) -> str:
    """Return text without a byte order mark; raises for what is not UTF-8, and for NUL characters.

    name: what a message calls the file.
    """
    try:  # the utf-8-sig codec would count bytes from behind the mark
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise raising(
            f"{name} is not UTF-8: byte {error.start:,}, in line {line:,}, is"
            f" 0x{data[error.start]:02x}; UTF-8 was expected; save it as UTF-8"
        ) from error
    if (at := data.find(0)) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise raising(
            f"{name} has a NUL character at byte {at:,}, in line {line:,}; UTF-8 text was expected;"
            " save it as UTF-8"
        )
    return text


def shown(name: str) -> str:
    """Return a name that stands in a file as it may stand in a sentence: quoted, on one line, and
    no longer than that.
    """
    return repr(name) if len(name) <= _NAME else f"{name[:_NAME]!r} …"


def said(error: Exception) -> str:
    """Return the first line of what a library says of a file, as far as it can be shown."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST]
    return "".join(char if char.isprintable() else " " for char in line)
