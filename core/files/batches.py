"""What reads a Parquet table in a process of its own: it imports pyarrow before the memory of that
process is limited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.files.ids import INDEX
from core.files.limits import COLUMNS, ROWS
from core.files.userfile import UserFile, shown

BATCH = 1_024  # rows that are in memory at once


def read_batches(file: UserFile, columns: list[str] | None, index: bool = False) -> Iterator[Any]:
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
        fields = [_plain(field) for field in table.schema_arrow if field.name in wanted]
        said = (table.schema_arrow.pandas_metadata or {}).get("index_columns", []) if index else []
        marked = {name: f"{INDEX}{name.removeprefix(INDEX)}" for name in said if name in wanted}
        schema = pa.schema(
            [field.with_name(marked.get(field.name, field.name)) for field in fields]
        )
        yield schema
        for batch in table.iter_batches(BATCH, columns=[field.name for field in fields]):
            named = batch.cast(pa.schema(fields)).rename_columns(schema.names)
            yield named.serialize()  # pickled, a slice is as large as its whole


def _plain(field: pa.Field) -> pa.Field:
    """Return a field that holds what its dictionary, if it has one, stands for."""
    kind = field.type
    return pa.field(field.name, kind.value_type if pa.types.is_dictionary(kind) else kind)
