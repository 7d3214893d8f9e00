"""Processes that outlive the one that began them, which is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from core.settings import ROOT

SLEEPERS = r"""
import os, sys, time
{imported}
def sleep(item):
    os.write(1, f"{{os.getpid()}}\n".encode())  # whole, however Python buffers
    time.sleep(600)
if __name__ == "__main__":
    {began}
"""


def kill_parent(folder: Path, *, imported: str, began: str) -> list[int]:
    """Let a script begin two processes that `sleep`, kill it, and return which of them are still
    alive two minutes later.
    """
    script = folder / "sleepers.py"
    script.write_text(SLEEPERS.format(imported=imported, began=began))
    parent = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout
    children = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + 120
    while (alive := [child for child in children if is_alive(child)]) and time.monotonic() < until:
        time.sleep(0.05)
    return alive


def is_alive(pid: int) -> bool:
    """Return whether a process runs, and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
