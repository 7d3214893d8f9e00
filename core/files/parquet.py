"""Parquet tables, read in a process of their own: pyarrow ends the one that reads a broken footer,
and has no limit of memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from core.files.limits import COLUMNS, ROWS, SECONDS, room
from core.files.userfile import UserFile, shown
from core.machine.confined import stream
from core.machine.memory import size_text

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa

INDEX = "__index_level_"  # how pandas names a column that is its index
BATCH = 1_024  # rows that are in memory at once

Check = Callable[[str, "pa.DataType"], None]


def read_parquet(
    file: UserFile, *, check: Check, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in batches, texts as they are; pandas' own row numbers are left
    out. columns: those that are read, all where None.

    check: raises for a column of a name and type that is not wanted. Raises the file's error for
    one that is damaged, has too many rows or columns or two of one name, lacks a column, or takes
    more memory or time than it may.
    """
    import pyarrow as pa

    most = room()
    try:
        with closing(stream(_read, file, columns, memory=most, seconds=SECONDS)) as parts:
            schema = next(parts)
            for field in schema:
                check(field.name, field.type)
            for part in parts:
                yield pa.ipc.read_record_batch(part, schema)
    except MemoryError as error:
        raise file.raising(
            f"{file.path} cannot be read: it takes more than {size_text(most)} of memory, half of"
            f" what is free, or is damaged; expected {file.expected}: free some, or make it anew"
        ) from error
    except TimeoutError as error:
        raise file.raising(
            f"{file.path} was not read within {SECONDS:.0f} s; copy it to a disk of this machine,"
            " or split it"
        ) from error


def _read(file: UserFile, columns: list[str] | None) -> Iterator[Any]:
    """Yield the schema of the columns that are read, then their rows as Arrow writes them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with file.open() as opened, file.decoding(), pq.ParquetFile(opened) as table:
        file.check_count(table.metadata.num_columns, COLUMNS, "columns")
        file.check_count(table.metadata.num_rows, ROWS, "rows")
        names = table.schema_arrow.names
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise file.raising(
                f"{file.path.name} has several columns named {shown(twice[0])}; rename or drop one"
            )
        wanted = columns or [name for name in names if not name.startswith(INDEX)]
        if missing := set(wanted) - set(names):
            raise file.raising(
                f"{file.path.name} has no column {shown(min(missing))}; rename the one that"
                " holds it"
            )
        schema = pa.schema([_plain(field) for field in table.schema_arrow if field.name in wanted])
        yield schema
        for batch in table.iter_batches(BATCH, columns=wanted):
            yield batch.cast(schema).serialize()  # pickled, a slice is as large as its whole


def _plain(field: pa.Field) -> pa.Field:
    """Return a field that holds what its dictionary, if it has one, stands for."""
    import pyarrow as pa

    kind = field.type
    return pa.field(field.name, kind.value_type if pa.types.is_dictionary(kind) else kind)


def as_text(kind: Any) -> str:
    """Return a type's name, no longer than a line."""
    text = str(kind)
    return text if len(text) <= 60 else f"{text[:60]} …"
