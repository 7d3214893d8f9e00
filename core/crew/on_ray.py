"""Units of work as tasks of Ray, which starts a unit again if its worker is lost.

`ray` starts Ray on this machine and ends it with the command; `HEAD:6379` uses the cluster that
this machine is part of, whose machines have Platoscope, the store and the files that a command
names at the same paths.
"""

from __future__ import annotations

import math
import os
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import ray
from ray.exceptions import (
    NodeDiedError,
    OutOfMemoryError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)

from core.crew.units import RETRIES, Began, Unit, ignore
from core.errors import ClusterError, PlatoscopeError
from core.progress import Progress
from core.settings import CHECKOUT, WORKERS

R = TypeVar("R")

OBJECTS = 100_000_000  # bytes of memory for what units return: tables and paths
SHORT = "/tmp"  # where Ray's sockets go: their paths have at most 107 characters
PASSED_ON = ("HF_ENDPOINT", "HF_HUB_OFFLINE", WORKERS)  # to the machines of a cluster
SECONDS_TO_ANSWER = 10
LOST = (WorkerCrashedError, NodeDiedError, OutOfMemoryError)


@contextmanager
def open_ray(address: str, *, device: str) -> Iterator[OnRay]:
    """Join the cluster at an address, or start Ray on this machine if it is "", and leave it at the
    end; raise ClusterError if Ray does not answer or has no such device.
    """
    if device.startswith("cuda:"):
        raise ClusterError(
            f"--device {device} names a device of one machine, but Ray chooses among those it has;"
            " use --device cuda"
        )
    with ExitStack() as leaving:
        if not ray.is_initialized():
            _connect(address, leaving)
            # Ray would print how often it starts a unit again to stdout, among results
            ray._private.worker._worker_logs_enabled = False
        nodes = [one["Resources"] for one in ray.nodes() if one["Alive"]]
        cores = [int(one["CPU"]) for one in nodes if one.get("CPU", 0) >= 1]
        has_gpu = any(one.get("GPU", 0) >= 1 for one in nodes)
        if device == "cuda" and not has_gpu:
            raise ClusterError("--device cuda needs a GPU, and Ray has none; use --device auto")
        if not cores:
            raise ClusterError("no machine of the cluster has a core for work; add one to it")
        yield OnRay(cores, has_gpu and device in ("auto", "cuda"))


def _connect(address: str, leaving: ExitStack) -> None:
    if address:
        paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        variables = {"PYTHONPATH": os.pathsep.join(paths), **passed}
        settings: dict[str, Any] = {"address": address, "runtime_env": {"env_vars": variables}}
        advice = (
            f"no Ray cluster of this version answers at {address} (%s); on a machine of the"
            " cluster, give --on its head, HEAD:6379, and set RAY_AUTH_MODE=token if it asks for"
            " Ray's token"
        )
    else:
        short = SHORT if os.path.isdir(SHORT) else None
        folder = tempfile.TemporaryDirectory(prefix="ray-", dir=short, ignore_cleanup_errors=True)
        leaving.enter_context(folder)
        settings = {"address": "local", "include_dashboard": False, "_temp_dir": folder.name}
        settings["object_store_memory"] = OBJECTS
        advice = "Ray does not start on this machine (%s); leave --on out"
    leaving.callback(ray.shutdown)  # before the folder goes
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they say less than the error below
            if address:  # Ray itself would try for minutes
                host, _, port = address.partition(":")
                socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()
            ray.init(log_to_driver=False, configure_logging=False, **settings)
    except Exception as error:  # of no kind of its own if Ray starts too slowly
        # a traceback of the head may precede the last line
        reason = str(error).strip().rpartition("\n")[2] or type(error).__name__
        raise ClusterError(advice % reason) from error


@dataclass(frozen=True)
class OnRay:
    """Ray's workers. cores: of each machine. on_gpus: whether each unit takes one GPU."""

    cores: Sequence[int]
    on_gpus: bool
    alone = False

    def run(
        self, units: Sequence[Unit[R]], *, report: Progress | None = None, began: Began[R] = ignore
    ) -> Iterator[tuple[Unit[R], R | PlatoscopeError]]:
        if not units:
            return
        home, total = os.getcwd(), len(units)
        # as many cores as a unit gets if all run at once
        share = max(1, min(self.cores) // math.ceil(total / len(self.cores)))
        needs = {"num_gpus": 1, "num_cpus": 1} if self.on_gpus else {"num_cpus": share}
        task = ray.remote(_do).options(max_retries=RETRIES, **needs)
        calls, done = [task.remote(unit.work, home) for unit in units], 0
        try:
            for unit, call in zip(units, calls, strict=True):
                began(unit)
                outcome = _outcome(unit, call)
                done += 1
                if report:
                    report(done, total, "units of work on Ray")
                yield unit, outcome
        except ConnectionError as error:
            raise ClusterError(
                f"Ray stopped answering ({_first_line(error)}); finished work is kept: run the"
                " command again to continue"
            ) from error
        finally:
            left = calls[done:]
            with suppress(RayError, ConnectionError):
                # canceling a call that has ended may abort this process (ray-project/ray#54527)
                _, running = ray.wait(left, num_returns=len(left), timeout=0) if left else ([], [])
                for call in running:
                    ray.cancel(call, force=True)


def _outcome(unit: Unit[R], call: ray.ObjectRef) -> R | PlatoscopeError:
    try:
        value, failure = ray.get(call)
    except RayTaskError:  # a fault in the program: its traceback is wanted
        raise
    except RayError as error:
        lost = isinstance(error, LOST)
        what = f"its worker was lost {RETRIES + 1} times" if lost else "Ray could not do it"
        return ClusterError(
            f"{unit.name}: {what} ({_first_line(error)}); finished work is kept: run the command"
            " again to continue"
        )
    return PlatoscopeError(failure) if failure else value


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _do(work: Callable[[Progress | None], R], home: str) -> tuple[R | None, str]:
    try:
        try:
            os.chdir(home)
        except OSError as error:
            raise ClusterError(
                f"{os.uname().nodename} has no folder {home}; every machine of the cluster needs"
                " the folder in which the command is typed, at the same path"
            ) from error
        return work(None), ""
    except PlatoscopeError as error:
        return None, str(error)
