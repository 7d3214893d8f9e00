"""What a job is, where its files lie, and the queue's table.

STORE/jobs/queue.sqlite   the queue: one row per job
STORE/jobs/ID.log         what the command printed
STORE/jobs/ID.json        how far it is
STORE/jobs/ID.lock        locked for as long as the command lives

Each call opens the SQLite file again, so that threads, processes and servers may share it. It keeps
SQLite's own journal: a write-ahead log pays only for connections that stay open, and does not work
over a network.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreVersionError,
    StoreWriteError,
)
from core.progress import ProgressNote, read_note
from core.settings import check_writable, is_read_only

State = Literal["queued", "running", "done", "failed", "canceled"]
UNFINISHED = ("queued", "running")
IS_UNFINISHED = f"state IN {UNFINISHED}"
SCHEMA = 2
PATIENCE = 5.0  # seconds that one writer waits for another
TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    words TEXT NOT NULL,                      -- a list in JSON
    folder TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'canceled')),
    queued_at TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT,
    exit_code INTEGER,
    failure TEXT NOT NULL DEFAULT '',
    is_stopping INTEGER NOT NULL DEFAULT 0,
    host TEXT,                                -- the machine and process group it runs as
    process INTEGER
)"""
INDEX = f"""
CREATE UNIQUE INDEX IF NOT EXISTS unfinished ON jobs (words, folder) WHERE {IS_UNFINISHED}
"""


@dataclass(frozen=True)
class Job:
    """One `platoscope` command in the queue of a store.

    words: those of the command, without `platoscope`. folder: its paths are relative to it. owner:
    who queued it. Times are ISO 8601, UTC. failure: one sentence with the remedy, empty unless it
    failed. is_stopping: it runs, and was canceled. progress: of a running job, if it noted any.
    """

    id: int
    words: tuple[str, ...]
    folder: Path
    owner: str
    state: State
    queued_at: str
    started_at: str | None
    ended_at: str | None
    exit_code: int | None
    failure: str
    is_stopping: bool
    log: Path
    progress: ProgressNote | None

    @property
    def command(self) -> str:
        """Return the command as a person would type it."""
        return f"platoscope {shlex.join(self.words)}"

    @property
    def is_finished(self) -> bool:
        return self.state not in UNFINISHED


def jobs_folder(store: Path) -> Path:
    return Path(store).absolute() / "jobs"


def log_file(store: Path, number: int) -> Path:
    return jobs_folder(store) / f"{number}.log"


def note_file(store: Path, number: int) -> Path:
    return jobs_folder(store) / f"{number}.json"


def lock_file(store: Path, number: int) -> Path:
    return jobs_folder(store) / f"{number}.lock"


def queue_file(store: Path) -> Path:
    return jobs_folder(store) / "queue.sqlite"


def _is_there(store: Path) -> bool:
    path = queue_file(store)
    return path.exists() and path.stat().st_size > 0  # one that is being made is empty


def rows(store: Path, where: str, *values: object) -> list[sqlite3.Row]:
    """Return rows, the earliest job first; none without a queue. where: SQL of our own."""
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
    """Make the queue of a store if it has none, or bring it to the present version; raise
    StoreWriteError.
    """
    folder = jobs_folder(store)
    try:
        check_writable(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreWriteError(
            f"{folder} cannot be made ({error.strerror}); choose another store with --store, or"
            " change its rights"
        ) from error
    with _opened(store) as table:
        table.execute("BEGIN IMMEDIATE")
        if table.execute("PRAGMA user_version").fetchone()[0] == 1:
            table.execute("ALTER TABLE jobs DROP COLUMN device")
            table.execute("ALTER TABLE jobs DROP COLUMN lane")
        table.execute(TABLE)
        table.execute(INDEX)
        table.execute(f"PRAGMA user_version = {SCHEMA}")
        table.execute("COMMIT")


def job_of(store: Path, row: sqlite3.Row) -> Job:
    """Return the job of a row; the progress of a running one is read from its note."""
    own = ("id", "owner", "state", "queued_at", "started_at", "ended_at", "exit_code", "failure")
    return Job(
        **{name: row[name] for name in own},
        words=tuple(json.loads(row["words"])),
        folder=Path(row["folder"]),
        is_stopping=bool(row["is_stopping"]),
        log=log_file(store, row["id"]),
        progress=read_note(note_file(store, row["id"])) if row["state"] == "running" else None,
    )


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
            if version > SCHEMA:
                raise StoreVersionError(
                    f"{path} has version {version}, but this program reads {SCHEMA}; use the"
                    " program that wrote it, or move the file away to begin again"
                )
            yield table
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreBusyError(f"another process holds {path}; try again in a moment") from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL):
            raise StoreWriteError(
                f"{path} cannot be written ({error}); free space, change the rights of its folder,"
                " or choose another store with --store"
            ) from error
        raise StoreDamagedError(
            f"{path} does not hold a queue; move it away to begin again ({error})"
        ) from error
