"""What a file says about itself, read once for as long as the file stays the same."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import duckdb

from core.errors import StoreDamagedError, StoreError, StoreVersionError
from core.store.duck import attached, check_whole, parquet
from core.store.schema import META, RESULT, SCHEMA, Meta, load_meta
from core.store.versions import check_version

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
        return _read(path)
    except (
        StoreDamagedError,
        StoreVersionError,
    ) as error:  # lasting, like the file; what may pass is not kept
        return type(error), str(error)


def _read(path: Path) -> Meta:
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
