"""Finished files, opened for reading: the one place that opens them.

A DuckDB file is attached read-only to a private in-memory database for the length of one call.
Connecting to the path itself would cost 12 ms instead of 1 (a DuckDB instance starts up), would
show a replaced file's old content for as long as any thread of the process still holds it, and
would let DuckDB guess the format: for a SQLite file it tries to download an extension.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float32

from core.errors import (
    StoreDamagedError,
    StoreError,
    StoreVersionError,
)
from core.store.schema import (
    META,
    ORDER,
    RESULT,
    SCHEMA,
    Meta,
    check_version,
    load_meta,
)

CONFIG = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
MAGIC = b"DUCK"  # at byte 8 of every DuckDB file
HEADERS = 3 * 4096  # bytes before the first block

_idle: dict[
    int, list[duckdb.DuckDBPyConnection]
] = {}  # by process: an instance does not survive a fork


@contextmanager
def attached(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection of the caller's own with the file at `path` attached as `file`, read-only,
    until the block ends.

    Raises StoreDamagedError for a file that is truncated or none of DuckDB's, StoreVersionError for
    one of a newer DuckDB, FileNotFoundError where there is none.
    """
    check_magic(path)
    idle = _idle.setdefault(os.getpid(), [])
    try:  # asking first whether there is one would let another thread take it in between
        connection = idle.pop()
    except IndexError:
        connection = duckdb.connect(":memory:", config=CONFIG)
    try:
        connection.execute("ATTACH ? AS file (READ_ONLY, TYPE duckdb)", [str(path)])
        yield connection
        connection.execute("DETACH file")
    except BaseException as error:
        connection.close()
        if isinstance(error, duckdb.Error):
            raise _explained(path, error) from error
        raise
    idle.append(connection)


@contextmanager
def parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a result's file until the block ends.

    Raises StoreDamagedError for a file that is truncated or not Parquet, FileNotFoundError where
    there is none.
    """
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, PermissionError):
            raise _forbidden(path, error) from error
        raise _damaged(path, error) from error


def check_magic(path: Path) -> None:
    """Raise StoreDamagedError unless the file begins as DuckDB's do."""
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except PermissionError as error:
        raise _forbidden(path, error) from error
    except IsADirectoryError as error:
        raise StoreDamagedError(
            f"{path} is a folder, and a file was expected; move it out of the store"
        ) from error
    if head[8:] != MAGIC:
        raise StoreDamagedError(
            f"{path} is not a DuckDB file: truncated, or made by another program; delete it and"
            " make it again"
        )


def check_whole(path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise StoreDamagedError where the attached file is shorter than the blocks that its header
    counts.
    """
    row = connection.execute(
        "SELECT block_size * total_blocks FROM pragma_database_size() WHERE database_name = 'file'"
    ).fetchone()
    expected, actual = HEADERS + (row[0] if row else 0), path.stat().st_size
    if actual < expected:
        raise StoreDamagedError(
            f"{path} is truncated: {actual} of {expected} bytes are left; delete it and make it"
            " again"
        )


def _explained(path: Path, error: duckdb.Error) -> Exception:
    if not path.exists():
        return FileNotFoundError(str(path))
    reason = str(error).splitlines()[0]
    if "version number" in reason:
        return StoreVersionError(
            f"{path} was written by a newer DuckDB than {duckdb.__version__}; update duckdb"
            f" ({reason})"
        )
    return _damaged(path, reason)


def _damaged(path: Path, reason: object) -> StoreDamagedError:
    said = (str(reason).splitlines() or ["no reason"])[0]
    return StoreDamagedError(f"{path} is damaged; delete it and make it again ({said})")


def _forbidden(path: Path, error: PermissionError) -> StoreError:
    reason = error.strerror or "no permission"
    return StoreError(f"{path} cannot be read: {reason}; give yourself the right to read it")


Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """Return what distinguishes one content of a path from the next: time of change in ns, size
    in bytes, inode.
    """
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def examine(path: Path) -> Meta:
    """Return the meta of a file of the store.

    Raises StoreDamagedError for a truncated or foreign file, StoreVersionError for another schema
    and for what another version of its producer made, FileNotFoundError.
    """
    # The stamp is taken first: a file that is replaced meanwhile is kept under a stamp that never
    # comes back.
    meta = _examine_once(path, stamp(path))
    if not isinstance(meta, Meta):
        kind, message = meta
        raise kind(message)
    check_version(path, meta.recipe)
    return meta


def examine_if_usable(path: Path) -> Meta | None:
    """Return the meta of a file, None where there is none or it cannot be used: then it may be
    replaced.
    """
    try:
        return examine(path)
    except (FileNotFoundError, NotADirectoryError, StoreDamagedError, StoreVersionError):
        return None


@lru_cache(maxsize=8192)
def _examine_once(path: Path, _: Stamp) -> Meta | tuple[type[StoreError], str]:
    try:
        return _read_meta(path)
    except (
        StoreDamagedError,
        StoreVersionError,
    ) as error:  # lasting, like the file; what may pass is not kept
        return type(error), str(error)


def _read_meta(path: Path) -> Meta:
    rows = _rows_of_result(path) if path.suffix == RESULT else _rows_of_database(path)
    schema = rows.get("schema")
    if schema != str(SCHEMA):
        raise StoreVersionError(
            f"{path} has schema {schema}, this Platoscope reads {SCHEMA}; make it again, or use the"
            " Platoscope that wrote it"
        )
    try:
        return load_meta(rows)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise StoreDamagedError(
            f"{path} does not say what it holds; delete it and make it again ({error})"
        ) from error


def _rows_of_result(path: Path) -> dict[str, str]:
    with parquet(path) as file:
        said = (file.schema_arrow.metadata or {}).get(META, b"{}")
    try:
        rows: dict[str, str] = json.loads(said)
        return dict(rows)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreDamagedError(
            f"{path} does not say what it holds; delete it and make it again ({error})"
        ) from error


def _rows_of_database(path: Path) -> dict[str, str]:
    with attached(path) as connection:
        check_whole(path, connection)
        try:
            return dict(connection.execute("SELECT key, value FROM file.meta").fetchall())
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise StoreDamagedError(
                f"{path} is a DuckDB file, but none of Platoscope's; move it out of the store"
            ) from error


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
        now = stamp(path)  # before it is read: see `core.store.files.examine`
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
