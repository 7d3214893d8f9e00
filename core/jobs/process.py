"""The process group of one job: its start, its end, and stopping it.

The command inherits a lock on the job's lock file, so that a later worker knows whether a command
still lives whose worker was killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from filelock import lock_descriptor

from core.errors import StoreBusyError
from core.jobs.devices import is_on_cluster, visible
from core.jobs.failures import explain
from core.jobs.job import Job, lock_file, note_file
from core.jobs.starting import CLUSTER_PROGRAM, PROGRAM, environment
from core.jobs.states import Outcome
from core.progress import JOB_NOTE
from core.store.schema import now

POLL = 0.05  # seconds
HELD = 1.0  # seconds for which whoever asks whether a command lives may hold its lock


@dataclass
class Running:
    """A job whose command runs. log_start: where in the log its output begins. kill_at: when it is
    killed, once it was asked to stop.
    """

    job: Job
    process: subprocess.Popen[bytes]
    log_start: int
    kill_at: float | None = None

    def stop(self, grace: float) -> None:
        """Ask the command to stop; one that still runs `grace` seconds later is killed."""
        if self.kill_at is None:
            self.kill_at = time.monotonic() + grace
            signal_group(self.process.pid, signal.SIGINT)
        elif time.monotonic() >= self.kill_at:
            signal_group(self.process.pid, signal.SIGKILL)

    def outcome(self) -> Outcome | None:
        """Return how the command ended, None while it runs; what is left of its group is killed."""
        code = self.process.poll()
        if code is None:
            return None
        signal_group(self.process.pid, signal.SIGKILL)
        if code == 0:
            return Outcome("done", code)
        if self.kill_at is not None:
            return Outcome("canceled", code)
        return Outcome("failed", code, explain(code, self._output(), self.job.log))

    def _output(self) -> str:
        try:
            with self.job.log.open("rb") as file:
                file.seek(self.log_start)
                return file.read().decode(errors="replace")
        except OSError:  # somebody removed the log
            return ""


def start(store: Path, job: Job) -> Running:
    """Start the command of a job in a process group of its own; raises OSError, and StoreBusyError
    where another process holds its lock.
    """
    note_file(store, job.id).unlink(missing_ok=True)
    own = {JOB_NOTE: str(note_file(store, job.id)), **visible(str(job.lane), job.device)}
    with job.log.open("ab") as log, lock_file(store, job.id).open("ab") as lock:
        _take(lock, number=job.id)
        log.write(f"{now()} {job.command}\n".encode(errors="replace"))
        log.flush()
        began = log.tell()
        process = subprocess.Popen(
            [*_program(job), *job.words],
            cwd=job.folder,
            env=environment(store) | own,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(lock.fileno(),),
        )
    return Running(job, process, began)


def _take(lock: BinaryIO, *, number: int) -> None:
    until = time.monotonic() + HELD
    while not lock_descriptor(lock.fileno(), blocking=False):
        if time.monotonic() >= until:
            raise StoreBusyError(
                f"job {number} cannot begin while another process holds {lock.name}; end that one"
            )
        time.sleep(POLL)


def _program(job: Job) -> tuple[str, ...]:
    return CLUSTER_PROGRAM if is_on_cluster(str(job.lane)) else PROGRAM


def is_alive(store: Path, number: int) -> bool:
    """Return whether a command lives that was started for this job."""
    try:
        with lock_file(store, number).open("rb") as file:
            return not lock_descriptor(file.fileno(), blocking=False)
    except FileNotFoundError:
        return False


def stop_orphan(store: Path, number: int, process: int, grace: float) -> None:
    """Stop the command of a job whose worker was killed, gently for `grace` seconds."""
    deadline = time.monotonic() + grace
    signal_group(process, signal.SIGINT)
    while is_alive(store, number):
        if time.monotonic() >= deadline:
            signal_group(process, signal.SIGKILL)
        time.sleep(POLL)


def signal_group(process: int, number: signal.Signals) -> None:
    """Send a signal to a process group; one that has ended is left alone."""
    with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of zombies
        os.killpg(process, number)
