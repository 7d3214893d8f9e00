"""What runs beside the dashboard: at a lower priority, no longer than it, and never as a zombie."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from pages._server.beside import NICER, running_beside

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def comes_true(holds: Callable[[], object]) -> bool:
    """Return whether something holds before three minutes are over."""
    until = time.monotonic() + 180
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


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
        assert comes_true((tmp_path / "done").exists)
        assert comes_true(lambda: set(psutil.Process().children()) == before)


def test_a_command_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("pages._server.beside.GRACE", 0.2)
    stubborn = f"""import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(tmp_path / "ready")!r}, "w")
time.sleep(600)"""
    before = set(psutil.Process().children())
    with running_beside((sys.executable, "-c", stubborn)):
        process = started(before)
        assert comes_true((tmp_path / "ready").exists)
    assert comes_true(lambda: not process.is_running())
