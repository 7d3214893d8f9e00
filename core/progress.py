"""Progress of long work: how much is done, how fast it goes, how long it will take."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from io import TextIOBase
from pathlib import Path
from threading import RLock
from typing import Protocol, TextIO, TypeVar, runtime_checkable

from tqdm.auto import tqdm
from tqdm.notebook import tqdm_notebook

Stream = TextIO | TextIOBase  # what sys.stderr is, and what tests write to
SHOWN_EVERY = 0.2  # seconds, on a terminal and in a notebook
LOGGED_EVERY = 5.0  # seconds, in a log
NOTED_EVERY = 0.5  # seconds, in the note of a job
DELAY = 5.0  # seconds in which inner loops report nothing
LOG_LINE = "{desc}: {n_fmt}/{total_fmt} ({percentage:.0f}%) [{elapsed}<{remaining}, {rate_fmt}]"
IN_NOTEBOOK = issubclass(tqdm, tqdm_notebook)

T = TypeVar("T")
_rows: list[Mapping[str, float]] = []

JOB_NOTE = "PLATOSCOPE_JOB"  # set in a job: the file in which it notes its progress

tqdm.set_lock(RLock())  # one between processes would outlive a command that leaves at once


@runtime_checkable  # tests check arguments against it
class Progress(Protocol):
    """A listener to progress, quick to return."""

    def __call__(self, done: int, total: int, what: str) -> None: ...


_listener: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(report: Progress) -> Iterator[None]:
    """Send what `tell` reports in this thread to a listener; see `Patient`."""
    token = _listener.set(Patient(report))
    try:
        yield
    finally:
        _listener.reset(token)


def tell(done: int, total: int, what: str) -> None:
    """Report progress to the current listener; nothing of no work."""
    report = _listener.get()
    if report and total:
        report(done, total, what)


def tell_each(items: Collection[T], what: str) -> Iterator[T]:
    """Yield items, and report how many are done before the first and after each."""
    tell(0, len(items), what)
    for done, one in enumerate(items, start=1):
        yield one
        tell(done, len(items), what)


class Patient:
    """Forwards the progress of the outermost work at once, that of work within it only after DELAY
    seconds.
    """

    def __init__(self, report: Progress) -> None:
        self._report = report
        self._began: dict[str, float] = {}
        self._last: dict[str, int] = {}
        self._open: list[str] = []

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if done <= self._last.get(what, total):  # it begins, or begins again
            self._began[what] = now
        self._last[what] = done
        if what not in self._open:
            self._open.append(what)
        if what == self._open[0] or now - self._began[what] >= DELAY:
            self._report(done, total, what)
        if done >= total:
            self._open.remove(what)


@dataclass(frozen=True)
class ProgressNote:
    """How far a job is. seconds_left: None before the first step. rows: what its answer has so far,
    such as the points of a curve.
    """

    done: int
    total: int
    what: str
    seconds_left: float | None
    rows: Sequence[Mapping[str, float]] = ()


def read_note(path: Path) -> ProgressNote | None:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return ProgressNote(**dict(said, rows=tuple(said["rows"])))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def note_rows(rows: Sequence[Mapping[str, float]]) -> None:
    """Add rows that the answer will have to the notes of a job's progress."""
    _rows[:] = rows


def in_job() -> bool:
    """Return whether this process is a job of `core.jobs`."""
    return bool(os.environ.get(JOB_NOTE))


class JobProgress:
    """Notes progress in a file, a few times a second."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._what, self._first, self._last = "", 0, 0
        self._began = self._noted = 0.0

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        is_new = what != self._what or done < self._last
        if is_new:
            self._what, self._first, self._began = what, done, now
        self._last = done
        if not is_new and done < total and now - self._noted < NOTED_EVERY:
            return
        self._noted, steps = now, done - self._first
        left = (total - done) * (now - self._began) / steps if steps else None
        new = self._path.with_name(f"{self._path.name}.new")
        with suppress(OSError):  # a job that can go on does not end for want of a note
            note = asdict(ProgressNote(done, total, what, left, tuple(_rows)))
            new.write_text(json.dumps(note), encoding="utf-8")
            new.replace(self._path)


class ConsoleProgress:
    """Shows progress as a bar on a terminal or in a notebook, and as lines in a log; notes it in a
    job. The rate counts from where this run began.
    """

    def __init__(self, stream: Stream | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar: tqdm | None = None
        self._what = ""
        self._note = JobProgress(Path(os.environ[JOB_NOTE])) if in_job() else None

    def __call__(self, done: int, total: int, what: str) -> None:
        bar = self._bar
        if bar is None or (what, total) != (self._what, bar.total) or done < bar.n:
            self._close()
            live = IN_NOTEBOOK or self._stream.isatty()
            self._what, bar = (
                what,
                tqdm(
                    desc=what,
                    initial=done,
                    total=total,
                    unit="",
                    file=self._stream if live else _Lines(self._stream),
                    mininterval=SHOWN_EVERY if live else LOGGED_EVERY,
                    miniters=1,  # else tqdm skips reports after fast ones, and starts a thread
                    smoothing=0,
                    bar_format=None if live else LOG_LINE,
                ),
            )
            self._bar = bar
        bar.update(done - bar.n)
        if self._note:
            self._note(done, total, what)
        if done >= total:
            self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Lines:
    """Writes each redrawing of a bar as a line of its own."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def flush(self) -> None:
        self._stream.flush()
