"""The worker of a store, one for each: runs its jobs one after the other.

Commands are resumable: the next worker runs the job of a killed worker again. Each command
runs in a process group of its own and inherits a lock on the job's lock file, so that a later
worker knows whether it still lives.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor

from core.errors import MISTAKE, UNEXPECTED, StoreBusyError, StoreError
from core.jobs import queue
from core.jobs.queue import (
    PROGRAM,
    Job,
    Outcome,
    environment,
    lock_file,
    note_file,
    queue_file,
    rows,
    worker_lock,
)
from core.progress import JOB_NOTE
from core.store import locked
from core.store.schema import now

POLL = 0.05  # seconds
HELD = 1.0  # seconds that another process may hold a job's lock to ask whether its command lives
LOOK_EVERY = 0.2  # seconds between two looks at the queue
IDLE = 60.0  # seconds without work after which a worker ends
GRACE = 10.0  # seconds until a command that does not stop is killed
HANDOVER = 1.0  # seconds that a worker waits for the lock of one that is just ending
_SAID = re.compile(r"^platoscope(?: [a-z-]+)*: (?:error: )?(.+)$", re.MULTILINE)


def explain(code: int, output: str, log: Path) -> str:
    """Return why a command failed: what it said itself, or where to look.

    code: its exit code, below 0 the signal that ended it. output: what it printed.
    """
    said = list(dict.fromkeys(_SAID.findall(output)))
    if code == MISTAKE and said:
        return "; ".join(said)
    if code == UNEXPECTED and said:
        return f"{said[-1]}; retry continues where it stopped"
    if code == -signal.SIGKILL:
        return (
            "it was killed, as happens if memory runs out; free some or choose a smaller"
            " --batch-size, then retry: what is finished is kept"
        )
    names = {each.value: each.name for each in signal.Signals}  # those of real time have none
    how = f"signal {names.get(-code, -code)}" if code < 0 else f"exit code {code}"
    return f"it failed unexpectedly ({how}); retry continues where it stopped, and {log} says more"


def is_alive(store: Path, number: int) -> bool:
    try:
        with lock_file(store, number).open("rb") as file:
            return not lock_descriptor(file.fileno(), blocking=False)
    except FileNotFoundError:
        return False


def signal_group(process: int, number: signal.Signals) -> None:
    """Send a signal to a process group; one that has ended is left alone."""
    with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of zombies
        os.killpg(process, number)


def work(store: Path, *, idle: float = IDLE, grace: float = GRACE) -> None:
    """Run the jobs of a store until there was none for `idle` seconds; raise StoreBusyError if
    another worker lives. grace: seconds until a canceled command is killed.
    """
    while queue_file(store).exists():
        with locked(worker_lock(store), patience=HANDOVER):
            Worker(store, grace).run(idle)
        if not rows(store, "state = 'queued'"):  # those that came while the lock was still held
            return


class Worker:
    """Runs the jobs of a store, one at a time: `_job` as `_process`, whose log begins at
    `_log_start`. _kill_at: when it is killed after it was asked to stop.
    """

    def __init__(self, store: Path, grace: float) -> None:
        self._store, self._grace = store, grace
        self._job: Job | None = None
        self._process: subprocess.Popen[bytes]
        self._log_start = 0
        self._kill_at: float | None = None

    def run(self, idle: float) -> None:
        """Run jobs until there was none for `idle` seconds; the job of a worker that is stopped is
        queued again. While the queue cannot be used, as on a full disk, jobs wait, and stderr says
        why.
        """
        end, trouble = time.monotonic() + idle, ""
        try:
            while queue_file(self._store).exists() and time.monotonic() <= end:
                before, trouble = trouble, ""
                try:
                    self._look()
                except StoreError as error:
                    trouble = str(error)
                if trouble not in ("", before):
                    print(f"platoscope: jobs wait and are retried: {trouble}", file=sys.stderr)
                time.sleep(LOOK_EVERY)
                if self._job:
                    end = time.monotonic() + idle
        finally:
            if self._job:
                self._leave(self._job)

    def _look(self) -> None:
        if job := self._job:
            if outcome := self._outcome(job):
                queue.end(self._store, job.id, outcome)
                self._job = None
            elif queue.job(self._store, job.id).is_stopping:
                self._stop()
            return
        for row in rows(self._store, "state = 'running'"):
            self._take_over(row["id"])
        if job := queue.claim(self._store):
            self._begin(job)

    def _take_over(self, number: int) -> None:
        process = queue.process_of(self._store, number)
        if process and is_alive(self._store, number):
            deadline = time.monotonic() + self._grace
            signal_group(process, signal.SIGINT)
            while is_alive(self._store, number):
                if time.monotonic() >= deadline:
                    signal_group(process, signal.SIGKILL)
                time.sleep(POLL)
        if not is_alive(self._store, number):
            queue.hand_back(self._store, number)

    def _begin(self, job: Job) -> None:
        try:
            self._start(job)
        except StoreBusyError:
            queue.hand_back(self._store, job.id)
            raise
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", error)
            failure = f"it cannot be started in {job.folder} ({why}); add it again"
            queue.end(self._store, job.id, Outcome("failed", None, failure))
            return
        self._job, self._kill_at = job, None
        queue.sign(self._store, job.id, self._process.pid)

    def _start(self, job: Job) -> None:
        note, lock_path = note_file(self._store, job.id), lock_file(self._store, job.id)
        note.unlink(missing_ok=True)
        with job.log.open("ab") as log, lock_path.open("ab") as lock:
            until = time.monotonic() + HELD
            while not lock_descriptor(lock.fileno(), blocking=False):
                if time.monotonic() >= until:
                    raise StoreBusyError(
                        f"job {job.id} cannot begin while another process holds {lock.name}; end"
                        " that one"
                    )
                time.sleep(POLL)
            log.write(f"{now()} {job.command}\n".encode(errors="replace"))
            log.flush()
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*PROGRAM, *job.words],
                cwd=job.folder,
                env=environment(self._store) | {JOB_NOTE: str(note)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock.fileno(),),
            )

    def _stop(self) -> None:
        """Ask the command to stop; kill it if it still runs after the grace."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace
            signal_group(self._process.pid, signal.SIGINT)
        elif time.monotonic() >= self._kill_at:
            signal_group(self._process.pid, signal.SIGKILL)

    def _outcome(self, job: Job) -> Outcome | None:
        """Return how the command ended, None while it runs; kill what is left of its group."""
        code = self._process.poll()
        if code is None:
            return None
        signal_group(self._process.pid, signal.SIGKILL)
        if code == 0:
            return Outcome("done", code)
        if self._kill_at is not None:
            return Outcome("canceled", code)
        output = ""
        with suppress(OSError), job.log.open("rb") as file:  # the log was removed
            file.seek(self._log_start)
            output = file.read().decode(errors="replace")
        return Outcome("failed", code, explain(code, output, job.log))

    def _leave(self, job: Job) -> None:
        while (outcome := self._outcome(job)) is None:
            self._stop()
            time.sleep(LOOK_EVERY)
        with suppress(StoreError):  # the next worker finds that it ran
            if outcome.state == "done":
                queue.end(self._store, job.id, outcome)
            else:
                queue.hand_back(self._store, job.id)
