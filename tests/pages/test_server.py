"""What runs as long as the server: the building of the demo, and unfinished jobs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from app import NICER, running_beside, watch_jobs
from core.jobs import queue
from core.jobs.queue import queue_file

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def started(before: set[psutil.Process]) -> psutil.Process:
    (process,) = set(psutil.Process().children()) - before
    return process


def test_a_command_ends_with_the_block_at_a_lower_priority() -> None:
    before = set(psutil.Process().children())
    with running_beside(SLEEP):
        process = started(before)
        assert process.nice() == min(os.nice(0) + NICER, 19)
    assert not process.is_running()


def test_a_command_that_has_ended_leaves_no_zombie(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    with running_beside((sys.executable, "-c", f"open({str(tmp_path / 'done')!r}, 'w')")):
        until((tmp_path / "done").exists)
        until(lambda: set(psutil.Process().children()) == before)
    assert set(psutil.Process().children()) == before


def test_a_command_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("app.GRACE", 0.2)
    stubborn = f"""import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(tmp_path / "ready")!r}, "w")
time.sleep(600)"""
    before = set(psutil.Process().children())
    with running_beside((sys.executable, "-c", stubborn)):
        process = started(before)
        until((tmp_path / "ready").exists)
    until(lambda: not process.is_running())
    assert not process.is_running()


STAND_IN = """
import os, sys, time
with open(os.path.join(os.environ["PLATOSCOPE_STORE"], "started"), "a") as file:
    print(*sys.argv[1:], file=file)
while not os.path.exists(os.path.join(os.environ["PLATOSCOPE_STORE"], "enough")):
    time.sleep(0.02)
"""


def test_jobs_go_on_when_a_server_starts_and_when_their_worker_dies(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(queue, "PROGRAM", (sys.executable, "-c", STAND_IN))
    monkeypatch.setenv("PLATOSCOPE_STORE", str(tmp_path))
    looks, look = [], queue.ensure_worker
    monkeypatch.setattr(queue, "ensure_worker", lambda store: (looks.append(store), look(store)))

    def wait_for_looks() -> None:
        seen = len(looks)
        until(lambda: len(looks) > seen + 3)

    started, end = tmp_path / "started", watch_jobs(pause=0.05)
    wait_for_looks()
    assert not started.exists()  # nothing was left
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)  # the server's own stays
    queue.submit(tmp_path, ["demo"])
    until(lambda: started.exists() and started.read_text())
    wait_for_looks()
    assert started.read_text() == "jobs work\n"  # it takes a while until it holds its lock
    (tmp_path / "enough").touch()
    until(lambda: started.read_text().count("jobs work\n") > 1)  # it has ended, the job has not
    (tmp_path / "text").write_bytes(b"text" * 999)
    (tmp_path / "text").replace(queue_file(tmp_path))  # one who reads it now fails no other way
    said = ""
    while "does not hold a queue; move it away" not in said:
        said += capsys.readouterr().err
        time.sleep(0.02)
    wait_for_looks()
    end.set()
    assert not capsys.readouterr().err  # once is enough
