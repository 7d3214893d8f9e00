"""Parquet tables, read in a process of their own: pyarrow crashes on a broken footer, and has no
limit of memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from core.files.ids import INDEX
from core.files.userfile import COLUMNS, ROWS, UserFile, shown

BATCH = 1_024  # rows that are in memory at once

Check = Callable[[str, pa.DataType], None]


def read_parquet(
    file: UserFile, *, check: Check, columns: list[str] | None = None, index: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in batches. columns: those that are read, all if None. index:
    whether pandas' index is among these, as INDEX and its name. check: raises for a column that is
    not wanted. Raise the file's error for a damaged one, too many rows or columns, two of one name,
    and a missing one.
    """
    parts = file.confined(read_batches, columns, index)
    schema = next(parts)
    for field in schema:
        check(field.name, field.type)
    for part in parts:
        yield pa.ipc.read_record_batch(part, schema)


def read_batches(
    file: UserFile, columns: list[str] | None, index: bool
) -> Iterator[pa.Schema | pa.Buffer]:
    """Yield the schema of the columns that are read, then their rows as Arrow writes them."""
    with file.open() as opened, file.decoding(), pq.ParquetFile(opened) as table:
        file.check_count(table.metadata.num_columns, COLUMNS, "columns")
        file.check_count(table.metadata.num_rows, ROWS, "rows")
        names = table.schema_arrow.names
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise file.raising(
                f"{file.path.name} has several columns named {shown(twice[0])}; rename or drop one"
            )
        wanted = columns or [name for name in names if index or not name.startswith(INDEX)]
        if missing := set(wanted) - set(names):
            raise file.raising(
                f"{file.path.name} has no column {shown(min(missing))}; rename the one that"
                " holds it"
            )
        fields = [  # the values of a dictionary
            field.with_type(field.type.value_type)
            if pa.types.is_dictionary(field.type)
            else pa.field(field.name, field.type)
            for field in table.schema_arrow
            if field.name in wanted
        ]
        said = (table.schema_arrow.pandas_metadata or {}).get("index_columns", []) if index else []
        marked = {name: f"{INDEX}{name.removeprefix(INDEX)}" for name in said if name in wanted}
        schema = pa.schema(
            [field.with_name(marked.get(field.name, field.name)) for field in fields]
        )
        yield schema
        for batch in table.iter_batches(BATCH, columns=[field.name for field in fields]):
            named = batch.cast(pa.schema(fields)).rename_columns(schema.names)
            yield named.serialize()  # pickled, a slice is as large as its whole


def as_text(kind: object) -> str:
    text = str(kind)
    return text if len(text) <= 60 else f"{text[:60]} …"
