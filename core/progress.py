"""Progress of long work: how much is done, how fast it goes, how long it will take."""

from __future__ import annotations

import sys
import time
from io import TextIOBase
from typing import Protocol, TextIO, runtime_checkable

SHOWN_EVERY = 0.2  # seconds, on a terminal
LOGGED_EVERY = 5.0  # seconds, in a log


@runtime_checkable  # tests check arguments against it
class Progress(Protocol):
    """Whoever wants to hear how far work has come; called as `report(done, total, what)` and quick
    to return.
    """

    def __call__(self, done: int, total: int, what: str) -> None: ...


class ConsoleProgress:
    """Say on a stream what is done, the rate since the work began here, and the time left.

    On a terminal one line is redrawn; elsewhere a line is added every few seconds, and one at the
    end.
    """

    def __init__(self, stream: TextIO | TextIOBase | None = None) -> None:
        self.stream = stream or sys.stderr
        self._what, self._first, self._began, self._spoke = "", 0, 0.0, 0.0

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if what != self._what:
            self._what, self._first, self._began, self._spoke = what, done, now, now
        live = self.stream.isatty()
        if done < total and now - self._spoke < (SHOWN_EVERY if live else LOGGED_EVERY):
            return
        self._spoke = now
        line = progress_line(
            done, total, what, gained=done - self._first, seconds=now - self._began
        )
        end = "\n" if done >= total or not live else ""
        self.stream.write(f"\r{line}\033[K{end}" if live else f"{line}{end}")
        self.stream.flush()
        if done >= total:
            self._what = ""


def progress_line(done: int, total: int, what: str, *, gained: int, seconds: float) -> str:
    """Return `what: done/total (share), rate, time left`; rate and time only where `gained` items
    in `seconds` tell them.
    """
    line = f"{what}: {done}/{total} ({done / max(total, 1):.0%})"
    if gained <= 0 or seconds <= 0:
        return line
    rate = gained / seconds
    line += f", {rate:.3g}/s"
    return (
        f"{line}, {_duration((total - done) / rate)} left"
        if done < total
        else f"{line}, took {_duration(seconds)}"
    )


def _duration(seconds: float) -> str:
    """Return seconds as 8 s, 3 min 20 s or 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
