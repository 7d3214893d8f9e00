"""The cores of this machine, processes that share them, and how a process ends."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Any, NoReturn, TypeVar

from core.errors import DeviceError

SHARE = "OMP_NUM_THREADS"  # as many threads may a process compute with; Ray sets it, too
MOST = 4  # processes; each takes about a gigabyte
_STARTED = 6  # items that a process makes in the time that it takes to start

T = TypeVar("T")
R = TypeVar("R")
_work: Callable[[Any], Any]  # of a process that was started here

endings = ExitStack()  # what is undone when this process ends, last in, first out
atexit.register(endings.close)


def exit_now(code: int) -> NoReturn:
    """Run `endings` and exit at once: a normal exit prints harmless warnings of DuckDB."""
    with suppress(Exception):  # what is undone is none of the process's results
        endings.close()
    for output in (sys.stdout, sys.stderr):
        with suppress(Exception):  # closed
            output.flush()
    os._exit(code)


def count_cores() -> int:
    """Return how many cores this process may run on, which a cluster may have limited."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_threads() -> int:
    """Return how many threads this process may compute with: one per core, or as SHARE says."""
    share = os.environ.get(SHARE, "")
    return max(1, min(count_cores(), int(share))) if share.isdecimal() else count_cores()


def count_processes(items: int, device: object = "cpu") -> int:
    """Return how many processes pay for so many items; one on a device that they would have to
    share.
    """
    shared = str(device) != "cpu"
    return 1 if shared else max(1, min(count_threads(), MOST, items // _STARTED))


def spread(
    work: Callable[[T], R],
    items: Sequence[T],
    *,
    processes: int,
    threads: int | None = None,
    light: bool = False,
) -> Iterator[tuple[int, R]]:
    """Yield the place of each item and what `work` makes of it, as they are done. One process is
    this one, and takes the items in order. threads: of each process, its share of the cores if
    None. light: processes need no torch. The first error ends all; raise DeviceError if a process
    was killed.
    """
    if processes == 1:
        yield from ((place, work(item)) for place, item in enumerate(items))
        return
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    threads = threads or max(1, count_threads() // processes)
    with ProcessPoolExecutor(processes, context, _begin, (work, threads, light)) as pool:
        with interrupts_held():
            places = {pool.submit(_call, item): place for place, item in enumerate(items)}
        try:
            with naming_killed(processes):
                for done in as_completed(places):
                    yield places[done], done.result()
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        finally:  # a caller that stops waits for no more than what has begun
            pool.shutdown(cancel_futures=True)


@contextmanager
def naming_killed(processes: int) -> Iterator[None]:
    """Raise DeviceError if one of a pool's processes was killed meanwhile."""
    try:
        yield
    except BrokenProcessPool as error:
        raise DeviceError(
            f"one of {processes} processes was ended from outside, most likely because memory ran"
            " out; free some, then start again: finished models and answers are kept"
        ) from error


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let interrupts wait, for good in the processes that begin meanwhile: this one stops them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Let this process end when the one that began it does, even if that is killed."""

    def follow() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
            os._exit(1)

    Thread(target=follow, daemon=True).start()


def _call(item: Any) -> Any:
    return _work(item)


def _begin(work: Callable[[Any], Any], threads: int, light: bool) -> None:
    atexit.register(os._exit, 0)  # see `exit_now`
    end_with_parent()
    os.environ[SHARE] = str(threads)
    if not light:
        import scipy.linalg  # noqa: F401  its threads are limited where it is loaded
        import torch  # seconds, here alone
        from threadpoolctl import threadpool_limits  # comes with scikit-learn

        torch.set_num_threads(threads)
        threadpool_limits(threads)
    global _work
    _work = work
