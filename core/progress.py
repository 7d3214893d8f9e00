"""Progress of long work: how much is done, how fast it goes, how long it will take."""

from __future__ import annotations

import sys
from io import TextIOBase
from threading import RLock
from typing import Protocol, TextIO, runtime_checkable

from tqdm.auto import tqdm
from tqdm.notebook import tqdm_notebook

Stream = TextIO | TextIOBase  # what sys.stderr is, and what tests write to
SHOWN_EVERY = 0.2  # seconds, on a terminal and in a notebook
LOGGED_EVERY = 5.0  # seconds, in a log
LOG_LINE = "{desc}: {n_fmt}/{total_fmt} ({percentage:.0f}%) [{elapsed}<{remaining}, {rate_fmt}]"
IN_NOTEBOOK = issubclass(tqdm, tqdm_notebook)

tqdm.set_lock(RLock())  # one between processes would outlive a command that leaves at once


@runtime_checkable  # tests check arguments against it
class Progress(Protocol):
    """A listener to progress; called as `report(done, total, what)` and quick
    to return.
    """

    def __call__(self, done: int, total: int, what: str) -> None: ...


class ConsoleProgress:
    """Show progress as a bar on a terminal or in a notebook, and as lines in a log.

    A log gets a line when work begins, every few seconds, and when it ends. The rate is that since
    the work began here, so that a resumed run is timed right.
    """

    def __init__(self, stream: Stream | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar: tqdm | None = None
        self._what = ""

    def __call__(self, done: int, total: int, what: str) -> None:
        bar = self._bar
        if bar is None or what != self._what or done < bar.n:
            self._close()
            bar = self._bar = self._open(done, total, what)
            self._what = what
        bar.update(done - bar.n)
        if done >= total:
            self._close()

    def _open(self, done: int, total: int, what: str) -> tqdm:
        live = IN_NOTEBOOK or self._stream.isatty()
        return tqdm(
            desc=what,
            initial=done,
            total=total,
            unit="",
            file=self._stream if live else _Lines(self._stream),
            mininterval=SHOWN_EVERY if live else LOGGED_EVERY,
            miniters=1,  # else tqdm skips reports after fast ones, and starts a thread to make up
            smoothing=0,
            bar_format=None if live else LOG_LINE,
        )

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Lines:
    """A stream on which each redrawing of a bar becomes a line of its own."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def flush(self) -> None:
        self._stream.flush()
