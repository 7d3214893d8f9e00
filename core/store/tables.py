"""Tables of a store's files, as frames and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Float32

from core.errors import (
    StoreError,
)
from core.store.duck import attached
from core.store.schema import (
    ORDER,
)


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file for reading; raises StoreError where it was removed meanwhile."""
    try:
        with attached(path) as connection:
            yield connection
    except FileNotFoundError as error:
        raise StoreError(f"{path} was removed while it was read; list the store again") from error


def read_frame(path: Path, name: str) -> pd.DataFrame:
    """Return a table of a file, its rows in order."""
    query = f'SELECT * EXCLUDE ("{ORDER}") FROM file.{name} ORDER BY "{ORDER}"'
    with reading(path) as connection:
        frame: pd.DataFrame = connection.sql(query).to_arrow_table().to_pandas()
        return frame


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
