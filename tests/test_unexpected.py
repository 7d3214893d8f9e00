"""However a command ends, it says one sentence; what nobody foresaw leaves a file besides."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from core import __main__ as program
from core import cli, unexpected
from core.cli import main
from core.machine.endings import endings
from core.settings import ROOT
from core.unexpected import KEPT, report_folder, summarize, tell_unexpected

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
QUIET_THREAD = """from threading import Thread
    from core.errors import InputError
    def end():
        raise {error}
    thread = Thread(target=end)
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
        f"platoscope: this was not expected: {said}; please report it, with {file}, which holds the"
        " traceback\n"
    )
    text = file.read_text()
    assert text.startswith(f"command: {tmp_path / 'ending.py'}\nPython ")
    assert "Traceback (most recent call last)" in text
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("error", "said"),
    [("InputError('take less')", "platoscope: take less\n"), slow("SystemExit(3)", "")],
)
def test_a_thread_that_ends_as_foreseen_asks_for_no_report(tmp_path, error, said):
    ended = end(tmp_path, QUIET_THREAD.format(error=error))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", said)
    assert not (tmp_path / "state").exists()


@pytest.mark.slow
def test_an_error_in_a_worker_of_ray_is_named_by_its_cause(tmp_path):
    pytest.importorskip("ray")
    said = "platoscope: this was not expected: LookupError: far; please report it"
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
    assert ended.stderr.startswith("platoscope: this was not expected: ImportError: a broken")
    assert ended.stderr.count("\n") == 1


def test_help_is_printed_whole_and_needs_no_reader():
    command = [sys.executable, "-m", "core", "--help"]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as whole:
        out, err = whole.communicate(timeout=300)
    assert (whole.returncode, out.split()[:2], err) == (0, ["usage:", "platoscope"], "")
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as closed:
        closed.stdout.close()
        assert (closed.wait(timeout=300), closed.stderr.read()) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it needs a disk that is full")
@pytest.mark.parametrize("unbuffered", ["", slow("1")])
def test_help_that_finds_the_disk_full_says_so(unbuffered):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "core", "align", "--help"],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=-1,
            text=True,
            timeout=300,
        )
    assert ended.returncode == 2
    assert "the results could not be printed (No space left on device)" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(("more", "said"), [slow([], "0 \\u2026 1"), (["--json"], '"0 \\u2026 1"')])
def test_what_an_output_has_no_letters_for_is_spelled_out(more, said):
    ended = subprocess.run(
        [sys.executable, "-m", "core", "metrics", "list", *more],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert said in ended.stdout
    if more:
        assert json.loads(ended.stdout)[0]["range"] == "0 … 1"


def test_a_mistake_that_cannot_be_said_is_a_mistake(monkeypatch, tmp_path):
    (tmp_path / "in the way").touch()
    monkeypatch.setattr(sys, "stderr", Full())
    assert main(["dataset", "list", "--store", str(tmp_path / "in the way")]) == 2


class Full(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("word", "code"), [slow("--help", 0), ("nope", 2)])
def test_a_parser_without_an_output_ends_as_it_should(word, code):
    command = ["sh", "-c", '"$0" -m core "$1" >&-', sys.executable, word]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr


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


def test_the_newest_files_are_kept(state, monkeypatch):
    monkeypatch.setattr(unexpected, "KEPT", 3)
    for number in range(5):
        tell_unexpected(fail(str(number)))
        for path in state.iterdir():  # all older than the next one, however fast they come
            os.utime(path, ns=(path.stat().st_mtime_ns - 10**9,) * 2)
    kept = sorted(path.read_text().splitlines()[-1] for path in state.iterdir())
    assert kept == [f"ValueError: {number}" for number in (2, 3, 4)]
    assert KEPT >= 10


@pytest.mark.parametrize("kept", [1, KEPT])
def test_an_old_file_that_vanishes_or_stays_does_not_hinder_a_new_one(state, monkeypatch, kept):
    """Another process that reports removes the same old files."""
    monkeypatch.setattr(unexpected, "KEPT", kept)
    (state / "traceback-folder.txt").mkdir(parents=True)
    os.utime(state / "traceback-folder.txt", (1, 1))
    (state / "traceback-old.txt").touch()
    os.utime(state / "traceback-old.txt", (2, 2))
    (state / "traceback-gone.txt").symlink_to("nowhere")  # is listed, and has no time
    said = tell_unexpected(fail("one"))
    (file,) = (path for path in state.iterdir() if path.is_file() and path.stat().st_size)
    assert f"with {file}, which" in said
    assert (state / "traceback-old.txt").exists() == (kept > 1)


def test_a_file_that_cannot_be_named_is_kept_elsewhere_alone(state, tmp_path, monkeypatch):
    error = fail("one")
    tell_unexpected(error)
    (taken,) = state.iterdir()
    taken.unlink()
    taken.mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    said = tell_unexpected(error)
    (file,) = (tmp_path / "temporary").iterdir()
    assert f"with {file}, which" in said
    assert [*state.iterdir()] == [taken]


def test_where_the_folder_cannot_be_written_another_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    said = tell_unexpected(fail("one"))
    (file,) = (tmp_path / "temporary").iterdir()
    assert f"with {file}, which" in said
    assert file.read_text().endswith("ValueError: one\n")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    said = tell_unexpected(fail("one"))
    assert said.endswith("its traceback could not be kept (No such file or directory)")


def test_the_folder_is_that_for_the_state_of_programs(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere")
    assert report_folder() == Path("/elsewhere/platoscope")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert report_folder() == Path("/home/somebody/.local/state/platoscope")


def test_a_long_message_is_cut():
    assert summarize(fail("x" * 500)) == f"ValueError: {'x' * 200}…"


def wrapped(cause: Exception) -> Exception:
    error = ValueError("odd")
    error.__cause__ = cause
    return error


NAMED = FileNotFoundError(errno.ENOENT, "No such file or directory", "/out of memory/x")
TOO_LITTLE = r"^platoscope: there is too little memory for this \({}.*free some, ask for less"
NO_FILE = FileNotFoundError(errno.ENOENT, "No such file or directory", "/some/file")
TOO_LONG = OSError(errno.ENAMETOOLONG, "File name too long", "x" * 5_000)
FULL = OSError(errno.ENOSPC, "No space left on device")
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
    (FULL, "^platoscope: the results could not be printed .No space left on device.; make room"),
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

    monkeypatch.setattr(cli, "_check_store", stop)


def test_what_is_to_be_undone_is_undone_before_a_command_leaves(monkeypatch, tmp_path):
    """A folder of spilled weights would otherwise stay: nothing of `atexit` runs."""

    def spill() -> None:
        endings.callback(shutil.rmtree, spilled)

    def leave(code: int) -> None:
        raise SystemExit(code)

    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setattr(program, "_run", lambda: spill() or 2)
    monkeypatch.setattr("os._exit", leave)
    with pytest.raises(SystemExit, match="2"):
        program.run()
    assert not spilled.exists()
