"""Processes: the same results as one, the share of the cores, and the end of all at an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import torch

from core.errors import DeviceError
from core.machine.processes import (
    MOST,
    SHARE,
    count_processes,
    count_threads,
    spread,
)
from core.settings import ROOT
from tests.machine.orphans import kill_parent


@pytest.fixture(autouse=True)
def _found_by_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let them import the functions of this file, wherever pytest was started."""
    monkeypatch.syspath_prepend(str(ROOT))


def double(item: int) -> int:
    return 2 * item


def about_its_process(_: int) -> tuple[int, int, int]:
    return os.getpid(), torch.get_num_threads(), count_threads()


def die(item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_each_item_is_worked_on_once_whatever_the_processes(processes):
    done = dict(spread(double, range(20), processes=processes))
    assert done == {place: 2 * place for place in range(20)}


def test_one_process_is_this_one_and_several_share_the_cores():
    assert dict(spread(about_its_process, [0], processes=1))[0][0] == os.getpid()
    others = dict(spread(about_its_process, range(8), processes=2))
    assert os.getpid() not in {pid for pid, *_ in others.values()}
    share = max(1, count_threads() // 2)
    assert {tuple(threads) for _, *threads in others.values()} == {(share, share)}


def test_a_killed_process_is_a_sentence():
    with pytest.raises(DeviceError, match="one of 2 processes was ended from outside"):
        list(spread(die, range(12), processes=2))


def test_few_items_and_shared_devices_get_one_process(monkeypatch):
    monkeypatch.setattr("core.machine.processes.count_threads", lambda: 64)
    assert [count_processes(items) for items in (0, 5, 11, 12, 1000)] == [1, 1, 1, 2, MOST]
    assert count_processes(1000, "cuda") == 1
    monkeypatch.setattr("core.machine.processes.count_threads", lambda: 1)
    assert count_processes(1000) == 1


STARTING = """
import signal, time
from core.machine.processes import spread
signal.signal(signal.SIGINT, signal.default_int_handler)  # which pytest's workers do not have
time.sleep(0 if __name__ == "__main__" else 1)  # a slow start
if __name__ == "__main__":
    list(spread(time.sleep, [2] * 4, processes=2))
"""


@pytest.mark.slow
def test_an_interrupt_while_processes_start_is_one_traceback(tmp_path):
    script = tmp_path / "starting.py"
    script.write_text(STARTING)
    parent = subprocess.Popen(
        [sys.executable, script],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,  # Ctrl-C reaches all of the group
    )
    while len(psutil.Process(parent.pid).children()) < 3:  # two, and what multiprocessing watches
        time.sleep(0.02)
    children = psutil.Process(parent.pid).children()
    os.killpg(parent.pid, signal.SIGINT)
    _, said = parent.communicate(timeout=180)
    assert said.count("Traceback") == said.count("KeyboardInterrupt") == 1
    assert psutil.wait_procs(children, timeout=120)[1] == []


@pytest.mark.slow
def test_processes_end_with_the_one_that_began_them_however_it_ends(tmp_path):
    alive = kill_parent(
        tmp_path,
        imported="from core.machine.processes import spread",
        began="list(spread(sleep, range(4), processes=2))",
    )
    assert alive == []


@pytest.mark.parametrize(
    ("share", "threads"),
    [(None, 8), ("", 8), ("3", 3), ("8", 8), ("64", 8), ("0", 1), ("many", 8), ("-2", 8)],
)
def test_a_share_limits_threads(share, threads, monkeypatch):
    monkeypatch.setattr("core.machine.processes.count_cores", lambda: 8)
    monkeypatch.delenv(SHARE, raising=False)
    if share is not None:
        monkeypatch.setenv(SHARE, share)
    assert count_threads() == threads
