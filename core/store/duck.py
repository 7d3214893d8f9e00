"""Finished files, opened for reading: the one place that opens them.

A DuckDB file is attached read-only to a private in-memory database for the length of one call.
Connecting to the path itself would cost 12 ms instead of 1 (a DuckDB instance starts up), would
show a replaced file's old content for as long as any thread of the process still holds it, and
would let DuckDB guess the format: for a SQLite file it tries to download an extension.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import StoreDamagedError, StoreError, StoreVersionError

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
