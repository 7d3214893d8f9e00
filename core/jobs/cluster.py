"""`python -m core.jobs.cluster WORDS…`: run a job's command on a Ray cluster, as if it ran here.

It submits the command by Ray's own jobs, prints what it prints and ends with its exit code; an
interrupt stops it there. One that runs already, since its worker was killed, is followed. The
cluster has Platoscope and the store at the same paths as this machine.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import ClusterError, PlatoscopeError
from core.jobs.devices import named_device
from core.jobs.failures import MISTAKE
from core.jobs.starting import PROGRAM, environment
from core.progress import JOB_NOTE
from core.settings import CLUSTER, cluster_address, store_path

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

POLL = 0.5  # seconds
MARK = "platoscope"  # in a Ray job's metadata: which job of which store it is
INTERRUPTED = 130


def main(words: Sequence[str]) -> int:
    """Run a command on the cluster that the settings name and return its exit code."""
    try:
        return run(_connect(cluster_address()), words)
    except PlatoscopeError as error:
        print(f"platoscope: {error}", file=sys.stderr)
        return MISTAKE


def run(client: JobSubmissionClient, words: Sequence[str]) -> int:
    """Submit a command, or find it where it runs already, and follow it to its end."""
    try:
        number = _running(client) or _submit(client, words)
        try:
            return _follow(client, number)
        except KeyboardInterrupt:
            client.stop_job(number)
            _follow(client, number)
            return INTERRUPTED
    except (RuntimeError, ConnectionError) as error:
        raise ClusterError(
            f"the cluster at {cluster_address()} does not answer as it should"
            f" ({str(error).splitlines()[0]}); look at its dashboard, then retry"
        ) from error


def _connect(address: str) -> JobSubmissionClient:
    try:
        from ray.job_submission import JobSubmissionClient  # optional
    except ImportError as error:
        raise ClusterError(
            f"{CLUSTER} names a cluster, for which Ray is missing; pip install"
            " 'platoscope[cluster]', or unset the variable, then retry"
        ) from error
    try:
        return JobSubmissionClient(address)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address!r}; give {CLUSTER} the address of its dashboard,"
            " http://HEAD:8265, or unset it, then retry"
        ) from error


def _running(client: JobSubmissionClient) -> str | None:
    """Return the Ray job that runs this job already, if one does."""
    for job in client.list_jobs():
        if (job.metadata or {}).get(MARK) == _mark() and not job.status.is_terminal():
            return str(job.submission_id)
    return None


def _submit(client: JobSubmissionClient, words: Sequence[str]) -> str:
    command = shlex.join([*PROGRAM, *words])
    own = ("PLATOSCOPE_STORE", "PYTHONPATH", JOB_NOTE)
    variables = environment(store_path().absolute())
    return str(
        client.submit_job(
            entrypoint=f"cd {shlex.quote(str(Path.cwd()))} && exec {command}",
            runtime_env={"env_vars": {name: variables[name] for name in own}},
            metadata={MARK: _mark()},
            entrypoint_num_cpus=1,
            entrypoint_num_gpus=int(named_device(words).startswith("cuda")),
        )
    )


def _follow(client: JobSubmissionClient, number: str) -> int:
    """Print what a Ray job prints until it has ended, and return its exit code."""
    printed = 0
    while True:
        job = client.get_job_info(number)
        text = client.get_job_logs(number)
        print(text[printed:], end="", flush=True)
        printed = len(text)
        if job.status.is_terminal():
            return _exit_code(job)
        time.sleep(POLL)


def _exit_code(job: JobDetails) -> int:
    code = job.driver_exit_code
    if code is None:
        print(job.message or "", file=sys.stderr)
    return int(code) if code is not None and code >= 0 else 1


def _mark() -> str:
    return os.environ[JOB_NOTE]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
