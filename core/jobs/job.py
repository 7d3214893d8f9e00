"""What a job is, and where its files lie.

STORE/jobs/queue.sqlite   the queue
STORE/jobs/ID.log         what the command printed
STORE/jobs/ID.json        how far it is
STORE/jobs/ID.lock        locked for as long as the command lives
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.progress import ProgressNote

State = Literal["queued", "running", "done", "failed", "canceled"]
UNFINISHED = ("queued", "running")


@dataclass(frozen=True)
class Job:
    """One `platoscope` command in the queue of a store.

    words: those of the command, without `platoscope`. folder: where it runs, to which its paths are
    relative. device: what the words name, else `auto`. lane: the device whose turn it takes or
    took. owner: who queued it. Times are ISO 8601, UTC. failure: one sentence with the remedy,
    empty unless it failed. is_stopping: it runs, and was canceled. progress: of a running job,
    where it noted any.
    """

    id: int
    words: tuple[str, ...]
    folder: Path
    device: str
    owner: str
    state: State
    queued_at: str
    started_at: str | None
    ended_at: str | None
    lane: str | None
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
        """Return whether it is done, failed or canceled."""
        return self.state not in UNFINISHED


def blockers(job: Job, jobs: Iterable[Job]) -> list[int]:
    """Return the numbers of what a queued job waits for: unfinished jobs of another command that
    were queued before it; where there are none, the running jobs, one of which has its device.
    """
    others = sorted((one for one in jobs if not one.is_finished), key=lambda one: one.id)
    turn = (job.queued_at, job.id)
    before = [one for one in others if (one.queued_at, one.id) < turn]
    other = [one for one in before if one.words[0] != job.words[0]]
    return [one.id for one in other or others if other or one.state == "running"]


def jobs_folder(store: Path) -> Path:
    """Return where the jobs of a store lie."""
    return Path(store).absolute() / "jobs"


def log_file(store: Path, number: int) -> Path:
    """Return the file of what a job printed."""
    return jobs_folder(store) / f"{number}.log"


def note_file(store: Path, number: int) -> Path:
    """Return the file of how far a job is."""
    return jobs_folder(store) / f"{number}.json"


def lock_file(store: Path, number: int) -> Path:
    """Return the file that is locked for as long as a job's command lives."""
    return jobs_folder(store) / f"{number}.lock"
