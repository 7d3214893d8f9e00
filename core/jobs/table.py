"""The queue's SQLite file: one row per job.

Each call opens the file anew, so that threads, processes and servers may share it. It keeps
SQLite's own journal: a write-ahead log pays only for connections that stay open, and does not work
over a network.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreVersionError,
    StoreWriteError,
)
from core.jobs.job import UNFINISHED, Job, jobs_folder, log_file, note_file
from core.progress import read_note
from core.settings import check_writable, is_read_only

SCHEMA = 1
PATIENCE = 5.0  # seconds that one writer waits for another
IS_UNFINISHED = f"state IN {UNFINISHED}"
TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    words TEXT NOT NULL,                      -- a list in JSON
    folder TEXT NOT NULL,
    device TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'canceled')),
    queued_at TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT,
    lane TEXT,
    exit_code INTEGER,
    failure TEXT NOT NULL DEFAULT '',
    is_stopping INTEGER NOT NULL DEFAULT 0,
    host TEXT,                                -- the machine and process group it runs as
    process INTEGER
)"""
INDEX = f"""
CREATE UNIQUE INDEX IF NOT EXISTS unfinished ON jobs (words, folder) WHERE {IS_UNFINISHED}
"""


def queue_file(store: Path) -> Path:
    """Return the file of a store's queue."""
    return jobs_folder(store) / "queue.sqlite"


def rows(store: Path, where: str, *values: object) -> list[sqlite3.Row]:
    """Return rows, the earliest job first; none where there is no queue. where: SQL of our own."""
    if not _is_there(store):
        return []
    with _opened(store) as table:
        return table.execute(f"SELECT * FROM jobs WHERE {where} ORDER BY id", values).fetchall()


@contextmanager
def writing(store: Path) -> Iterator[sqlite3.Connection]:
    """Give the queue to one writer at a time, and keep all of what it writes or nothing.

    Raises StoreBusyError, StoreDamagedError, StoreVersionError, StoreWriteError.
    """
    check_writable(queue_file(store))
    with _opened(store) as table:
        table.execute("BEGIN IMMEDIATE")
        yield table
        table.execute("COMMIT")


def create(store: Path) -> None:
    """Make the queue of a store where it has none; raises StoreWriteError."""
    if _is_there(store):
        return
    check_writable(queue_file(store))
    folder = jobs_folder(store)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreWriteError(
            f"{folder} cannot be made ({error.strerror}); choose another store with --store, or"
            " change its rights"
        ) from error
    with _opened(store) as table:
        table.execute("BEGIN IMMEDIATE")
        table.execute(TABLE)
        table.execute(INDEX)
        table.execute(f"PRAGMA user_version = {SCHEMA}")
        table.execute("COMMIT")


def job_of(store: Path, row: sqlite3.Row) -> Job:
    """Return the job of a row; the progress of a running one is read from its note."""
    is_running = row["state"] == "running"
    return Job(
        id=row["id"],
        words=tuple(json.loads(row["words"])),
        folder=Path(row["folder"]),
        device=row["device"],
        owner=row["owner"],
        state=row["state"],
        queued_at=row["queued_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        lane=row["lane"],
        exit_code=row["exit_code"],
        failure=row["failure"],
        is_stopping=bool(row["is_stopping"]),
        log=log_file(store, row["id"]),
        progress=read_note(note_file(store, row["id"])) if is_running else None,
    )


def _is_there(store: Path) -> bool:
    """Return whether a queue is there; a file that is being made is still empty."""
    path = queue_file(store)
    return path.exists() and path.stat().st_size > 0


@contextmanager
def _opened(store: Path) -> Iterator[sqlite3.Connection]:
    path = queue_file(store)
    place = f"{path.as_uri()}?mode={'ro' if is_read_only() else 'rwc'}"
    try:
        with closing(
            sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None)
        ) as table:
            table.row_factory = sqlite3.Row
            version = table.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA):
                raise StoreVersionError(
                    f"{path} has version {version}, but this program reads {SCHEMA}; use the"
                    " program that wrote it, or move the file away to begin anew"
                )
            yield table
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        raise _explained(path, error) from error


def _explained(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusyError(f"another process holds {path}; try again in a moment")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL):
        return StoreWriteError(
            f"{path} cannot be written ({error}); free space, change the rights of its folder, or"
            " choose another store with --store"
        )
    return StoreDamagedError(f"{path} does not hold a queue; move it away to begin anew ({error})")
