"""Publishing a file: all of it at once, by one writer at a time, or not at all.

A writer builds NAME.new.duckdb, flushes it to the disk and renames it over NAME.duckdb, and holds a
lock on NAME.lock, which ends with its process.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout, lock_descriptor

from core.errors import StoreBusyError, StoreError, StoreWriteError
from core.settings import check_writable
from core.store.files import CONFIG

Fill = Callable[[duckdb.DuckDBPyConnection], None]

UNPLACED = ".platoscope-"  # begins the name of what `write_file` has not yet put in place
POLL = 0.02  # seconds between two attempts to get a lock
# the latter where a checkpoint finds the disk full
_DUCKDB_REFUSED = (duckdb.OperationalError, duckdb.FatalException)


@contextmanager
def locked(target: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Be the only writer of `target` until the block ends; make its folder. Raise StoreBusyError
    after `patience` seconds.

    The lock file is removed while it is held: another writer that opened it before comes too early.
    """
    path = _lock_file(target)
    lock = FileLock(path, timeout=patience, poll_interval=POLL)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout as error:
            raise StoreBusyError(
                f"another process is writing {path.stem!r} in {path.parent}; wait until it is"
                " done, or stop it"
            ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # Windows keeps an open file, a read-only disk any: it does no harm
            path.unlink(missing_ok=True)
        lock.release()


def is_locked(target: Path) -> bool:
    """Return whether a living process holds the lock of `target`."""
    try:
        with _lock_file(target).open("rb") as file:
            return not lock_descriptor(file.fileno(), blocking=False)
    except FileNotFoundError:
        return False


def publish(target: Path, fill: Fill, *, again: bool = False, small: bool = False) -> Path:
    """Build a file with `fill` and put it in the place of `target` in one step; the caller holds
    the lock. again: `fill` changes a copy of what is there. small: in blocks of 32 KiB, an eighth
    of the usual, which are seldom half empty. Raise StoreWriteError.
    """

    def build(new: Path) -> None:
        if again:
            shutil.copyfile(target, new)
        blocks = {"default_block_size": "32768"} if small else {}
        connection = duckdb.connect(str(new), config=CONFIG | blocks)
        try:
            fill(connection)
            connection.execute("CHECKPOINT")
        finally:
            connection.close()

    return replace(target, build)


def replace(target: Path, build: Callable[[Path], object]) -> Path:
    """Let `build` write a new file and put it in the place of `target`; see `publish`."""
    with writing(target):
        _put(target, target.with_name(f"{target.stem}.new{target.suffix}"), build)
    return target


def write_file(target: Path, data: bytes) -> None:
    """Put bytes in the place of a file outside the store, in one step; raise OSError."""
    if target.exists() and not target.is_file():  # a device or a pipe
        target.write_bytes(data)
        return
    new = target.with_name(UNPLACED + secrets.token_hex(8))
    _put(target, new, lambda new: new.write_bytes(data))


def _put(target: Path, new: Path, build: Callable[[Path], object]) -> None:
    try:
        _remove(new)  # of a writer that was killed
        build(new)
        sync(new)
        os.replace(new, target)
        sync(target.parent)
    except BaseException:
        _remove(new)
        raise


def publish_json(target: Path, value: object) -> Path:
    text = f"{json.dumps(value, indent=1, ensure_ascii=False)}\n"
    return replace(target, lambda new: new.write_bytes(text.encode()))


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn a refusal of the disk into a StoreWriteError with advice; raise ReadOnlyError."""
    check_writable(target)
    try:
        yield
    except (OSError, *_DUCKDB_REFUSED) as error:
        raise _explained(target, error) from error


def sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock_file(target: Path) -> Path:
    return target.with_name(f"{target.stem}.lock")


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
