"""Work in a process of its own that may take so much memory and no more: what a library without
limits does with a foreign file then ends that process alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, TypeVar

import psutil

from core.machine.memory import is_out_of_memory

# No process of `multiprocessing`: that would run the dashboard's own script once more.
BEGIN = "from core.machine.confined import answer; answer()"

R = TypeVar("R")


def confine(work: Callable[..., R], *given: object, memory: int, seconds: float | None = None) -> R:
    """Return what `work` makes of what is given, in a process of its own.

    memory: bytes that it may take beyond those of its libraries; limited on Linux alone. seconds:
    that it may take, None for as many as it needs. Raises what `work` raises, MemoryError where it
    took more memory or was ended from outside, and TimeoutError where it took longer.
    """
    here, there = Pipe()
    command = [sys.executable, "-c", BEGIN, str(there.fileno())]
    with subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=[there.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # interrupts are for this process, which ends the other
    ) as process:
        there.close()
        made: Any
        try:
            here.send((memory, work, given))
            made, error = here.recv() if here.poll(seconds) else (None, TimeoutError())
        except (EOFError, OSError):  # it ended without an answer, or within it
            made, error = None, MemoryError()
        finally:
            process.kill()
            here.close()
    if error:
        raise error
    answer: R = made
    return answer


def answer() -> None:
    """Do the work that the process which began this one sends, and send it what came of it."""
    there = Connection(int(sys.argv[1]))
    memory, work, given = there.recv()
    Thread(target=_end_with, args=(there,), daemon=True).start()
    _limit_memory(memory)
    try:
        there.send((work(*given), None))
    except Exception as error:
        there.send((None, MemoryError() if is_out_of_memory(error) else error))
    os._exit(0)  # threads of libraries may wait for a server


def _end_with(there: Connection) -> None:
    """End this process once nobody is at the other end."""
    try:
        there.recv()
    except (EOFError, OSError):
        os._exit(1)


def _limit_memory(more: int) -> None:
    """Let this process take no more than so many bytes from now on."""
    process = psutil.Process()
    if hasattr(psutil, "RLIMIT_DATA"):  # on Linux
        most = process.memory_info().data + more
        process.rlimit(psutil.RLIMIT_DATA, (most, most))
