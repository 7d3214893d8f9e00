"""Starting the worker of a store: a process of its own, which outlives the server."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread

from core.errors import StoreWriteError
from core.jobs.job import jobs_folder
from core.jobs.table import IS_UNFINISHED, rows
from core.settings import CHECKOUT, check_writable
from core.store import is_locked

STARTING = 10.0  # seconds that a worker may take until it holds its lock
PROGRAM = (sys.executable, "-P", "-m", "core")  # -P: from any folder, none of whose files it loads
CLUSTER_PROGRAM = (*PROGRAM[:-1], "core.jobs.cluster")


@dataclass(frozen=True)
class Started:
    """A worker that this process has started."""

    store: Path
    process: subprocess.Popen[bytes]
    at: float


_started: list[Started] = []
_turn = Lock()


def worker_lock(store: Path) -> Path:
    """Return what the worker of a store holds locked for as long as it lives."""
    return jobs_folder(store) / "worker"


def has_worker(store: Path) -> bool:
    """Return whether a worker of this store lives."""
    return is_locked(worker_lock(store))


def ensure_worker(store: Path) -> None:
    """Start a worker where jobs wait for one and none lives; raises StoreWriteError."""
    if not rows(store, IS_UNFINISHED) or has_worker(store):
        return
    store = Path(store).absolute()
    with _turn:
        if not _is_starting(store):
            worker = _start(store)
            _started.append(Started(store, worker, time.monotonic()))
            Thread(target=worker.wait, daemon=True).start()  # else its end would leave a zombie


def environment(store: Path) -> dict[str, str]:
    """Return the environment of a command over a store that runs in any folder."""
    paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PLATOSCOPE_STORE": str(store), "PYTHONPATH": os.pathsep.join(paths)}


def _is_starting(store: Path) -> bool:
    """Return whether a worker was started a moment ago."""
    _started[:] = [each for each in _started if each.process.poll() is None]
    return any(each.store == store and time.monotonic() - each.at < STARTING for each in _started)


def _start(store: Path) -> subprocess.Popen[bytes]:
    log = jobs_folder(store) / "worker.log"
    check_writable(log)
    try:
        with log.open("ab") as file:
            return subprocess.Popen(
                [*PROGRAM, "jobs", "work"],
                cwd=CHECKOUT,
                env=environment(store),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,  # it outlives the server and its terminal
            )
    except OSError as error:
        raise StoreWriteError(
            f"no worker can be started for {store} ({error.strerror}); start one by hand with"
            " `platoscope jobs work`"
        ) from error
