"""Jobs on a Ray cluster are what they are here: followed, canceled, and refused in a sentence."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

from core.jobs import cluster, queue
from core.jobs.states import find_lanes, takes
from core.jobs.worker import work
from core.progress import JOB_NOTE
from core.settings import CLUSTER
from tests.ports import find_free_port

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


class Cluster:
    """A cluster on which one job runs until it is stopped; an interrupt comes at a call."""

    def __init__(self, interrupt_at: str) -> None:
        self._at, self.calls = interrupt_at, list[str]()
        self.gpus = -1

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self._at:
            os.kill(os.getpid(), signal.SIGINT)

    def get_address(self) -> str:
        return "http://localhost:1"

    def list_jobs(self) -> list[object]:
        self._call("list")
        return []

    def submit_job(self, *, entrypoint_num_gpus: int, **_: object) -> str:
        self.gpus = entrypoint_num_gpus
        self._call("submit")
        return "number"

    def get_job_info(self, _: str) -> SimpleNamespace:
        self._call("info")
        ended = "stop" in self.calls
        status = SimpleNamespace(is_terminal=lambda: ended)
        return SimpleNamespace(status=status, driver_exit_code=None, message="stopped")

    def get_job_logs(self, _: str) -> str:
        return ""

    def stop_job(self, _: str) -> bool:
        self._call("stop")
        return True


@pytest.mark.parametrize(
    ("at", "calls"),
    [("list", ["list"]), ("submit", ["list", "submit", "stop", "info"])],
)
def test_an_interrupt_leaves_no_job_on_the_cluster(at, calls, monkeypatch):
    monkeypatch.setenv(JOB_NOTE, "note")
    monkeypatch.setattr(cluster, "count_gpus_of_cluster", lambda _: 0)
    client = Cluster(at)
    assert cluster.run(client, ["demo"]) == cluster.INTERRUPTED
    assert client.calls == calls
    client = Cluster("info")
    assert cluster.run(client, ["demo"]) == cluster.INTERRUPTED
    assert client.calls == ["list", "submit", "info", "stop", "info"]


class Shaky(Cluster):
    """A cluster that loses the connection at the first question of each kind."""

    def _call(self, name: str) -> None:
        super()._call(name)
        if name in ("info", "stop") and self.calls.count(name) == 1:
            raise ConnectionError


def test_a_connection_that_is_lost_for_a_while_ends_no_job(monkeypatch, capsys):
    monkeypatch.setenv(JOB_NOTE, "note")
    monkeypatch.setattr(cluster, "count_gpus_of_cluster", lambda _: 0)
    client = Shaky("info")
    assert cluster.run(client, ["demo"]) == cluster.INTERRUPTED
    assert client.calls == ["list", "submit", "info", "info", "stop", "stop", "info"]
    said = "the connection to the cluster is lost (ConnectionError); trying again for 120 s\n"
    assert capsys.readouterr().err == 2 * said + "stopped\n"


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a Ray cluster of this machine and give the address of its dashboard."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # as Ray reads it once in a process
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    pytest.importorskip("ray", reason="needs Ray: pip install 'platoscope[cluster]'")
    folder = tempfile.mkdtemp(prefix="ray")  # sockets have short paths
    dashboard, ray = find_free_port(), [sys.executable, "-m", "ray.scripts.scripts"]
    options = {
        "port": find_free_port(),
        "dashboard-port": dashboard,
        "dashboard-host": "127.0.0.1",
        "dashboard-agent-listen-port": find_free_port(),  # not where another cluster may listen
        "node-ip-address": "127.0.0.1",
        "num-cpus": "2",
        "num-gpus": "1",  # said, not had
        "object-store-memory": "100000000",
        "temp-dir": folder,
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    head = subprocess.Popen([*ray, "start", "--head", "--block", *words], env=environment, **quiet)
    yield f"http://127.0.0.1:{dashboard}"
    head.terminate()
    head.wait(180)
    shutil.rmtree(folder, ignore_errors=True)


def wait_until_there(address: str) -> None:
    from ray.job_submission import JobSubmissionClient

    for _ in range(480):
        with suppress(ConnectionError, RuntimeError):
            JobSubmissionClient(address).list_jobs()
            if cluster.count_gpus_of_cluster(address):
                return
        time.sleep(0.5)
    raise AssertionError(f"{address} is no cluster after four minutes")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_cluster_runs_jobs_and_stops_them(address, store, tmp_path, monkeypatch):
    monkeypatch.setenv(CLUSTER, address)
    monkeypatch.delenv(JOB_NOTE, raising=False)
    wait_until_there(address)
    assert cluster.count_gpus_of_cluster(address) == 1
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32))
    score = queue.submit(store, ["score", "a.npy", "a.npy"], folder=tmp_path)
    wrong = queue.submit(store, ["model", "list"])
    long = queue.submit(store, ["demo"])
    worker = threading.Thread(target=work, args=(store,), kwargs={"idle": 0.1, "grace": 30.0})
    worker.start()
    while not queue.job(store, long.id).progress:  # noted by a process of the cluster
        assert not queue.job(store, long.id).is_finished, queue.log_of(long)
        time.sleep(0.1)
    queue.cancel(store, long.id)
    worker.join(300)
    states = [queue.job(store, job.id).state for job in (score, wrong, long)]
    assert states == ["done", "failed", "canceled"], [queue.log_of(job) for job in (score, wrong)]
    assert "layer_x  layer_y  score" in queue.log_of(score)
    failure = "`platoscope model` cannot be a job; type it in a terminal instead"
    assert queue.job(store, wrong.id).failure == failure

    from ray.job_submission import JobSubmissionClient

    ended = {str(job.status) for job in JobSubmissionClient(address).list_jobs()}
    assert ended == {"SUCCEEDED", "FAILED", "STOPPED"}
