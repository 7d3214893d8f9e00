"""A crew of Ray's workers: each unit is a task of Ray, which finds it a place and starts it again
where its worker is lost.

`ray` starts Ray on this machine and ends it with the command; `ray://HEAD:10001` joins a cluster
whose machines have Platoscope, the store and the files that a command names at the same paths.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError
from ray.util.queue import Queue

from core.crew.crew import Began, nobody
from core.crew.following import Following, first_line, smallest_gpu
from core.crew.merging import MergedProgress
from core.crew.needs import Node, needs_on_cpus, needs_on_gpus
from core.crew.units import Unit
from core.errors import ClusterError, PlatoscopeError
from core.progress import Progress
from core.settings import CHECKOUT, HUB_SECONDS, WORKERS

R = TypeVar("R")

OBJECTS = 100_000_000  # bytes of memory for what units return: tables and paths
SHORT = "/tmp"  # where Ray's sockets go, whose paths may have 107 characters
# to the machines of a cluster
TAKEN_ALONG = ("HF_ENDPOINT", "HF_HUB_OFFLINE", HUB_SECONDS, WORKERS)


@contextmanager
def open_ray(address: str, *, device: str) -> Iterator[OnRay]:
    """Join the cluster at an address, or start Ray on this machine where that is "", and leave it
    at the end. Raises ClusterError where Ray does not answer or has no such device.
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
        yield OnRay(device, _nodes(device))


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
            " the address of its head, ray://HEAD:10001, and set RAY_AUTH_MODE=token where it asks"
            " for Ray's token"
        ) from error


def _nodes(device: str) -> list[Node]:
    """Return the nodes that have what a device takes; raises ClusterError without any."""
    nodes = [Node.of(one["NodeID"], one["Resources"]) for one in ray.nodes() if one["Alive"]]
    able = [node for node in nodes if node.cpus >= 1]
    with_gpus = [node for node in able if node.gpus >= 1]
    if device == "cuda" and not with_gpus:
        raise ClusterError("--device cuda needs a GPU, and Ray has none; use --device auto")
    if not able:
        raise ClusterError("no machine of the cluster has a core for work; add one to it")
    return with_gpus if with_gpus and device in ("auto", "cuda") else able


@dataclass(frozen=True)
class OnRay:
    """Ray's workers. device: that units choose. nodes: where they run, all with GPUs or all
    without.
    """

    device: str
    nodes: Sequence[Node]
    alone = False

    def run(
        self, units: Sequence[Unit[R]], *, report: Progress | None = None, began: Began[R] = nobody
    ) -> Iterator[tuple[Unit[R], R | PlatoscopeError]]:
        if not units:
            return
        notes = Queue(actor_options={"num_cpus": 0, "max_restarts": -1})
        following = Following(units, notes, MergedProgress(report, len(units)), began)
        try:
            following.begin(self._needs(units))
            for number, unit in enumerate(units):
                yield unit, following.wait_for(number)
        except ConnectionError as error:
            raise ClusterError(
                f"Ray does not answer any more ({first_line(error)}); what is finished is kept,"
                " the same command continues"
            ) from error
        finally:
            following.stop()

    def _needs(self, units: Sequence[Unit[R]]) -> list[dict[str, Any]]:
        """Return what Ray is asked for, for each unit."""
        weights = [_weights_of(unit) for unit in units]
        if self.device in ("auto", "cuda") and all(node.gpus for node in self.nodes):
            size = smallest_gpu(self.nodes)
            return [needs_on_gpus(one, self.nodes, gpu_bytes=size) for one in weights]
        return [needs_on_cpus(len(units), one, self.nodes) for one in weights]


def _weights_of(unit: Unit[Any]) -> int | None:
    """Return the size of a unit's weights, None where it cannot be had: the unit will say why."""
    try:
        return unit.weights()
    except PlatoscopeError:
        return None
