"""Publishing a file: all of it at once, by one writer at a time, or not at all.

A writer builds NAME.new.duckdb, flushes it to the disk and renames it over NAME.duckdb, so that a
reader sees the old file or the new one and never a part. It holds a lock on NAME.lock, which dies
with its process: a killed writer blocks nobody.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from core.errors import StoreBusyError, StoreError, StoreWriteError
from core.store.duck import CONFIG
from core.store.schema import SUFFIX

Fill = Callable[[duckdb.DuckDBPyConnection], None]

_DUCKDB_REFUSED = (
    duckdb.OperationalError,
    duckdb.FatalException,
)  # the latter where a checkpoint finds the disk full


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Be the only writer of `target` until the block ends; makes its folder.

    The lock file is removed while it is still held, and whoever opened it before that notices and
    opens the next one, so that no two writers ever hold different files of one name. Raises
    StoreBusyError at once where another writer has it.
    """
    path = target.with_name(f"{target.stem}.lock")
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = _acquire(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def is_locked(target: Path) -> bool:
    """Tell whether a living process holds the lock of `target`."""
    try:
        with target.with_name(f"{target.stem}.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def publish(target: Path, fill: Fill) -> Path:
    """Build a file with `fill` and put it in the place of `target` in one step; the caller holds
    the lock.

    Raises StoreWriteError where the folder is read-only or the disk full; what was published before
    stays as it was.
    """
    new = target.with_name(f"{target.stem}.new{SUFFIX}")
    with writing(target):
        try:
            _remove(new)  # of a writer that was killed
            _build(new, fill)
            sync(new)
            os.replace(new, target)
            sync(target.parent)
        except BaseException:
            _remove(new)
            raise
    return target


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn what the disk refuses into a StoreWriteError that says what to do."""
    try:
        yield
    except (OSError, *_DUCKDB_REFUSED) as error:
        raise _explained(target, error) from error


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _acquire(path: Path) -> int:
    """Return an open lock file that is locked and still the one of that name."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(handle, path):
                _sign(handle, path)
                return handle
        except BlockingIOError as error:
            owner = os.pread(handle, 80, 0).decode(errors="replace") or "another process"
            os.close(handle)
            raise StoreBusyError(
                f"{owner} is writing {path.stem!r} in {path.parent}; wait until it is done, or"
                " stop it"
            ) from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the last owner removed this file after we had opened it


def _sign(handle: int, path: Path) -> None:
    """Write into the lock file who holds it; where the disk has no room for that, remove the file
    while it is still held.
    """
    try:
        os.truncate(handle, 0)
        os.write(handle, f"process {os.getpid()}".encode())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _build(new: Path, fill: Fill) -> None:
    connection = duckdb.connect(str(new), config=CONFIG)
    try:
        fill(connection)
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


def _remove(new: Path) -> None:
    for path in (new, new.with_name(f"{new.name}.wal")):
        path.unlink(missing_ok=True)


def _explained(target: Path, error: OSError | duckdb.Error) -> StoreError:
    code = getattr(error, "errno", None)
    reason = str(error).splitlines()[0]
    if (
        code in (errno.ENOSPC, errno.EDQUOT)
        or "No space left" in reason
        or isinstance(error, duckdb.OutOfMemoryException)
    ):
        advice = (
            f"the disk has no room for {target}; free some and start again, what is published is"
            " unharmed"
        )
    elif (
        code in (errno.EACCES, errno.EPERM, errno.EROFS)
        or "Permission denied" in reason
        or "Read-only" in reason
    ):
        advice = (
            f"{target.parent} is read-only; choose another store with --store, or change its rights"
        )
    else:
        advice = f"{target} cannot be written; choose another store with --store"
    return StoreWriteError(f"{advice} ({reason})")
