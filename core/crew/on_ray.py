"""Units of work as tasks of Ray, which finds each a place and starts it again if its worker is
lost.

`ray` starts Ray on this machine and ends it with the command; `ray://HEAD:10001` joins a cluster
whose machines have Platoscope, the store and the files that a command names at the same paths.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

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

from core.crew.units import RETRIES, Began, Unit, ignore
from core.errors import ClusterError, PlatoscopeError
from core.progress import NOTED_EVERY, Progress
from core.settings import CHECKOUT, WORKERS

R = TypeVar("R")

OBJECTS = 100_000_000  # bytes of memory for what units return: tables and paths
SHORT = "/tmp"  # where Ray's sockets go, whose paths may have 107 characters
# to the machines of a cluster
TAKEN_ALONG = ("HF_ENDPOINT", "HF_HUB_OFFLINE", WORKERS)
LOST = (WorkerCrashedError, NodeDiedError, OutOfMemoryError)
POLL = 0.2  # seconds
MEASURING = 120.0  # seconds for every node to look at its GPU, a first import of torch included
NAMED = 2  # units at work, of which more are only counted
PARTS = (1 / 8, 1 / 4, 1 / 2, 1.0)  # of a GPU
BESIDES = 1.25  # times the weights: a batch in flight
CONTEXT = 2 * 2**30  # bytes of a GPU that each process takes for itself, with a small batch


class Node(NamedTuple):
    """One machine. name: that Ray gave it. memory: bytes that may be asked for."""

    name: str
    cpus: float
    gpus: float
    memory: float


class Stage(NamedTuple):
    """How far a unit is: `done` of `total`, of what."""

    done: int
    total: int
    what: str


@contextmanager
def open_ray(address: str, *, device: str) -> Iterator[OnRay]:
    """Join the cluster at an address, or start Ray on this machine if that is "", and leave it at
    the end. Raises ClusterError if Ray does not answer or has no such device.
    """
    if device.startswith("cuda:"):
        raise ClusterError(
            f"--device {device} names a device of one machine, but Ray chooses among those it has;"
            " use --device cuda"
        )
    with ExitStack() as leaving:
        if not ray.is_initialized():
            _join(address, leaving) if address else _start(leaving)
            # prints to stdout how often a unit will be begun again, among results
            ray._private.worker._worker_logs_enabled = False
        resources = {one["NodeID"]: one["Resources"] for one in ray.nodes() if one["Alive"]}
        nodes = [
            Node(name, *(held.get(kind, 0.0) for kind in ("CPU", "GPU", "memory")))
            for name, held in resources.items()
        ]
        able = [node for node in nodes if node.cpus >= 1]
        with_gpus = [node for node in able if node.gpus >= 1]
        if device == "cuda" and not with_gpus:
            raise ClusterError("--device cuda needs a GPU, and Ray has none; use --device auto")
        if not able:
            raise ClusterError("no machine of the cluster has a core for work; add one to it")
        on_gpus = bool(with_gpus) and device in ("auto", "cuda")
        yield OnRay(with_gpus if on_gpus else able, on_gpus)


def _start(leaving: ExitStack) -> None:
    short = SHORT if os.path.isdir(SHORT) else None
    folder = tempfile.TemporaryDirectory(prefix="ray-", dir=short, ignore_cleanup_errors=True)
    leaving.enter_context(folder)
    leaving.callback(ray.shutdown)  # before the folder goes
    try:
        ray.init(
            address="local",
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            object_store_memory=OBJECTS,
            _temp_dir=folder.name,
        )
    except (RuntimeError, ConnectionError, TimeoutError) as error:
        raise ClusterError(
            f"Ray does not start on this machine ({first_line(error)}); leave --on out"
        ) from error


def _join(address: str, leaving: ExitStack) -> None:
    leaving.callback(ray.shutdown)
    paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    along = {name: os.environ[name] for name in TAKEN_ALONG if name in os.environ}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # says less than the error below
            ray.init(
                address,
                log_to_driver=False,
                configure_logging=False,
                runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(paths), **along}},
            )
    except (RuntimeError, ConnectionError, ValueError, RayError) as error:
        # the head's traceback may stand before the last line
        reason = str(error).strip().rpartition("\n")[2] or type(error).__name__
        raise ClusterError(
            f"no Ray cluster of this version answers at {address} ({reason}); give --on"
            " the address of its head, ray://HEAD:10001, and set RAY_AUTH_MODE=token if it asks"
            " for Ray's token"
        ) from error


@dataclass(frozen=True)
class OnRay:
    """Ray's workers. nodes: where they run, all with GPUs or all without."""

    nodes: Sequence[Node]
    on_gpus: bool
    alone = False

    def run(
        self, units: Sequence[Unit[R]], *, report: Progress | None = None, began: Began[R] = ignore
    ) -> Iterator[tuple[Unit[R], R | PlatoscopeError]]:
        if not units:
            return
        notes = Queue(actor_options={"num_cpus": 0, "max_restarts": -1})
        calls, task, home = dict[Any, int](), ray.remote(_do), os.getcwd()
        following = Following(units, calls, notes, report, began)
        try:
            for number, (unit, need) in enumerate(zip(units, self._needs(units), strict=True)):
                begun = task.options(max_retries=RETRIES, **need)
                calls[begun.remote(unit.work, home, number, notes)] = number
            for number, unit in enumerate(units):
                yield unit, following.wait_for(number)
        except ConnectionError as error:
            raise ClusterError(
                f"Ray does not answer any more ({first_line(error)}); what is finished is kept,"
                " the same command continues"
            ) from error
        finally:
            with suppress(RayError, ConnectionError):
                for call in calls:
                    ray.cancel(call, force=True)
                notes.shutdown(force=True)

    def _needs(self, units: Sequence[Unit[R]]) -> list[dict[str, Any]]:
        weights = list[int | None]()
        for unit in units:
            try:
                weights.append(unit.weights())
            except PlatoscopeError:  # the unit will say why
                weights.append(None)
        if not self.on_gpus:
            return [needs_on_cpus(len(units), one, self.nodes) for one in weights]
        size = smallest_gpu(self.nodes)
        return [needs_on_gpus(one, self.nodes, gpu_bytes=size) for one in weights]


def needs_on_cpus(units: int, weights: int | None, nodes: Sequence[Node]) -> dict[str, Any]:
    """Return what Ray is asked for: as many cores as a unit gets if all run at once, and room for
    the weights. No more than some node has, else the unit would wait forever.
    """
    each = math.ceil(units / len(nodes))
    needs: dict[str, Any] = {"num_cpus": max(1, int(min(node.cpus for node in nodes)) // each)}
    if weights:
        needs["memory"] = int(min(BESIDES * weights, max(node.memory for node in nodes)))
    return needs


def needs_on_gpus(
    weights: int | None, nodes: Sequence[Node], *, gpu_bytes: float
) -> dict[str, Any]:
    """Return what Ray is asked for: a part of a GPU, or several if one is too small, and that share
    of a node's cores.

    weights: one GPU if they are unknown. gpu_bytes: of the smallest GPU. What no node holds gets
    all GPUs of the largest one, and spills from there.
    """
    most = max(node.gpus for node in nodes)
    share = 1.0 if weights is None else (BESIDES * weights + CONTEXT) / gpu_bytes
    gpus = min(next((part for part in PARTS if part >= share), float(math.ceil(share))), most)
    cpus = min(node.cpus / node.gpus for node in nodes if node.gpus >= gpus) * gpus
    return {"num_gpus": gpus, "num_cpus": max(1, int(cpus))}


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
        return float(min(ray.get(sizes, timeout=MEASURING)))
    except RayError as error:
        raise ClusterError(
            f"a node of the cluster cannot tell the size of its GPU ({first_line(error)}); every"
            " node with GPUs needs Platoscope, and torch for CUDA"
        ) from error


def _measure_gpu() -> int:
    import torch  # in a worker alone

    return int(torch.cuda.get_device_properties(0).total_memory)


class Following(Generic[R]):
    """Units that run on Ray, and what has become of them. calls: the number of the unit of each
    task that has not ended.
    """

    def __init__(
        self,
        units: Sequence[Unit[R]],
        calls: dict[Any, int],
        notes: Queue,
        report: Progress | None,
        began: Began[R],
    ) -> None:
        self._units, self._calls, self._notes = units, calls, notes
        self._began, self._begun = began, set[int]()
        self._ended: dict[int, R | PlatoscopeError] = {}
        self._progress = MergedProgress(report, len(units))

    def wait_for(self, number: int) -> R | PlatoscopeError:
        """Return what a unit returned, or its error, once it has ended."""
        while number not in self._ended:
            done, _ = ray.wait(list(self._calls), timeout=POLL)
            with suppress(RayError):  # progress is worth no failure
                for noted, stage in self._notes.get_nowait_batch(self._notes.qsize()):
                    if stage is None:
                        self._begin(noted)
                    elif noted in self._calls.values():
                        self._progress.stages[noted] = stage
            for call in done:
                ended = self._calls.pop(call)
                self._ended[ended] = self._outcome(call, self._units[ended])
                self._progress.end(ended)
                self._begin(ended)  # its note may still be on the way
            self._progress.show()
        return self._ended.pop(number)

    def _begin(self, number: int) -> None:
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


class MergedProgress:
    """The sum of the stages in which units are, and the names of what runs: the stages to come are
    unknown. count: of units.
    """

    def __init__(self, report: Progress | None, count: int) -> None:
        self._report, self._count, self._ended = report, count, 0
        self.stages: dict[int, Stage] = {}
        self._shown: Stage | None = None

    def end(self, unit: int) -> None:
        self.stages.pop(unit, None)
        self._ended += 1

    def show(self) -> None:
        """Report what is new."""
        stages, stage = list(self.stages.values()), None
        if self._ended == self._count:
            stage = Stage(self._count, self._count, "all done")
        elif stages:
            now = " + ".join(one.what for one in stages[:NAMED])
            more = f" + {len(stages) - NAMED} more" if len(stages) > NAMED else ""
            stage = Stage(
                sum(one.done for one in stages),
                sum(one.total for one in stages),
                f"{self._ended} of {self._count} done; now {now}{more}",
            )
        if self._report and stage and stage != self._shown:
            self._shown = stage
            self._report(*stage)


def first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _do(
    work: Callable[[Progress | None], R], home: str, number: int, notes: Queue
) -> tuple[R | None, str]:
    """Do a unit in a worker; return what it returns and "", or why it failed. home: the folder in
    which the command was typed, from which its paths lead.
    """
    last, noted = "", 0.0

    def note(stage: Stage | None) -> None:
        # not waited for: Ray would give this core to another unit meanwhile
        notes.actor.put_nowait.remote((number, stage))

    def report(done: int, total: int, what: str) -> None:
        nonlocal last, noted
        now = time.monotonic()
        if what != last or done >= total or now - noted >= NOTED_EVERY:
            last, noted = what, now
            note(Stage(done, total, what))

    note(None)
    try:
        try:
            os.chdir(home)
        except OSError as error:
            raise ClusterError(
                f"{os.uname().nodename} has no folder {home}; every machine of the cluster needs"
                " the folder in which the command is typed, at the same path"
            ) from error
        return work(report), ""
    except PlatoscopeError as error:
        return None, str(error)
