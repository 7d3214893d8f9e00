"""The queue of a store: what pages and commands use, how a job passes from one state to another,
and how the store's worker starts.

queued ──► running ──► done | failed | canceled
queued ──► canceled
running ──► queued       its worker ended before it
failed | canceled ──► queued       retried

One job runs at a time. Every function takes a few milliseconds and may be called from any thread,
process or server.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Literal

from core.errors import InputError, StoreWriteError
from core.jobs.job import (
    IS_UNFINISHED,
    Job,
    create,
    job_of,
    jobs_folder,
    lock_file,
    log_file,
    note_file,
    rows,
    writing,
)
from core.settings import CHECKOUT, check_writable
from core.store import is_locked
from core.store.schema import now

KEPT = 200  # finished jobs that are remembered
HOST = socket.gethostname()
STARTING = 10.0  # seconds that a worker may take until it holds its lock
PROGRAM = (sys.executable, "-P", "-m", "core")  # -P: not the folder's own modules
LOG_END = 20_000  # characters of a log that are shown

_started: list[tuple[Path, subprocess.Popen[bytes], float]] = []  # workers, and when
_turn = Lock()


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
    create(store)
    key = (json.dumps(list(words)), str(Path(folder or Path.cwd()).absolute()))
    with writing(store) as table:
        same = f"SELECT id FROM jobs WHERE words = ? AND folder = ? AND {IS_UNFINISHED}"
        row = table.execute(same, key).fetchone()
        if row is None:
            _forget(store, table)
            row = table.execute(
                "INSERT INTO jobs (words, folder, owner, state, queued_at)"
                " VALUES (?, ?, ?, 'queued', ?) RETURNING id",
                (*key, owner, now()),
            ).fetchone()
    ensure_worker(store)
    return job(store, row["id"])


def jobs(store: Path) -> list[Job]:
    """Return all jobs, the latest first; finished ones are forgotten after some hundreds."""
    return [job_of(store, row) for row in reversed(rows(store, "TRUE"))]


def unfinished(store: Path) -> list[Job]:
    return [job_of(store, row) for row in reversed(rows(store, IS_UNFINISHED))]


def job(store: Path, number: int) -> Job:
    return job_of(store, _row(store, number))


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


def _forget(store: Path, table: sqlite3.Connection) -> None:
    old = f"SELECT id FROM jobs WHERE NOT {IS_UNFINISHED} ORDER BY id DESC LIMIT -1 OFFSET ?"
    for row in table.execute(old, (KEPT - 1,)).fetchall():
        table.execute("DELETE FROM jobs WHERE id = ?", (row["id"],))
        for file in (log_file, note_file, lock_file):
            with suppress(OSError):  # no number comes twice, so that what is left harms nothing
                file(store, row["id"]).unlink(missing_ok=True)
