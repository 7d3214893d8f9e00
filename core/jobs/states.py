"""How a job passes from one state to another, each time in one transaction.

queued ──► running ──► done | failed | canceled
queued ──► canceled
running ──► queued       its worker ended before it
failed | canceled ──► queued       retried
"""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Literal

from core.errors import InputError
from core.jobs.job import Job, lock_file, log_file, note_file
from core.jobs.table import IS_UNFINISHED, create, job_of, rows, writing
from core.store.schema import now

KEPT = 200  # finished jobs that are remembered
HOST = socket.gethostname()
Takes = Callable[[str], bool]  # whether a job of this device is taken


@dataclass(frozen=True)
class Outcome:
    """How a command ended; failure: one sentence with the remedy, empty unless it failed."""

    state: Literal["done", "failed", "canceled"]
    exit_code: int | None
    failure: str = ""


def find(store: Path, number: int) -> Job:
    """Return a job; raises InputError where there is none of this number."""
    return job_of(store, _row(store, number))


def add(store: Path, words: Sequence[str], *, folder: Path, device: str, owner: str) -> Job:
    """Queue a command, or return the unfinished job that is the same."""
    create(store)
    key = (json.dumps(words), str(folder))
    with writing(store) as table:
        same = f"SELECT id FROM jobs WHERE words = ? AND folder = ? AND {IS_UNFINISHED}"
        row = table.execute(same, key).fetchone()
        if row is None:
            _forget(store, table)
            row = table.execute(
                "INSERT INTO jobs (words, folder, device, owner, state, queued_at)"
                " VALUES (?, ?, ?, ?, 'queued', ?) RETURNING id",
                (*key, device, owner, now()),
            ).fetchone()
    return find(store, row["id"])


def cancel(store: Path, number: int) -> Job:
    """Cancel a queued job at once, and ask the worker to stop a running one; a finished one stays
    as it is.
    """
    _row(store, number)
    with writing(store) as table:
        table.execute(
            "UPDATE jobs SET state = 'canceled', ended_at = ? WHERE id = ? AND state = 'queued'",
            (now(), number),
        )
        table.execute(
            "UPDATE jobs SET is_stopping = 1 WHERE id = ? AND state = 'running'", (number,)
        )
    return find(store, number)


def retry(store: Path, number: int) -> Job:
    """Queue a failed or canceled job again, or return the unfinished job that is the same; raises
    InputError for a job that is done.
    """
    job = find(store, number)
    if job.state == "done":
        raise InputError(f"job {number} is done; to run it again, add its command anew")
    try:
        with writing(store) as table:
            table.execute(
                "UPDATE jobs SET state = 'queued', queued_at = ?, started_at = NULL,"
                " ended_at = NULL, lane = NULL, exit_code = NULL, failure = '', is_stopping = 0"
                " WHERE id = ? AND state IN ('failed', 'canceled')",
                (now(), number),
            )
    except sqlite3.IntegrityError:  # the same command is queued or running
        return add(store, job.words, folder=job.folder, device=job.device, owner=job.owner)
    return find(store, number)


def claim(store: Path, lane: str, takes: Takes) -> Job | None:
    """Take the first queued job that a lane takes, which runs from now on; None without one.

    Jobs of one command run beside each other; another command waits for all before it, since it
    may need what they make.
    """
    if not rows(store, "state = 'queued'"):
        return None  # without a turn at writing
    with writing(store) as table:
        numbers = [
            row["id"]
            for row in _next_of_one_command(table)
            if row["state"] == "queued" and takes(row["device"])
        ]
        if not numbers:
            return None
        table.execute(
            "UPDATE jobs SET state = 'running', started_at = ?, lane = ?, host = ?, process = NULL"
            " WHERE id = ?",
            (now(), lane, HOST, numbers[0]),
        )
    return find(store, numbers[0])


def _next_of_one_command(table: sqlite3.Connection) -> list[sqlite3.Row]:
    """Return the unfinished jobs from the earliest on that have its command."""
    every = f"SELECT * FROM jobs WHERE {IS_UNFINISHED} ORDER BY queued_at, id"
    unfinished = table.execute(every).fetchall()
    return list(takewhile(lambda row: _command(row) == _command(unfinished[0]), unfinished))


def _command(row: sqlite3.Row) -> str:
    return str(json.loads(row["words"])[0])


def sign(store: Path, number: int, process: int) -> None:
    """Note the process group that a job runs as."""
    with writing(store) as table:
        table.execute("UPDATE jobs SET process = ? WHERE id = ?", (process, number))


def process_of(store: Path, number: int) -> int | None:
    """Return the process group that a job runs as, None where it is on another machine or not
    known.
    """
    row = _row(store, number)
    return row["process"] if row["host"] == HOST else None


def end(store: Path, number: int, outcome: Outcome) -> None:
    """Keep how a running job ended."""
    with writing(store) as table:
        table.execute(
            "UPDATE jobs SET state = ?, ended_at = ?, exit_code = ?, failure = ?, is_stopping = 0"
            " WHERE id = ? AND state = 'running'",
            (outcome.state, now(), outcome.exit_code, outcome.failure, number),
        )


def hand_back(store: Path, number: int) -> None:
    """Queue a job again whose worker ended before it; a canceled one has ended with it."""
    with writing(store) as table:
        table.execute(
            "UPDATE jobs SET state = 'canceled', ended_at = ?, is_stopping = 0"
            " WHERE id = ? AND state = 'running' AND is_stopping",
            (now(), number),
        )
        table.execute(
            "UPDATE jobs SET state = 'queued', started_at = NULL, lane = NULL"
            " WHERE id = ? AND state = 'running'",
            (number,),
        )


def _row(store: Path, number: int) -> sqlite3.Row:
    matching = rows(store, "id = ?", number)
    if not matching:
        raise InputError(f"no job has the number {number}; `platoscope jobs list` shows them all")
    return matching[0]


def _forget(store: Path, table: sqlite3.Connection) -> None:
    """Remove finished jobs but the latest, and their files."""
    old = f"SELECT id FROM jobs WHERE NOT {IS_UNFINISHED} ORDER BY id DESC LIMIT -1 OFFSET ?"
    for row in table.execute(old, (KEPT - 1,)).fetchall():
        table.execute("DELETE FROM jobs WHERE id = ?", (row["id"],))
        for file in (log_file, note_file, lock_file):
            with suppress(OSError):  # no number comes twice, so that what is left harms nothing
                file(store, row["id"]).unlink(missing_ok=True)
