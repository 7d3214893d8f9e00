"""Servers that share a store share its queue, and one worker runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from core.jobs import queue
from core.jobs.job import queue_file
from core.jobs.queue import has_worker
from core.settings import ROOT

SUBMIT = """
import sys
from pathlib import Path
from core.jobs.queue import submit
print(*[submit(Path(sys.argv[1]), words).id for words in (sys.argv[2:], ["model", "list"])])
"""


def serve(store: Path, folder: Path, words: list[str]) -> subprocess.Popen[str]:
    """Start a process that queues two commands as a server does, and lives no longer."""
    return subprocess.Popen(
        [sys.executable, "-c", SUBMIT, str(store), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def features(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(30, 4)).astype(np.float32))
    return tmp_path


@pytest.mark.slow
def test_two_servers_at_once_share_their_jobs_which_outlive_them(store, features):
    words = ["score", "a.npy", "b.npy", "--metric", "cka"]
    servers = [serve(store, features, words) for _ in range(2)]
    assert [server.communicate()[0].split() for server in servers] == [["1", "2"]] * 2
    deadline = time.monotonic() + 180
    while not all(job.is_finished for job in queue.jobs(store)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    refused, scored = queue.jobs(store)
    assert (scored.state, scored.failure) == ("done", "")
    assert "cka" in queue.log_of(scored)
    assert refused.failure == "`platoscope model` cannot be a job; type it in a terminal instead"
    assert has_worker(store)  # it waits for more
    queue_file(store).unlink()
    while has_worker(store):  # without a queue it ends
        assert time.monotonic() < deadline
        time.sleep(0.1)
