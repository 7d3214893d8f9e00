"""Parquet tables, judged by their footers before they are read, and by every batch as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.files.footers import Sizes, read_sizes
from core.files.limits import CHUNKS, COLUMNS, FIELD, ROWS
from core.files.userfile import UserFile, shown

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa
    import pyarrow.parquet as pq

INDEX = "__index_level_"  # how pandas names a column that is its index
BATCH = 1_024  # rows from one look at clock and memory to the next

Check = Callable[[str, "pa.DataType"], None]


@contextmanager
def open_parquet(file: UserFile) -> Iterator[pq.ParquetFile]:
    """Open a table whose footer says that it can be read; raises the file's error for one that is
    damaged, or unpacks to more than there is room for.

    Texts are read by their dictionaries, since few bytes can name a long one many times.
    """
    import pyarrow.parquet as pq

    with file.open() as opened, file.decoding():
        _check_sizes(read_sizes(opened, file), file)
        schema = pq.ParquetFile(opened).schema
        columns = [schema.column(at) for at in range(len(schema))]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        opened.seek(0)
        with pq.ParquetFile(opened, read_dictionary=texts) as table:
            yield table


def read_parquet(
    file: UserFile, *, check: Check, columns: list[str] | None = None, longest: int = FIELD
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in batches, texts as they are; pandas' own row numbers are left
    out. columns: those that are read, all where None. longest: bytes of a text.

    check: raises for a column of a name and type that is not wanted. Raises the file's error as
    `open_parquet` does, for a column that is not there, for two of one name, and for a longer text.
    """
    with open_parquet(file) as table:
        kinds = [(field.name, _plain_type(field.type)) for field in table.schema_arrow]
        names = [name for name, _ in kinds]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise file.raising(
                f"{file.path.name} has several columns named {shown(twice[0])}; rename or drop one"
            )
        own = [name for name in names if not name.startswith(INDEX)]
        wanted = dict.fromkeys(columns or own)
        if missing := wanted.keys() - set(names):
            raise file.raising(
                f"{file.path.name} has no column {shown(min(missing))}; rename the one that"
                " holds it"
            )
        for name, kind in kinds:
            if name in wanted:
                check(name, kind)
        for batch in table.iter_batches(BATCH, columns=list(wanted)):
            file.tick()
            yield _plain(batch, file, longest)


def _check_sizes(sizes: Sizes, file: UserFile) -> None:
    """Raise where a footer says that there is more than is read."""
    file.check_count(sizes.columns, COLUMNS, "columns")
    file.check_count(sizes.rows, ROWS, "rows")
    file.check_count(len(sizes.groups) * sizes.columns, CHUNKS, "columns times groups of rows")
    file.check_ratio(sum(sizes.groups))
    file.take(max(sizes.groups, default=0))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain(batch: pa.RecordBatch, file: UserFile, longest: int) -> pa.RecordBatch:
    """Return a batch whose texts are no dictionaries any more, after what they take is known."""
    import pyarrow as pa

    columns = [
        _unfolded(column, name, file, longest) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _unfolded(column: pa.DictionaryArray, name: str, file: UserFile, longest: int) -> pa.Array:
    import pyarrow.compute as pc

    try:
        lengths = pc.binary_length(column.dictionary)
    except NotImplementedError:  # numbers, whose sizes the footer has said
        return column.dictionary_decode()
    if (length := pc.max(lengths).as_py() or 0) > longest:
        raise file.raising(
            f"column {shown(name)} of {file.path.name} holds a text of {length:,} bytes; at most"
            f" {longest:,} are read: shorten it"
        )
    file.take(pc.sum(lengths.take(column.indices)).as_py() or 0)
    return column.dictionary_decode()


def as_text(kind: Any) -> str:
    """Return a type's name, no longer than a line."""
    text = str(kind)
    return text if len(text) <= 60 else f"{text[:60]} …"
