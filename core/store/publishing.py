"""Publishing a file: all of it at once, by one writer at a time, or not at all.

A writer builds NAME.new.duckdb, flushes it to the disk and renames it over NAME.duckdb, so that a
reader sees the old file or the new one and never a part. It holds a lock on NAME.lock, which dies
with its process: a killed writer blocks no other.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout, lock_descriptor

from core.errors import StoreBusyError, StoreError, StoreWriteError
from core.settings import check_writable
from core.store.files import CONFIG

Fill = Callable[[duckdb.DuckDBPyConnection], None]

UNPLACED = ".platoscope-"  # begins the name of what `write_file` has not yet put in place
POLL = 0.02  # seconds between two attempts to get a lock
SIGNED_AT = 1  # byte of a lock file: Windows does not let the first one be read, which it locks
# the latter where a checkpoint finds the disk full
_DUCKDB_REFUSED = (duckdb.OperationalError, duckdb.FatalException)


@contextmanager
def locked(target: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Be the only writer of `target` until the block ends; makes its folder.

    The lock file is removed while it is still held: who opened it before that finds it gone, and
    counts as having come too early. patience: seconds to wait for another writer; after them raises
    StoreBusyError.
    """
    path = _lock_file(target)
    lock = FileLock(path, timeout=patience, poll_interval=POLL, on_acquired=partial(_sign, path))
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout as error:
            raise StoreBusyError(
                f"{_owner(path)} is writing {path.stem!r} in {path.parent}; wait until it is done,"
                " or stop it"
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


def publish(target: Path, fill: Fill, *, again: bool = False) -> Path:
    """Build a file with `fill` and put it in the place of `target` in one step; the caller holds
    the lock. again: `fill` changes a copy of what is there.

    Raises StoreWriteError where the folder is read-only or the disk full; what was published before
    stays as it was.
    """

    def build(new: Path) -> None:
        if again:
            shutil.copyfile(target, new)
        connection = duckdb.connect(str(new), config=CONFIG)
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
    """Put bytes in the place of a file outside the store, in one step; raises OSError.

    A link stays one, and a file keeps its rights; a device and a pipe are no files to be replaced.
    Of several writers the last one's bytes stay, all of them. A killed one leaves a hidden file.
    """
    if target.exists() and not target.is_file():
        target.write_bytes(data)
    else:
        place = Path(os.path.realpath(target))

        def write(new: Path) -> None:
            with new.open("xb") as file:
                with suppress(FileNotFoundError):
                    shutil.copymode(place, new)
                file.write(data)

        _put(place, place.with_name(UNPLACED + secrets.token_hex(8)), write)


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
    """Put a value as JSON, for people to read and edit, in the place of `target`; see `publish`."""
    text = f"{json.dumps(value, indent=1, ensure_ascii=False)}\n"
    return replace(target, lambda new: new.write_bytes(text.encode()))


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn what the disk refuses into a StoreWriteError with advice; raises ReadOnlyError."""
    check_writable(target)
    try:
        yield
    except (OSError, *_DUCKDB_REFUSED) as error:
        raise _explained(target, error) from error


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock_file(target: Path) -> Path:
    return target.with_name(f"{target.stem}.lock")


def _sign(path: Path, handle: int) -> None:
    """Write into the lock file who holds it; where the disk is full, remove the file."""
    try:
        os.truncate(handle, 0)
        os.lseek(handle, SIGNED_AT, os.SEEK_SET)
        os.write(handle, f"process {os.getpid()}".encode())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _owner(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        file.seek(SIGNED_AT)
        return file.read(80).decode(errors="replace") or "another process"
    return "another process"


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
