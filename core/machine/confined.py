"""Work in a process with limited memory, for libraries without limits and foreign files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Thread
from typing import TypeVar, cast

import psutil

from core.machine.memory import is_out_of_memory
from core.visible import visible_output

# No process of `multiprocessing`: that would run the dashboard's own script once more. -P: from any
# folder, none of whose files it loads.
BEGIN = ("-P", "-c", "from core.machine.confined import answer; answer()")
CLEANUP = 5.0  # seconds for an interrupted process to remove what it has half written

R = TypeVar("R")


def confine(work: Callable[..., R], *given: object, memory: int, seconds: float | None = None) -> R:
    with closing(stream(_once, work, *given, memory=memory, seconds=seconds)) as made:
        return cast(R, next(made))


def _once(work: Callable[..., R], *given: object) -> Iterator[R]:
    yield work(*given)


def stream(
    work: Callable[..., Iterator[R]], *given: object, memory: int, seconds: float | None = None
) -> Generator[R]:
    """Yield what `work` yields of what is given, in a process of its own, which ends with the
    generator. memory: bytes beyond those of its libraries (on Linux). seconds: for each item. Raise
    what `work` raises, MemoryError if it took more memory or crashed, and TimeoutError.
    """
    here, there = Pipe()
    with subprocess.Popen(
        [sys.executable, *BEGIN, str(there.fileno())],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        pass_fds=[there.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # interrupts are for this process, which ends the other
    ) as process:
        there.close()
        try:
            with suppress(OSError):  # it has ended already, as is found below
                here.send((memory, work, given))
            while True:
                try:
                    made, error = here.recv() if here.poll(seconds) else (None, TimeoutError())
                except (EOFError, OSError):
                    code = process.wait()
                    if code < 0:  # by the system, or a library that found no memory or crashed
                        raise MemoryError from None
                    reason = f"a process ended without an answer, with exit code {code}"
                    raise RuntimeError(reason) from None
                if isinstance(error, StopIteration):
                    return
                if error:
                    raise error
                yield cast(R, made)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(CLEANUP)
            raise
        finally:
            process.kill()
            here.close()


def answer() -> None:
    """Do the work that the process which began this one sends, and send back its results."""
    there = Connection(int(sys.argv[1]))
    with suppress(KeyboardInterrupt), visible_output():
        memory, work, given = there.recv()

        def end_with_parent() -> None:
            with suppress(EOFError, OSError):
                there.recv()
            os._exit(1)

        Thread(target=end_with_parent, daemon=True).start()
        if hasattr(psutil, "RLIMIT_DATA"):  # on Linux
            process = psutil.Process()
            most = process.memory_info().data + memory
            _, hard = process.rlimit(psutil.RLIMIT_DATA)
            most = most if hard == psutil.RLIM_INFINITY else min(most, hard)
            process.rlimit(psutil.RLIMIT_DATA, (most, most))
        try:
            for made in work(*given):
                there.send((made, None))
            there.send((None, StopIteration()))
        except Exception as error:
            there.send((None, MemoryError() if is_out_of_memory(error) else error))
    os._exit(0)  # threads of libraries may wait for a server
