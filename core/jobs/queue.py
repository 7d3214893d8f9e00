"""The queue of a store: its table and files, how a job passes from one state to another, and how
the store's worker starts.

STORE/jobs/queue.sqlite   the queue: one row per job
STORE/jobs/ID.log         what the command printed
STORE/jobs/ID.json        how far it is
STORE/jobs/ID.lock        locked for as long as the command lives

queued ──► running ──► done | failed | canceled
queued ──► canceled
running ──► queued       its worker ended before it
failed | canceled ──► queued       retried

One job runs at a time. Every function takes a few milliseconds and may be called from any thread,
process or server: each opens the SQLite file again. A write-ahead log pays only for connections
that stay open, and does not work over a network.
"""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Literal

from core.errors import (
    InputError,
    StoreBusyError,
    StoreDamagedError,
    StoreVersionError,
    StoreWriteError,
)
from core.progress import ProgressNote, read_note
from core.settings import CHECKOUT, check_writable, is_read_only
from core.store import is_locked
from core.store.schema import now

KEPT = 200  # finished jobs that are remembered
HOST = socket.gethostname()
STARTING = 10.0  # seconds that a worker may take until it holds its lock
PROGRAM = (sys.executable, "-P", "-m", "core")  # -P: not the folder's own modules
LOG_END = 20_000  # characters of a log that are shown

_started: list[tuple[Path, subprocess.Popen[bytes], float]] = []  # workers, and when
_turn = Lock()

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


def rows(store: Path, where: str, *values: object) -> list[sqlite3.Row]:
    """Return rows, the earliest job first; none without a queue. where: SQL of our own."""
    path = queue_file(store)
    if not path.exists() or path.stat().st_size == 0:  # one that is being made is empty
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


def _create(store: Path) -> None:
    """Make the queue of a store if it has none, or bring it to the present version."""
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


def _job_of(store: Path, row: sqlite3.Row) -> Job:
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


def submit(
    store: Path,
    words: Sequence[str],
    *,
    owner: str = "",
    folder: Path | None = None,
) -> Job:
    """Queue a command and see that a worker lives; return its job, or the unfinished one that is
    the same. Raise InputError without words, StoreError if the queue cannot be written.

    words: of the command, without `platoscope` and --store. owner: who queues it (the account of
    this process). folder: where it runs (the current one).
    """
    if not words or any("\0" in word for word in words):
        raise InputError(f"a job is the words of one platoscope command, not {words!r}")
    if not owner:
        owner = "unknown"
        with suppress(OSError, KeyError):  # an account without a name
            owner = getpass.getuser()
    _create(store)
    key = (json.dumps(list(words)), str(Path(folder or Path.cwd()).absolute()))
    with writing(store) as table:
        same = f"SELECT id FROM jobs WHERE words = ? AND folder = ? AND {IS_UNFINISHED}"
        row = table.execute(same, key).fetchone()
        if row is None:
            old = (
                f"SELECT id FROM jobs WHERE NOT {IS_UNFINISHED} ORDER BY id DESC LIMIT -1 OFFSET ?"
            )
            for forgotten in table.execute(old, (KEPT - 1,)).fetchall():
                table.execute("DELETE FROM jobs WHERE id = ?", (forgotten["id"],))
                for file in (log_file, note_file, lock_file):
                    with suppress(OSError):  # no number comes twice: what is left harms nothing
                        file(store, forgotten["id"]).unlink(missing_ok=True)
            row = table.execute(
                "INSERT INTO jobs (words, folder, owner, state, queued_at)"
                " VALUES (?, ?, ?, 'queued', ?) RETURNING id",
                (*key, owner, now()),
            ).fetchone()
    ensure_worker(store)
    return job(store, row["id"])


def jobs(store: Path) -> list[Job]:
    """Return all jobs, the latest first; finished ones are forgotten after some hundreds."""
    return [_job_of(store, row) for row in reversed(rows(store, "TRUE"))]


def unfinished(store: Path) -> list[Job]:
    return [_job_of(store, row) for row in reversed(rows(store, IS_UNFINISHED))]


def job(store: Path, number: int) -> Job:
    return _job_of(store, _row(store, number))


def cancel(store: Path, number: int) -> Job:
    """Cancel a queued job at once, a running one as soon as it has stopped."""
    _row(store, number)
    with writing(store) as table:
        table.execute(
            "UPDATE jobs SET state = 'canceled', ended_at = ? WHERE id = ? AND state = 'queued'",
            (now(), number),
        )
        table.execute(
            "UPDATE jobs SET is_stopping = 1 WHERE id = ? AND state = 'running'", (number,)
        )
    ensure_worker(store)
    return job(store, number)


def retry(store: Path, number: int) -> Job:
    """Queue a failed or canceled job again; raises InputError for one that is done."""
    ended = job(store, number)
    if ended.state == "done":
        raise InputError(f"job {number} is done; to run it again, add its command again")
    try:
        with writing(store) as table:
            table.execute(
                "UPDATE jobs SET state = 'queued', queued_at = ?, started_at = NULL,"
                " ended_at = NULL, exit_code = NULL, failure = '', is_stopping = 0"
                " WHERE id = ? AND state IN ('failed', 'canceled')",
                (now(), number),
            )
    except sqlite3.IntegrityError:  # the same command is queued or running
        return submit(store, ended.words, owner=ended.owner, folder=ended.folder)
    ensure_worker(store)
    return job(store, number)


def log_of(job: Job, characters: int = LOG_END) -> str:
    """Return the end of what a job's command has printed, whole lines of it."""
    try:
        with job.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - characters))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return text if size <= characters else text.partition("\n")[2]


def worker_lock(store: Path) -> Path:
    return jobs_folder(store) / "worker"


def has_worker(store: Path) -> bool:
    return is_locked(worker_lock(store))


def ensure_worker(store: Path) -> None:
    """Start a worker where jobs wait for one and none lives; raises StoreWriteError."""
    if not rows(store, IS_UNFINISHED) or has_worker(store):
        return
    store = Path(store).absolute()
    log = jobs_folder(store) / "worker.log"
    with _turn:
        _started[:] = [each for each in _started if each[1].poll() is None]
        if any(at == store and time.monotonic() - when < STARTING for at, _, when in _started):
            return
        check_writable(log)
        try:
            with log.open("ab") as file:
                worker = subprocess.Popen(
                    [*PROGRAM, "jobs", "work"],
                    cwd=CHECKOUT,
                    env=environment(store),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,  # it outlives the server and its terminal
                )
        except OSError as error:
            raise StoreWriteError(
                f"no worker can be started for {store} ({error.strerror}); start one by hand with"
                " `platoscope jobs work`"
            ) from error
        _started.append((store, worker, time.monotonic()))
        Thread(target=worker.wait, daemon=True).start()  # else its end would leave a zombie


def environment(store: Path) -> dict[str, str]:
    """Return the environment of a command over a store that runs in any folder."""
    paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PLATOSCOPE_STORE": str(store), "PYTHONPATH": os.pathsep.join(paths)}


@dataclass(frozen=True)
class Outcome:
    """How a command ended; failure: one sentence with the remedy, empty unless it failed."""

    state: Literal["done", "failed", "canceled"]
    exit_code: int | None
    failure: str = ""


def claim(store: Path) -> Job | None:
    """Take the first queued job, which runs from now on; None without one."""
    if not rows(store, "state = 'queued'"):
        return None  # without a turn at writing
    with writing(store) as table:
        row = table.execute(
            "UPDATE jobs SET state = 'running', started_at = ?, host = ?, process = NULL"
            " WHERE id = (SELECT id FROM jobs WHERE state = 'queued' ORDER BY queued_at, id"
            " LIMIT 1) AND NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'running') RETURNING id",
            (now(), HOST),
        ).fetchone()
    return job(store, row["id"]) if row else None


def sign(store: Path, number: int, process: int) -> None:
    """Note the process group that a job runs as."""
    with writing(store) as table:
        table.execute("UPDATE jobs SET process = ? WHERE id = ?", (process, number))


def process_of(store: Path, number: int) -> int | None:
    """Return the process group that a job runs as, None where it is not known here."""
    row = _row(store, number)
    return row["process"] if row["host"] == HOST else None


def end(store: Path, number: int, outcome: Outcome) -> None:
    with writing(store) as table:
        table.execute(
            "UPDATE jobs SET state = ?, ended_at = ?, exit_code = ?, failure = ?, is_stopping = 0"
            " WHERE id = ? AND state = 'running'",
            (outcome.state, now(), outcome.exit_code, outcome.failure, number),
        )


def hand_back(store: Path, number: int) -> None:
    """Queue a job again if its worker ended before it; a canceled job stays canceled."""
    with writing(store) as table:
        table.execute(
            "UPDATE jobs SET state = 'canceled', ended_at = ?, is_stopping = 0"
            " WHERE id = ? AND state = 'running' AND is_stopping",
            (now(), number),
        )
        table.execute(
            "UPDATE jobs SET state = 'queued', started_at = NULL"
            " WHERE id = ? AND state = 'running'",
            (number,),
        )


def _row(store: Path, number: int) -> sqlite3.Row:
    matching = rows(store, "id = ?", number)
    if not matching:
        raise InputError(f"no job has the number {number}; `platoscope jobs list` shows them all")
    return matching[0]
