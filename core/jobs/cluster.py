"""`python -m core.jobs.cluster WORDS…`: run a job's command on a Ray cluster, as if it ran here.

It submits the command by Ray's own jobs, prints what it prints and ends with its exit code; an
interrupt stops it there, whenever it comes. One that runs already, since its worker was killed, is
followed. The cluster has Platoscope and the store at the same paths as this machine. A job that
names no device gets a GPU where the cluster has any, as it does on one machine.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from core.errors import INTERRUPTED, MISTAKE, UNEXPECTED, ClusterError, PlatoscopeError
from core.jobs.states import ANY, PROGRAM, environment, named_device
from core.progress import JOB_NOTE
from core.settings import CLUSTER, cluster_address, store_path
from core.unexpected import summarize, tell_unexpected

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

POLL = 0.5  # seconds
PATIENCE = 120  # seconds until a new cluster must take jobs, and a lost one answer again
MARK = "platoscope"  # in a Ray job's metadata: which job of which store it is

T = TypeVar("T")


def main(words: Sequence[str]) -> int:
    """Run a command on the cluster that the settings name and return its exit code."""
    try:
        return run(_connect(cluster_address()), words)
    except PlatoscopeError as error:
        print(f"platoscope: {error}", file=sys.stderr)
        return MISTAKE
    except Exception as error:
        print(f"platoscope: {tell_unexpected(error)}", file=sys.stderr)
        return UNEXPECTED


def run(client: JobSubmissionClient, words: Sequence[str]) -> int:
    """Submit a command, or find it where it runs already, and follow it to its end."""
    if (device := named_device(words)).startswith("cuda:"):  # the cluster knows which one is free
        raise ClusterError(
            f"--device {device} names a device of one machine, but the cluster at"
            f" {cluster_address()} chooses among its own; add the job again with --device cuda"
        )
    with _interrupts() as interrupts:
        try:
            number = _running(client)
            if number is None:
                number = _submit_once_ready(client, words, interrupts)
        except (RuntimeError, OSError) as error:  # those of requests are OSErrors
            raise _explained(error) from error
        code = _follow(client, number, interrupts) if number else INTERRUPTED
        return INTERRUPTED if interrupts else code


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect interrupts: one that comes while a command is being submitted must still stop it."""
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def _connect(address: str) -> JobSubmissionClient:
    try:
        from ray.job_submission import JobSubmissionClient  # optional
    except ImportError as error:
        raise ClusterError(
            f"{CLUSTER} names a cluster, for which Ray is missing; pip install"
            " 'platoscope[cluster]', or unset the variable, then retry"
        ) from error
    from ray import exceptions

    try:
        return JobSubmissionClient(address)
    except (ConnectionError, RuntimeError, ValueError, exceptions.RayError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address!r}; give {CLUSTER} the address of its dashboard,"
            " http://HEAD:8265, set RAY_AUTH_MODE=token where it asks for Ray's token, or unset"
            f" {CLUSTER}, then retry"
        ) from error


def _running(client: JobSubmissionClient) -> str | None:
    """Return the Ray job that runs this job already, if one does."""
    for job in client.list_jobs():
        if (job.metadata or {}).get(MARK) == os.environ[JOB_NOTE] and not job.status.is_terminal():
            return str(job.submission_id)
    return None


def _submit_once_ready(
    client: JobSubmissionClient, words: Sequence[str], interrupts: Sequence[int]
) -> str | None:
    """Submit a command; None after an interrupt. A new cluster answers before it takes jobs."""
    until, variables = time.monotonic() + PATIENCE, environment(store_path().absolute())
    own = ("PLATOSCOPE_STORE", "PYTHONPATH", JOB_NOTE)
    device = named_device(words)
    while not interrupts:
        try:
            gpus = int(device == "cuda")
            if device == ANY:
                gpus = min(1, count_gpus_of_cluster(client.get_address()))
            command = shlex.join([*PROGRAM, *words])
            number = client.submit_job(
                entrypoint=f"cd {shlex.quote(str(Path.cwd()))} && exec {command}",
                runtime_env={"env_vars": {name: variables[name] for name in own}},
                metadata={MARK: os.environ[JOB_NOTE]},
                entrypoint_num_cpus=1,
                entrypoint_num_gpus=gpus,
            )
            return str(number)
        except RuntimeError as error:
            if "No available agent" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(POLL)
    return None


def count_gpus_of_cluster(address: str) -> int:
    """Return how many GPUs a cluster has, by its dashboard; raises ConnectionError."""
    from ray.util.state import list_nodes  # optional
    from ray.util.state.exception import RayStateApiException

    try:
        nodes = list_nodes(address=address, filters=[("state", "=", "ALIVE")])
    except RayStateApiException as error:
        raise ConnectionError(str(error)) from error
    return sum(int(node.resources_total.get("GPU", 0)) for node in nodes)


def _follow(client: JobSubmissionClient, number: str, interrupts: Sequence[int]) -> int:
    """Print what a Ray job prints until it ends, stop it on an interrupt, return its exit code."""
    printed, stopped = 0, False
    while True:
        if interrupts and not stopped:
            stopped = _ask(partial(client.stop_job, number))
        job = _ask(partial(client.get_job_info, number))
        text = _ask(partial(client.get_job_logs, number))
        print(text[printed:], end="", flush=True)
        printed = len(text)
        if job.status.is_terminal():
            code = job.driver_exit_code
            if code is None:
                print(job.message or "", file=sys.stderr)
            return int(code) if code is not None and code >= 0 else 1
        time.sleep(POLL)


def _ask(question: Callable[[], T]) -> T:
    """Return a cluster's answer, asking again while the connection is lost; raises ClusterError."""
    until = 0.0
    while True:
        try:
            return question()
        except OSError as error:
            now = time.monotonic()
            if not until:
                until = now + PATIENCE
                print(
                    f"the connection to the cluster is lost ({summarize(error)}); trying again for"
                    f" {PATIENCE} s",
                    file=sys.stderr,
                )
            elif now > until:
                raise _explained(error) from error
        except RuntimeError as error:
            raise _explained(error) from error
        time.sleep(POLL)


def _explained(error: Exception) -> ClusterError:
    return ClusterError(
        f"the cluster at {cluster_address()} does not answer as it should ({summarize(error)}); a"
        " job that it has begun may run on there: look at its dashboard, then retry, which follows"
        " it"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
