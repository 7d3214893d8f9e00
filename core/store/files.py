"""Finished files, opened for reading: the one place that opens them.

A DuckDB file is attached read-only to a private in-memory database for one call. Connecting to the
path would take 12 ms instead of 1, show a replaced file's old content while another thread holds
it, and let DuckDB guess the format.
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

from core.errors import StoreDamagedError, StoreError, StoreVersionError
from core.store.schema import META, ORDER, RESULT, SCHEMA, VERSIONS, Meta, is_present, load_meta

CONFIG = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
MAGIC = b"DUCK"  # at byte 8 of every DuckDB file
HEADERS = 3 * 4096  # bytes before the first block
Stamp = tuple[int, int, int]

# by process: an instance does not survive a fork
_idle: dict[int, list[duckdb.DuckDBPyConnection]] = {}


@contextmanager
def attached(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with the file at `path` attached read-only as `file`. Raise
    StoreDamagedError, StoreVersionError for one of a newer DuckDB, FileNotFoundError.
    """
    try:
        with path.open("rb") as file:
            if file.read(12)[8:] != MAGIC:
                raise _damaged(path, "truncated, or made by another program")
    except PermissionError as error:
        raise _forbidden(path, error) from error
    except IsADirectoryError as error:
        raise _damaged(path, "a folder; a file was expected") from error
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
        if not isinstance(error, duckdb.Error):
            raise
        if not path.exists():
            raise FileNotFoundError(str(path)) from error
        reason = str(error).splitlines()[0]
        if "version number" in reason:
            raise StoreVersionError(
                f"{path} was written by a newer DuckDB than {duckdb.__version__}; update duckdb"
                f" ({reason})"
            ) from error
        raise _damaged(path, reason) from error
    idle.append(connection)


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file as `attached`; raise StoreError if it was removed meanwhile."""
    try:
        with attached(path) as connection:
            yield connection
    except FileNotFoundError as error:
        raise _removed(path) from error


@contextmanager
def parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a result's file; raise StoreDamagedError, FileNotFoundError."""
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (FileNotFoundError, NotADirectoryError):
        raise
    except PermissionError as error:
        raise _forbidden(path, error) from error
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, reason: object) -> StoreDamagedError:
    said = (str(reason).splitlines() or ["no reason"])[0]
    return StoreDamagedError(f"{path} is damaged; delete it and make it again ({said})")


def _forbidden(path: Path, error: PermissionError) -> StoreError:
    reason = error.strerror or "no permission"
    return StoreError(f"{path} cannot be read: {reason}; give yourself the right to read it")


def _removed(path: Path) -> StoreError:
    return StoreError(f"{path} was removed while it was read; list the store again")


def stamp(path: Path) -> Stamp:
    """Return what changes with a file's content: time of change, size, inode."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def examine(path: Path) -> Meta:
    """Return the meta of a file, read once while the file stays the same. Raise StoreDamagedError,
    StoreVersionError for another version of the schema or the producer, FileNotFoundError.
    """
    # the stamp first: what a replaced file said is kept under a stamp that never comes back
    meta = _examine_once(path, stamp(path))
    if not isinstance(meta, Meta):
        kind, message = meta
        raise kind(message)
    if not is_present(meta.recipe):
        made, now = meta.recipe.choices.get("version") or "unknown", VERSIONS[meta.recipe.kind]
        raise StoreVersionError(
            f"{path} is out of date: version {made} of {meta.recipe.kind!r} made it, and this"
            f" Platoscope has version {now}; make it again"
        )
    return meta


def examine_if_usable(path: Path) -> Meta | None:
    """Return the meta of a file, None if it cannot be used."""
    try:
        return examine(path)
    except (FileNotFoundError, NotADirectoryError, StoreDamagedError, StoreVersionError):
        return None


@lru_cache(maxsize=8192)
def _examine_once(path: Path, _: Stamp) -> Meta | tuple[type[StoreError], str]:
    try:
        if path.suffix == RESULT:
            with parquet(path) as file:
                rows = dict(json.loads((file.schema_arrow.metadata or {}).get(META, b"{}")))
        else:
            rows = _rows_of_database(path)
        if (schema := rows.get("schema")) != str(SCHEMA):
            raise StoreVersionError(
                f"{path} has schema {schema}, this Platoscope reads {SCHEMA}; make it again, or use"
                " the Platoscope that wrote it"
            )
        return load_meta(rows)
    except (StoreDamagedError, StoreVersionError) as error:
        return type(error), str(error)  # lasting, like the file; what may pass is not kept
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        return StoreDamagedError, str(_damaged(path, f"it does not say what it holds: {error}"))


def _rows_of_database(path: Path) -> dict[str, str]:
    """Return the meta of a DuckDB file that is as long as the blocks that its header counts."""
    size = "SELECT block_size * total_blocks FROM pragma_database_size() WHERE database_name = ?"
    with attached(path) as connection:
        row = connection.execute(size, ["file"]).fetchone()
        expected, actual = HEADERS + (row[0] if row else 0), path.stat().st_size
        if actual < expected:
            raise _damaged(path, f"truncated: {actual} of {expected} bytes are left")
        try:
            return dict(connection.execute("SELECT key, value FROM file.meta").fetchall())
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise StoreDamagedError(
                f"{path} is a DuckDB file, but none of Platoscope's; move it out of the store"
            ) from error


def read_frame(path: Path, name: str = "result") -> pd.DataFrame:
    """Return a table of a file, its rows in order; raise StoreError if it was removed meanwhile,
    StoreDamagedError.
    """
    if path.suffix == RESULT:
        try:
            with parquet(path) as file:
                return file.read().to_pandas()
        except FileNotFoundError as error:
            raise _removed(path) from error
    query = f'SELECT * EXCLUDE ("{ORDER}") FROM file.{name} ORDER BY "{ORDER}"'
    with reading(path) as connection:
        return connection.sql(query).to_arrow_table().to_pandas()


def has_table(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    query = "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'file' AND table_name = ?"
    return bool(connection.execute(query, [name]).fetchall() == [(1,)])


def as_matrix(column: pa.ChunkedArray) -> Float32[np.ndarray, "n dims"]:
    """View a column of vectors as a matrix; chunks of a million rows are joined."""
    vectors = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    flat: np.ndarray = vectors.flatten().to_numpy(zero_copy_only=True)
    return flat.reshape(-1, column.type.list_size)
