"""Jobs that were left when the last server or the machine ended: this server has them go on."""

from __future__ import annotations

import sys
from threading import Thread

from core.errors import PlatoscopeError
from core.settings import store_path


def resume_jobs() -> Thread:
    """Start a worker where the store has unfinished jobs and no worker, while the server starts."""
    thread = Thread(target=_resume, daemon=True)
    thread.start()
    return thread


def _resume() -> None:
    from core.jobs.starting import ensure_worker  # duckdb: the server listens meanwhile

    try:
        ensure_worker(store_path())
    except PlatoscopeError as error:
        print(f"platoscope: {error}", file=sys.stderr)
