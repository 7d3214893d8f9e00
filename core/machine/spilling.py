"""Folders for weights that fit in no memory: removed when their process ends, or, where it was
killed, by the next process that needs one.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from core.machine.endings import endings

PREFIX = "platoscope-spilled-"


def make_spill_folder() -> Path:
    """Make a temporary folder that lasts as long as this process, and remove those whose processes
    were killed.
    """
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{PREFIX}*/"):
        _remove_unused(left)
    folder = place / f"{PREFIX}{secrets.token_hex(8)}"
    lock = _lock(folder)
    lock.acquire()  # before the folder is there, so that nobody takes it for one left behind
    folder.mkdir(mode=0o700)
    endings.callback(_remove, folder, lock)
    return folder


def _lock(folder: Path) -> FileLock:
    """Return the lock that the process of a folder holds while it lasts."""
    return FileLock(folder.with_suffix(".lock"), blocking=False)


def _remove_unused(folder: Path) -> None:
    lock = _lock(folder)
    with suppress(Timeout, OSError):  # another process uses it, or it is another person's
        lock.acquire()
        _remove(folder, lock)


def _remove(folder: Path, lock: FileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
