"""The worker of a store: runs its jobs, one at a time on each device.

One lives per store, which its lock says. Commands are resumable, so a job whose worker was killed
is simply run again by the next one.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from core.errors import StoreBusyError, StoreError
from core.jobs import states
from core.jobs.devices import find_lanes, takes
from core.jobs.process import Running, is_alive, start, stop_orphan
from core.jobs.starting import worker_lock
from core.jobs.states import Outcome
from core.jobs.table import queue_file, rows
from core.store import locked

POLL = 0.2  # seconds between two looks at the queue
IDLE = 60.0  # seconds without work after which a worker ends
GRACE = 10.0  # seconds that a command has to stop by itself
HANDOVER = 1.0  # seconds that a worker waits for the lock of one that is just ending


def work(store: Path, *, idle: float = IDLE, grace: float = GRACE) -> None:
    """Run the jobs of a store until none was there for `idle` seconds; raises StoreBusyError where
    another worker lives.

    grace: seconds that a canceled command has to stop by itself before it is killed.
    """
    while queue_file(store).exists():
        with locked(worker_lock(store), patience=HANDOVER):
            Worker(store, grace).run(idle)
        if not rows(store, "state = 'queued'"):  # those that came while the lock was still held
            return


class Worker:
    """What runs on each lane of this machine, or of its cluster."""

    def __init__(self, store: Path, grace: float) -> None:
        self._store, self._grace, self._lanes = store, grace, find_lanes()
        self._running: dict[str, Running] = {}

    def run(self, idle: float) -> None:
        """Run jobs until none was there for `idle` seconds; those of a worker that is stopped are
        queued again. While the queue cannot be used, they wait, and stderr says why.
        """
        end, trouble = time.monotonic() + idle, ""
        try:
            while queue_file(self._store).exists() and time.monotonic() <= end:
                before, trouble = trouble, self._try()
                if trouble not in ("", before):
                    print(f"platoscope: jobs wait and are tried again: {trouble}", file=sys.stderr)
                time.sleep(POLL)
                if self._running:
                    end = time.monotonic() + idle
        finally:
            self._leave()

    def _try(self) -> str:
        """Look at the queue; return what is in the way, such as a disk that is full, else ""."""
        try:
            self._look()
        except StoreError as error:
            return str(error)
        return ""

    def _look(self) -> None:
        self._take_over()
        for lane in self._lanes:
            self._step(lane)

    def _take_over(self) -> None:
        """Queue again what a killed worker ran; a command that outlived it is stopped first, and
        left alone on another machine.
        """
        own = {running.job.id for running in self._running.values()}
        for number in {row["id"] for row in rows(self._store, "state = 'running'")} - own:
            process = states.process_of(self._store, number)
            if is_alive(self._store, number) and process:
                stop_orphan(self._store, number, process, self._grace)
            if not is_alive(self._store, number):
                states.hand_back(self._store, number)

    def _step(self, lane: str) -> None:
        running = self._running.get(lane)
        if running is None:
            self._begin(lane)
        elif outcome := running.outcome():
            states.end(self._store, running.job.id, outcome)
            del self._running[lane]
        elif states.find(self._store, running.job.id).is_stopping:
            running.stop(self._grace)

    def _begin(self, lane: str) -> None:
        job = states.claim(self._store, lane, partial(takes, lane, lanes=self._lanes))
        if job is None:
            return
        try:
            running = self._running[lane] = start(self._store, job)
        except StoreBusyError:
            states.hand_back(self._store, job.id)
            raise
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", error)
            failure = f"it cannot be started in {job.folder} ({why}); add it again"
            states.end(self._store, job.id, Outcome("failed", None, failure))
            return
        states.sign(self._store, job.id, running.process.pid)

    def _leave(self) -> None:
        """Stop what still runs and queue it again."""
        for running in self._running.values():
            running.stop(self._grace)
        outcomes = {running.job.id: self._await(running) for running in self._running.values()}
        for number, outcome in outcomes.items():
            with suppress(StoreError):  # the next worker finds that it ran
                if outcome.state == "done":
                    states.end(self._store, number, outcome)
                else:
                    states.hand_back(self._store, number)

    def _await(self, running: Running) -> Outcome:
        while (outcome := running.outcome()) is None:
            running.stop(self._grace)
            time.sleep(POLL)
        return outcome
