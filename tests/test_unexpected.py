"""However a command ends, it says one sentence; what nobody foresaw leaves a file besides."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from core import cli
from core.cli import main
from core.settings import ROOT
from core.unexpected import report_folder, tell_unexpected

ENDING = """
import sys
import core.cli
from core.__main__ import run

def main():
    {body}

core.cli.main = main
if __name__ == "__main__":
    run()
"""
WORKER = """from core.machine.processes import spread
    list(spread(len, [3] * 4, processes=2))"""
STORE = """import duckdb
    global kept
    kept = duckdb.connect().sql("select 1")
    raise ValueError("over a store")"""
THREAD = """from threading import Thread
    thread = Thread(target=lambda: [][1])
    thread.start()
    thread.join()
    return 0"""
RECURSION = "return main()"
REMOTE = """import ray
    raise ray.exceptions.RayTaskError("f", "a long\\ntraceback", LookupError("far"))"""
slow = partial(pytest.param, marks=pytest.mark.slow)
SEEN = [
    ("raise ValueError('a bad\\n turn')", 1, "ValueError: a bad turn"),
    (THREAD, 0, "IndexError: list index out of range"),
    slow(RECURSION, 1, "RecursionError: maximum recursion depth exceeded"),
    slow(WORKER, 1, "TypeError: object of type 'int' has no len()"),
    slow(STORE, 1, "ValueError: over a store"),
    slow("raise SystemError", 1, "SystemError"),
]


def end(tmp_path: Path, body: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose `main` has this body, in a process of its own."""
    script = tmp_path / "ending.py"
    script.write_text(ENDING.format(body=body))
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "OMP_NUM_THREADS": "1",
        **more,
    }
    return subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(("body", "code", "said"), SEEN)
def test_an_unexpected_error_is_one_line_and_a_file(tmp_path, body, code, said):
    ended = end(tmp_path, body)
    assert (ended.returncode, ended.stdout) == (code, "")
    (file,) = (tmp_path / "state" / "platoscope").iterdir()
    assert ended.stderr == (
        f"platoscope: unexpected error: {said}; please report it, with {file}, which holds the"
        " traceback\n"
    )
    text = file.read_text()
    assert text.startswith(f"command: {tmp_path / 'ending.py'}\nPython ")
    assert "Traceback (most recent call last)" in text
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_an_error_in_a_worker_of_ray_is_named_by_its_cause(tmp_path):
    pytest.importorskip("ray")
    said = "platoscope: unexpected error: LookupError: far; please report it"
    assert end(tmp_path, REMOTE).stderr.startswith(said)


def test_an_interrupt_before_the_command_begins_is_one_line(tmp_path):
    ended = end(tmp_path, "raise KeyboardInterrupt")
    assert (ended.returncode, ended.stderr) == (130, "platoscope: stopped\n")


def test_what_cannot_be_imported_is_one_line(tmp_path):
    (tmp_path / "pandas.py").write_text("raise ImportError('a broken package')")
    command = [sys.executable, "-m", "core", "model", "list", "--store", str(tmp_path / "none")]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("platoscope: unexpected error: ImportError: a broken")
    assert ended.stderr.count("\n") == 1


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "platoscope"


def fail(text: str, kind: type[Exception] = ValueError) -> Exception:
    try:
        raise kind(text)
    except kind as error:
        return error


def test_the_same_error_is_kept_once_and_no_other_replaced(state):
    first, again = fail("one"), fail("one")
    assert tell_unexpected(first) == tell_unexpected(again)
    assert tell_unexpected(fail("two")) != tell_unexpected(first)
    kept = [path.read_text().splitlines()[-1] for path in state.iterdir()]
    assert sorted(kept) == ["ValueError: one", "ValueError: two"]


def test_too_little_memory_asks_for_no_report(state):
    assert tell_unexpected(MemoryError()).startswith("there is too little memory for this (Memory")
    assert not state.exists()


def test_the_folder_is_that_for_the_state_of_programs(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere")
    assert report_folder() == Path("/elsewhere/platoscope")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert report_folder() == Path("/home/somebody/.local/state/platoscope")


def wrapped(cause: Exception) -> Exception:
    error = ValueError("odd")
    error.__cause__ = cause
    return error


NAMED = FileNotFoundError(errno.ENOENT, "No such file or directory", "/out of memory/x")
TOO_LITTLE = r"^platoscope: there is too little memory for this \({}.*free some, ask for less"
NO_FILE = FileNotFoundError(errno.ENOENT, "No such file or directory", "/some/file")
TOO_LONG = OSError(errno.ENAMETOOLONG, "File name too long", "x" * 5_000)
ENDS = [
    (MemoryError(), TOO_LITTLE.format("MemoryError")),
    (torch.OutOfMemoryError("CUDA"), TOO_LITTLE.format("OutOfMemoryError: CUDA")),
    (RuntimeError("CUDA error: out of memory"), TOO_LITTLE.format("RuntimeError: CUDA error")),
    (RuntimeError("can't allocate memory: 9 TB"), TOO_LITTLE.format("RuntimeError: can't")),
    (wrapped(MemoryError()), TOO_LITTLE.format("ValueError: odd")),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), TOO_LITTLE.format("OSError: .*12. Cannot")),
    (ImportError("x.so: failed to map segment from y"), TOO_LITTLE.format("ImportError: x.so")),
    (NO_FILE, r"^platoscope: /some/file cannot be used \(No such file or directory\); expected"),
    (NAMED, r"^platoscope: /out of memory/x cannot be used \(No such file or directory\)"),
    (TOO_LONG, r"^platoscope: x{200}… cannot be used \(File name too long\); expected"),
]


@pytest.mark.parametrize(("error", "said"), ENDS)
def test_what_the_machine_lacks_is_a_sentence(error, said, monkeypatch, capfd, tmp_path):
    stop_with(error, monkeypatch)
    assert main(["dataset", "list", "--store", str(tmp_path)]) == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert re.search(said, err, re.MULTILINE)


@pytest.mark.parametrize("error", [TimeoutError("late"), ValueError("x"), RuntimeError("x")])
def test_what_nobody_foresaw_is_not_taken_for_the_machine(error, monkeypatch, tmp_path):
    stop_with(error, monkeypatch)
    with pytest.raises(type(error), match=str(error)):
        main(["dataset", "list", "--store", str(tmp_path)])


def stop_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "store_path", stop)
