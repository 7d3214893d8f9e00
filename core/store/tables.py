"""Tables of a store's files, as frames and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Float32

from core.errors import (
    StoreError,
)
from core.store.duck import attached, parquet
from core.store.examine import Stamp, stamp
from core.store.schema import (
    ORDER,
    RESULT,
)

SMALL = 1 << 20  # bytes of a file whose tables are kept in memory


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file for reading; raises StoreError where it was removed meanwhile."""
    try:
        with attached(path) as connection:
            yield connection
    except FileNotFoundError as error:
        raise _removed(path) from error


def _removed(path: Path) -> StoreError:
    return StoreError(f"{path} was removed while it was read; list the store again")


def read_frame(path: Path, name: str = "result") -> pd.DataFrame:
    """Return a table of a file, its rows in order; a small file is read once for as long as it
    stays the same.

    Raises StoreError if the file was removed meanwhile, StoreDamagedError if it is damaged.
    """
    try:
        now = stamp(path)  # before it is read: see `core.store.examine.examine`
        _, size, _ = now
        if size > SMALL:
            return _read(path, name)
        # what the caller does to it stays with the caller
        return _read_once(path, name, now).copy(deep=False)
    except FileNotFoundError as error:
        raise _removed(path) from error


@lru_cache(maxsize=1024)
def _read_once(path: Path, name: str, _: Stamp) -> pd.DataFrame:
    return _read(path, name)


def _read(path: Path, name: str) -> pd.DataFrame:
    if path.suffix == RESULT:
        with parquet(path) as file:
            return file.read().to_pandas()
    query = f'SELECT * EXCLUDE ("{ORDER}") FROM file.{name} ORDER BY "{ORDER}"'
    with reading(path) as connection:
        table: pa.Table = connection.sql(query).to_arrow_table()
        return table.to_pandas()


def has_table(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return whether the opened file has a table."""
    query = "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'file' AND table_name = ?"
    return bool(connection.execute(query, [name]).fetchall() == [(1,)])


def as_matrix(column: pa.ChunkedArray) -> Float32[np.ndarray, "n dims"]:
    """View a column of vectors as a matrix; more than a million rows come in chunks and are
    joined.
    """
    vectors = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    matrix: np.ndarray = (
        vectors.flatten().to_numpy(zero_copy_only=True).reshape(-1, column.type.list_size)
    )
    return matrix
