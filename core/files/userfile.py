"""One file of a person's: checked before it is opened, and read within limits far above what real
data have.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypeVar

from core.errors import PlatoscopeError
from core.machine.confined import stream
from core.machine.memory import free_memory, size_text

R = TypeVar("R")
MB, GB = 10**6, 10**9

SECONDS = 300.0  # for what is read in a process of its own
SMALL = 64 * MB  # in memory: as much is always read

NOTE = MB  # bytes that a person writes by hand: a plan, an instruction
CONFIG = 64 * MB  # bytes of a model's config, card or index: of 100,000 tensors, 14 MB
SHEET = 16 * MB  # bytes of a table of scores: 100,000 of them
TEXT = 2 * GB  # bytes of a caption table or a text: OpenWebText has 40 GB in 80 files
UPLOAD = 500 * MB  # bytes of a file that is uploaded: it is held in memory; more goes into a folder
IMAGE = GB  # bytes of an image file: twice the most pixels as RGB
FIELD = MB  # characters of a caption or any other cell: a long novel
RECORD = 16 * MB  # bytes of a line of JSON: a document of OpenWebText has 0.1 MB at most

ROWS = 20_000_000  # of a table
COLUMNS = 20_000  # of a table: the widest layers have 16,384 dims

_NAME = 80  # characters of a name in a file
_LONGEST = 200  # characters of what a library says of a file


def room() -> int:
    """Return how many bytes of memory one file may take just now: half of what is free."""
    return free_memory() // 2


@dataclass(frozen=True)
class UserFile:
    """A regular file, and what it should hold, for messages. raising: what all its faults are
    raised as. most: its bytes. Making one raises for a missing or too large file, a folder, a pipe
    or a device.
    """

    path: Path
    expected: str
    raising: type[PlatoscopeError]
    most: float = float("inf")

    def __post_init__(self) -> None:
        if not stat.S_ISREG(self._status.st_mode):
            kind = "a folder" if stat.S_ISDIR(self._status.st_mode) else "a pipe or a device"
            raise self.raising(
                f"{self.path} is {kind}; expected {self.expected}, as a regular file"
            )
        if self.size > self.most:
            raise self.raising(
                f"{self.path} has {size_text(self.size)}; expected {self.expected}, of"
                f" {size_text(self.most)} at most"
            )

    @cached_property
    def _status(self) -> os.stat_result:
        try:
            return os.stat(self.path)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise self.unreadable(error) from error

    @property
    def size(self) -> int:
        return self._status.st_size

    def open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise self.unreadable(error) from error

    def read(self) -> bytes:
        self.check_room(self.size)
        with self.open() as file:
            try:
                return file.read()
            except OSError as error:
                raise self.unreadable(error) from error

    def text(self) -> str:
        """Return the file as text without a byte order mark; raise for what is not UTF-8, and for
        NUL characters.
        """
        return decode(self.read(), self.path.name, self.raising)

    def check_room(self, size: int) -> None:
        if size > SMALL and size > (most := room()):
            raise self.raising(
                f"{self.path} takes {size_text(size)} of memory, and {size_text(most)} may be used,"
                " half of what is free; free some, or split the file"
            )

    def check_count(self, count: int, most: int, what: str) -> None:
        if count > most:
            raise self.raising(
                f"{self.path} has {count:,} {what}; at most {most:,} are read: split it"
            )

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Turn any error of a decoder into a sentence."""
        try:
            yield
        except PlatoscopeError:
            raise
        except MemoryError as error:
            raise self.raising(
                f"{self.path}, of {size_text(self.size)}, takes more memory than may be used;"
                f" expected {self.expected}: free some, or make the file again, in parts if it is"
                " large"
            ) from error
        except Exception as error:
            raise self.raising(
                f"{self.path} cannot be read ({said(error)}); expected {self.expected}: copy or"
                " fetch it again, or make it again"
            ) from error

    def confined(self, read: Callable[..., Iterator[R]], *given: object) -> Iterator[R]:
        """Yield what `read` yields of this file, in a process of its own, within the memory and
        time that a file may take.
        """
        most = max(room(), 2 * SMALL)  # the threads of libraries alone take some of it
        reading = stream(read, self, *given, memory=most, seconds=SECONDS)
        try:
            with closing(reading):
                yield from reading
        except (MemoryError, RuntimeError) as error:
            raise self.raising(
                f"{self.path} cannot be read: it takes more than {size_text(most)} of memory, half"
                f" of what is free, or is damaged; expected {self.expected}: free some, or make it"
                " again"
            ) from error
        except TimeoutError as error:
            raise self.raising(
                f"{self.path} was not read within {SECONDS:.0f} s; copy it to a disk of this"
                " machine, or split it"
            ) from error

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
    """Return text without a byte order mark; raise for what is not UTF-8, and for a NUL."""
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
    """Return a name from a file as it may be in a sentence: quoted, on one line, not too long."""
    return repr(name) if len(name) <= _NAME else f"{name[:_NAME]!r} …"


def said(error: Exception) -> str:
    """Return the first line of what a library says of a file, without control characters."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST]
    return "".join(char if char.isprintable() else " " for char in line)
