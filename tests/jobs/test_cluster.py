"""Jobs on a Ray cluster are what they are here: followed, canceled, and refused in a sentence."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from core.jobs import cluster, queue
from core.jobs.devices import find_lanes, takes
from core.jobs.worker import work
from core.progress import JOB_NOTE
from core.settings import CLUSTER

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize(
    ("ray", "message"),
    [
        (None, "pip install 'platoscope[cluster]', or unset the variable"),
        ("nobody", "no Ray cluster answers at 'http://localhost:1'; give PLATOSCOPE_CLUSTER"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_a_sentence(ray, message, monkeypatch, capsys):
    class Submission:
        def JobSubmissionClient(self, address: str) -> None:  # noqa: N802 (Ray's name)
            raise ConnectionError(address)

    monkeypatch.setitem(sys.modules, "ray.job_submission", Submission() if ray else None)
    monkeypatch.setenv(CLUSTER, "http://localhost:1")
    assert cluster.main(["demo"]) == 2
    assert message in capsys.readouterr().err


def test_a_cluster_takes_jobs_of_any_device(monkeypatch):
    monkeypatch.setenv(CLUSTER, "http://localhost:1")
    lanes = find_lanes()
    assert len(lanes) == 16
    assert all(takes(lanes[-1], device, lanes) for device in ("auto", "cpu", "cuda:1"))


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return str(free.getsockname()[1])


@pytest.fixture
def address() -> Iterator[str]:
    """Start a Ray cluster of this machine and give the address of its dashboard."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'platoscope[cluster]'")
    folder = tempfile.mkdtemp(prefix="ray")  # sockets have short paths
    dashboard, ray = free_port(), [sys.executable, "-m", "ray.scripts.scripts"]
    options = {
        "port": free_port(),
        "dashboard-port": dashboard,
        "dashboard-host": "127.0.0.1",
        "node-ip-address": "127.0.0.1",
        "num-cpus": "2",
        "object-store-memory": "100000000",
        "temp-dir": folder,
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    head = subprocess.Popen([*ray, "start", "--head", "--block", *words], env=environment, **quiet)
    yield f"http://127.0.0.1:{dashboard}"
    head.terminate()
    head.wait(60)
    shutil.rmtree(folder, ignore_errors=True)


def wait_until_there(address: str) -> None:
    from ray.job_submission import JobSubmissionClient

    for _ in range(120):
        try:
            JobSubmissionClient(address).list_jobs()
            return
        except (ConnectionError, RuntimeError):
            time.sleep(0.5)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_cluster_runs_jobs_and_stops_them(address, store, tmp_path, monkeypatch):
    monkeypatch.setenv(CLUSTER, address)
    monkeypatch.delenv(JOB_NOTE, raising=False)
    wait_until_there(address)
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32))
    score = queue.submit(store, ["score", "a.npy", "a.npy"], folder=tmp_path)
    wrong = queue.submit(store, ["views"])
    long = queue.submit(store, ["demo"])
    worker = threading.Thread(target=work, args=(store,), kwargs={"idle": 0.1, "grace": 30.0})
    worker.start()
    while not queue.job(store, long.id).progress:  # noted by a process of the cluster
        assert not queue.job(store, long.id).is_finished, queue.log_of(long)
        time.sleep(0.1)
    queue.cancel(store, long.id)
    worker.join(90)
    states = [queue.job(store, job.id).state for job in (score, wrong, long)]
    assert states == ["done", "failed", "canceled"], [queue.log_of(job) for job in (score, wrong)]
    assert "layer_x  layer_y  score" in queue.log_of(score)
    failure = "`platoscope views` cannot be a job; type it in a terminal instead"
    assert queue.job(store, wrong.id).failure == failure

    from ray.job_submission import JobSubmissionClient

    ended = {str(job.status) for job in JobSubmissionClient(address).list_jobs()}
    assert ended == {"SUCCEEDED", "FAILED", "STOPPED"}
