"""Units as tasks of Ray, from their beginning to what they return or fail with."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import ray
from ray.exceptions import (
    NodeDiedError,
    OutOfMemoryError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)
from ray.util.queue import Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from core.crew.crew import Began
from core.crew.merging import MergedProgress, Stage
from core.crew.needs import Node
from core.crew.units import RETRIES, Unit
from core.errors import ClusterError, PlatoscopeError
from core.progress import NOTED_EVERY, Progress

R = TypeVar("R")
Work = Callable[[Progress | None], R]
LOST = (WorkerCrashedError, NodeDiedError, OutOfMemoryError)

POLL = 0.2  # seconds
PATIENCE = 120.0  # seconds for every node to look at its GPU, a first import of torch included


class Following(Generic[R]):
    """Units that run on Ray, and what has become of them."""

    def __init__(
        self, units: Sequence[Unit[R]], notes: Queue, progress: MergedProgress, began: Began[R]
    ) -> None:
        self._units, self._notes, self._progress, self._began = units, notes, progress, began
        self._home = os.getcwd()
        self._begun, self._calls = set[int](), dict[Any, int]()
        self._ended: dict[int, R | PlatoscopeError] = {}

    def begin(self, needs: Sequence[dict[str, Any]]) -> None:
        """Hand every unit to Ray, with what it needs of a machine."""
        task = ray.remote(_do)
        for number, (unit, need) in enumerate(zip(self._units, needs, strict=True)):
            begun = task.options(max_retries=RETRIES, **need)
            self._calls[begun.remote(unit.work, self._home, number, self._notes)] = number

    def wait_for(self, number: int) -> R | PlatoscopeError:
        """Return what a unit returned, or its error, once it has ended."""
        while number not in self._ended:
            done, _ = ray.wait(list(self._calls), timeout=POLL)
            self._take_notes()
            for call in done:
                ended = self._calls.pop(call)
                self._ended[ended] = self._outcome(call, self._units[ended])
                self._progress.end(ended)
                self._tell(ended)  # its note may still be on the way
            self._progress.show()
        return self._ended.pop(number)

    def stop(self) -> None:
        """Stop what still runs."""
        with suppress(RayError, ConnectionError):
            for call in self._calls:
                ray.cancel(call, force=True)
            self._notes.shutdown(force=True)

    def _take_notes(self) -> None:
        with suppress(RayError):  # progress is worth no failure
            for number, stage in self._notes.get_nowait_batch(self._notes.qsize()):
                if stage is None:
                    self._tell(number)
                elif number in self._calls.values():
                    self._progress.note(number, stage)

    def _tell(self, number: int) -> None:
        """Say that a unit has begun, once."""
        if number not in self._begun:
            self._begun.add(number)
            self._began(self._units[number])

    def _outcome(self, call: Any, unit: Unit[R]) -> R | PlatoscopeError:
        try:
            value, failure = ray.get(call)
        except RayTaskError:  # a fault in the program: its traceback is wanted
            raise
        except RayError as error:
            lost = isinstance(error, LOST)
            what = f"its worker was lost {RETRIES + 1} times" if lost else "Ray could not do it"
            return ClusterError(
                f"{unit.name}: {what} ({first_line(error)}); what is finished is kept, the same"
                " command continues"
            )
        return PlatoscopeError(failure) if failure else value


def smallest_gpu(nodes: Sequence[Node]) -> float:
    """Return the bytes of the smallest GPU of these nodes."""
    task = ray.remote(_measure_gpu)
    sizes = [
        task.options(
            num_cpus=0,
            num_gpus=0.01,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.name, soft=False),
        ).remote()
        for node in nodes
    ]
    try:
        return float(min(ray.get(sizes, timeout=PATIENCE)))
    except RayError as error:
        raise ClusterError(
            f"a node of the cluster cannot tell the size of its GPU ({first_line(error)}); every"
            " node with GPUs needs Platoscope, and torch for CUDA"
        ) from error


def first_line(error: Exception) -> str:
    """Return what an error says first."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _measure_gpu() -> int:
    import torch  # in a worker alone

    return int(torch.cuda.get_device_properties(0).total_memory)


def _do(work: Work[R], home: str, number: int, notes: Queue) -> tuple[R | None, str]:
    """Do a unit in a worker; return what it returns and "", or why it failed. home: the folder in
    which the command was typed, from which its paths lead.
    """
    report = _Noting(number, notes)
    report.note(None)
    try:
        _enter(home)
        return work(report), ""
    except PlatoscopeError as error:
        return None, str(error)


def _enter(home: str) -> None:
    try:
        os.chdir(home)
    except OSError as error:
        raise ClusterError(
            f"{os.uname().nodename} has no folder {home}; every machine of the cluster needs the"
            " folder in which the command is typed, at the same path"
        ) from error


class _Noting:
    """Sends a unit's progress home, a few times a second."""

    def __init__(self, number: int, notes: Queue) -> None:
        self._number, self._notes = number, notes
        self._what, self._noted = "", 0.0

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if what != self._what or done >= total or now - self._noted >= NOTED_EVERY:
            self._what, self._noted = what, now
            self.note(Stage(done, total, what))

    def note(self, stage: Stage | None) -> None:
        # not waited for: Ray gives the core of whoever waits to another unit meanwhile
        self._notes.actor.put_nowait.remote((self._number, stage))
