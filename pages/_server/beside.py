"""What runs beside the dashboard, for as long as the dashboard lives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread

import psutil

from core.settings import ROOT

DEMO = (sys.executable, "-m", "core", "demo")
NICER = 19  # the dashboard goes first, and embedding takes what it leaves
GRACE = 10.0  # seconds that a command has to end


@contextmanager
def running_beside(command: Sequence[str]) -> Iterator[None]:
    """Run a command at a lower priority while the block runs, and end it with the block.

    Its end is waited for as soon as it comes, so that no zombie is left.
    """
    process = subprocess.Popen(command, cwd=ROOT)
    with suppress(psutil.Error):  # it has ended already, or the system has no priorities
        own = psutil.Process(process.pid)
        own.nice(own.nice() + NICER)
    Thread(target=process.wait, daemon=True).start()
    try:
        yield
    finally:
        process.terminate()  # whatever is finished is kept
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
