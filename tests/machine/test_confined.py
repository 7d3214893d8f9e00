"""Work in a process of its own: its answer, its error, and its end where it takes too much."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from core.errors import UnknownNameError
from core.files.userfile import GB, MB
from core.machine.confined import confine, stream
from core.settings import ROOT
from tests.machine.orphans import kill_parent


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


def end(code: int) -> None:
    os._exit(code)


def test_the_answer_comes_from_another_process():
    process, total = confine(process_and_sum, 1, 2, 3, memory=GB)
    assert (process != os.getpid(), total) == (True, 6)


def count_to(last: int) -> Iterator[int]:
    yield from range(last)
    if last > 100:
        fall(signal.SIGABRT)


def test_what_is_yielded_comes_one_by_one_and_ends():
    assert list(stream(count_to, 3, memory=GB)) == [0, 1, 2]


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


def test_it_ends_with_the_one_that_began_it_even_if_that_is_killed(tmp_path):
    begin = "Thread(target=confine, args=(sleep, 0), kwargs={'memory': 10**9}).start()"
    alive = kill_parent(
        tmp_path,
        imported="from core.machine.confined import confine; from threading import Thread",
        began=f"from sleepers import sleep; {begin}; {begin}",
    )
    assert alive == []


INTERRUPTED = """
import os, signal, time
from pathlib import Path
from core.machine.confined import confine
def write(place):
    Path(place, "half").touch()
    try:
        time.sleep(600)
    finally:
        Path(place, "half").unlink()
if __name__ == "__main__":
    from interrupted import write
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which pytest's workers do not have
    confine(write, os.path.dirname(__file__), memory=10**9)
"""


def test_an_interrupted_one_removes_what_it_has_half_written(tmp_path):
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "interrupted.py"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    while not (tmp_path / "half").exists():
        assert parent.poll() is None
        time.sleep(0.05)
    parent.send_signal(signal.SIGINT)
    _, said = parent.communicate(timeout=120)
    assert said.count("Traceback") == said.count("KeyboardInterrupt") == 1  # the parent's
    assert not (tmp_path / "half").exists()


def test_it_loads_no_file_of_the_folder_where_it_begins(tmp_path, monkeypatch):
    (tmp_path / "psutil.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    assert confine(process_and_sum, 1, memory=GB)[1] == 1
    assert not (tmp_path / "ran").exists()


def others() -> set[int]:
    """Return the processes that this one has begun."""
    return {child.pid for child in psutil.Process().children()}
