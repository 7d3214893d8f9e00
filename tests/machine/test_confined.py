"""Work in a process of its own: its answer, its error, and its end where it takes too much."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from core.errors import UnknownNameError
from core.files.limits import GB, MB
from core.machine.confined import confine
from core.settings import ROOT


@pytest.fixture(autouse=True)
def _found_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it import the functions of this file, wherever pytest was started."""
    monkeypatch.syspath_prepend(str(ROOT))


def process_and_sum(*parts: int) -> tuple[int, int]:
    return os.getpid(), sum(parts)


def refuse(name: str) -> None:
    raise UnknownNameError("model", name, ["m1", "m2"])


def fill(size: int) -> int:
    return len(bytes(size))


def fall(by: signal.Signals) -> None:
    os.kill(os.getpid(), by)


def test_the_answer_comes_from_another_process():
    process, total = confine(process_and_sum, 1, 2, 3, memory=GB)
    assert (process != os.getpid(), total) == (True, 6)


def test_an_error_arrives_as_it_is():
    with pytest.raises(UnknownNameError, match="no model named 'm3'; did you mean"):
        confine(refuse, "m3", memory=GB)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited on Linux")
def test_more_memory_is_not_to_be_had():
    assert confine(fill, 100 * MB, memory=200 * MB) == 100 * MB
    with pytest.raises(MemoryError):
        confine(fill, 300 * MB, memory=200 * MB)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGABRT])
def test_a_process_that_is_ended_from_outside_has_taken_too_much(by):
    with pytest.raises(MemoryError):
        confine(fall, by, memory=GB)


def test_a_process_that_takes_too_long_is_ended():
    before = others()
    with pytest.raises(TimeoutError):
        confine(time.sleep, 600, memory=GB, seconds=0.5)
    assert others() <= before


def test_it_ends_with_the_one_that_began_it():
    """Even if that one is killed."""
    said = "import time; from core.machine.confined import confine; "
    script = f"{said}confine(time.sleep, 600, memory=10**9)"
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT) as parent:
        while not (begun := psutil.Process(parent.pid).children()):
            time.sleep(0.1)
        time.sleep(0.5)
        parent.kill()
    psutil.wait_procs(begun, timeout=30)
    assert not any(each.is_running() for each in begun)


def others() -> set[int]:
    """Return the processes that this one has begun."""
    return {child.pid for child in psutil.Process().children()}
