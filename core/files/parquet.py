"""Parquet tables, judged by their footers before they are read, and by every batch as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from core.files.limits import CHUNKS, COLUMNS, FIELD, HEADER, ROWS
from core.files.userfile import UserFile

if TYPE_CHECKING:  # only those who have a Parquet table wait for it
    import pyarrow as pa
    import pyarrow.parquet as pq

INDEX = "__index_level_"  # how pandas names a column that is its index
LEAST = 8  # bytes that a value takes in memory at least
BATCH = 1_024  # rows from one look at clock and memory to the next
_MAGIC = b"PAR1"

Check = Callable[[str, "pa.DataType"], None]


@contextmanager
def open_parquet(file: UserFile) -> Iterator[pq.ParquetFile]:
    """Open a table whose footer says that it can be read; raises the file's error for one that is
    damaged, or unpacks to more than there is room for.

    Texts are read by their dictionaries, since few bytes can name a long one many times.
    """
    import pyarrow.parquet as pq

    with file.open() as opened, file.decoding():
        _check_footer(opened, file)
        limits = {
            "thrift_string_size_limit": HEADER,
            "thrift_container_size_limit": CHUNKS,
        }
        metadata = pq.ParquetFile(opened, **limits).metadata
        _check_sizes(metadata, file)
        texts = [
            metadata.schema.column(at).path
            for at in range(metadata.num_columns)
            if metadata.schema.column(at).physical_type == "BYTE_ARRAY"
        ]
        opened.seek(0)
        with pq.ParquetFile(opened, read_dictionary=texts, **limits) as table:
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
        names = [field.name for field in table.schema_arrow]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise file.raising(
                f"{file.path.name} has several columns named {twice[0]!r}; rename or drop one"
            )
        wanted = columns or [name for name in names if not name.startswith(INDEX)]
        for name in wanted:
            if name not in names:
                raise file.raising(f"{file.path.name} has no column {name!r}; name one of it so")
            check(name, _plain_type(table.schema_arrow.field(name).type))
        for batch in table.iter_batches(BATCH, columns=wanted):
            file.tick()
            yield _plain(batch.select(wanted), file, longest)


def _check_footer(opened: BinaryIO, file: UserFile) -> None:
    """Raise where a footer is longer than is read."""
    opened.seek(max(0, file.size - 8))
    end = opened.read(8)
    if end[4:] == _MAGIC and (length := int.from_bytes(end[:4], "little")) > HEADER:
        raise file.raising(
            f"{file.path} has a footer of {length:,} bytes; expected a Parquet table whose columns"
            f" and groups of rows are listed in at most {HEADER:,}"
        )
    opened.seek(0)


def _check_sizes(metadata: pq.FileMetaData, file: UserFile) -> None:
    """Raise where a footer says that there is more than is read, or says what cannot be."""
    groups, columns = metadata.num_row_groups, metadata.num_columns
    file.check_count(columns, COLUMNS, "columns")
    file.check_count(metadata.num_rows, ROWS, "rows")
    file.check_count(groups * columns, CHUNKS, "columns times groups of rows")
    parts = [metadata.row_group(i).column(j) for i in range(groups) for j in range(columns)]
    if min((min(part.total_uncompressed_size, part.num_values) for part in parts), default=0) < 0:
        raise ValueError("a column of negative size")
    widths = [max(LEAST, metadata.schema.column(at).length or 0) for at in range(columns)]
    sizes = [
        max(part.total_uncompressed_size, part.num_values * widths[at % columns])
        for at, part in enumerate(parts)
    ]
    file.check_ratio(sum(sizes))
    file.take(max((sum(sizes[i * columns : (i + 1) * columns]) for i in range(groups)), default=0))


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
            f"column {name!r} of {file.path.name} holds a text of {length:,} bytes; at most"
            f" {longest:,} are read: shorten it"
        )
    file.take(pc.sum(lengths.take(column.indices)).as_py() or 0)
    return column.dictionary_decode()


def as_text(kind: Any) -> str:
    """Return a type's name, no longer than a line."""
    text = str(kind)
    return text if len(text) <= 60 else f"{text[:60]} …"
