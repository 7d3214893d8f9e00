"""Parquet tables, read in a process of their own: pyarrow ends the one that reads a broken footer,
and has no limit of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from core.files.limits import SECONDS, SMALL, room
from core.files.userfile import UserFile
from core.machine.confined import stream
from core.machine.memory import size_text

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa

Check = Callable[[str, "pa.DataType"], None]


def read_parquet(
    file: UserFile, *, check: Check, columns: list[str] | None = None, index: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in batches, texts as they are. columns: those that are read, all
    where None. index: whether pandas' own names of rows are among these, as INDEX and their name.

    check: raises for a column of a name and type that is not wanted. Raises the file's error for
    one that is damaged, has too many rows or columns or two of one name, lacks a column, or takes
    more memory or time than it may.
    """
    import pyarrow as pa

    from core.files.batches import read_batches

    most = max(room(), 2 * SMALL)  # pyarrow's threads alone take some of it
    try:
        reading = stream(read_batches, file, columns, index, memory=most, seconds=SECONDS)
        with closing(reading) as parts:
            schema = next(parts)
            for field in schema:
                check(field.name, field.type)
            for part in parts:
                yield pa.ipc.read_record_batch(part, schema)
    except (MemoryError, RuntimeError) as error:
        raise file.raising(
            f"{file.path} cannot be read: it takes more than {size_text(most)} of memory, half of"
            f" what is free, or is damaged; expected {file.expected}: free some, or make it anew"
        ) from error
    except TimeoutError as error:
        raise file.raising(
            f"{file.path} was not read within {SECONDS:.0f} s; copy it to a disk of this machine,"
            " or split it"
        ) from error


def as_text(kind: Any) -> str:
    """Return a type's name, no longer than a line."""
    text = str(kind)
    return text if len(text) <= 60 else f"{text[:60]} …"
