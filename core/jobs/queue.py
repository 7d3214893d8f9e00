"""The queue of a store: what pages and commands use.

Every function takes a few milliseconds and may be called from any thread, process or server.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from pathlib import Path

from core.errors import InputError
from core.jobs import states
from core.jobs.job import IS_UNFINISHED, Job, job_of, rows
from core.jobs.states import ensure_worker, named_device

LOG_END = 20_000  # characters of a log that are shown


def submit(
    store: Path, words: Sequence[str], *, owner: str = "", folder: Path | None = None
) -> Job:
    """Queue a command and see that a worker lives; return its job, or the unfinished one that is
    the same.

    words: those of the command, without `platoscope` and --store. owner: who queues it (the account
    of this process). folder: where it runs (the current one).

    Raises InputError without words, StoreError where the queue cannot be written.
    """
    if not words or any("\0" in word for word in words):
        raise InputError(f"a job is the words of one platoscope command, not {words!r}")
    job = states.add(
        store,
        list(words),
        folder=Path(folder or Path.cwd()).absolute(),
        device=named_device(words),
        owner=owner or _account(),
    )
    ensure_worker(store)
    return job


def jobs(store: Path) -> list[Job]:
    """Return all jobs, the latest first; finished ones are forgotten after some hundreds."""
    return [job_of(store, row) for row in reversed(rows(store, "TRUE"))]


def unfinished(store: Path) -> list[Job]:
    return [job_of(store, row) for row in reversed(rows(store, IS_UNFINISHED))]


def job(store: Path, number: int) -> Job:
    return states.find(store, number)


def cancel(store: Path, number: int) -> Job:
    """Cancel a queued job at once, a running one as soon as it has stopped."""
    canceled = states.cancel(store, number)
    ensure_worker(store)
    return canceled


def retry(store: Path, number: int) -> Job:
    queued = states.retry(store, number)
    ensure_worker(store)
    return queued


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


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name
        return "unknown"
