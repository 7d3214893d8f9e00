"""Jobs go on for as long as a server lives: those that were left when the last server or the
machine ended, and those whose worker was killed.
"""

from __future__ import annotations

import sys
from threading import Event, Thread

from core.errors import PlatoscopeError
from core.settings import store_path
from core.unexpected import tell_unexpected

PAUSE = 5.0  # seconds between two looks at the queue


def watch_jobs(pause: float = PAUSE) -> Event:
    """Start a worker now and later on whenever the store has unfinished jobs and no worker; return
    what ends the watch.
    """
    end = Event()
    Thread(target=_watch, args=(end, pause), daemon=True).start()
    return end


def _watch(end: Event, pause: float) -> None:
    from core.jobs.states import ensure_worker  # duckdb: the server listens meanwhile

    trouble = ""
    while not end.is_set():
        before, trouble = trouble, ""
        try:
            ensure_worker(store_path())
        except PlatoscopeError as error:
            trouble = str(error)
        except Exception as error:  # nobody would start workers any more
            trouble = tell_unexpected(error)
        if trouble and trouble != before:
            print(f"platoscope: {trouble}", file=sys.stderr)
        end.wait(pause)
