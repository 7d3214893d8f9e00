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
    reading = stream(read_batches, file, columns, index, memory=most, seconds=SECONDS)
    with file.confined(most, SECONDS), closing(reading) as parts:
        schema = next(parts)
        for field in schema:
            check(field.name, field.type)
        for part in parts:
            yield pa.ipc.read_record_batch(part, schema)


def as_text(kind: Any) -> str:
    """Return a type's name, no longer than a line."""
    text = str(kind)
    return text if len(text) <= 60 else f"{text[:60]} …"
