"""How long the hub may keep a command waiting, and what is said meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Event, Lock, Thread
from time import monotonic

from huggingface_hub.errors import OfflineModeIsEnabled

from core.progress import Progress
from core.settings import hub_seconds

LEAST = 1_000  # bytes: a hub that sends fewer than these within the limit has stalled
SHOWN_AFTER = 2.0  # seconds of silence before anything is said of it
TOLD_EVERY = 1.0  # seconds


class HubTroubleError(OfflineModeIsEnabled):
    """The hub does not do its part; the message goes on after "the hub".

    To its library this is a missing network: it takes what is in the cache and does not try again.
    """


class Patience:
    """What is left of the time that the hub may keep a command waiting.

    Time counts from the last answer, or from the last LEAST bytes of one, while a request is open
    or has failed. Once it is up, every further request fails at once.

    limit: the seconds. most: those that all requests may take together, however they are answered;
    what this machine does between two of them does not count.
    """

    def __init__(self, limit: float, *, most: float = inf) -> None:
        self.limit, self.most = limit, most
        self._closed = monotonic()  # when the last request was
        self._end = self._closed + most
        self.trouble: HubTroubleError | None = None
        self.was_answered = False
        self._lock = Lock()
        self._open, self._bytes = 0, 0
        self.failure = ""  # of the last request, empty where it was answered
        self._since = monotonic()

    def begin(self) -> float:
        """Open a request and return since when time counts; raises HubTroubleError where it was up
        before.
        """
        if self.trouble:
            raise self.trouble
        with self._lock:
            if not self._is_waiting():
                self._end += monotonic() - self._closed
                self._restart()
            self._open += 1
            return self._since

    def end(self) -> None:
        """Close a request."""
        with self._lock:
            self._open -= 1
            self._closed = monotonic()

    def failed(self, reason: str, *, since: float | None = None) -> None:
        """Note why a request is to be repeated: the time runs on, and counts since then where all
        that has come is lost.
        """
        with self._lock:
            self.failure = reason
            self._since = self._since if since is None else since

    def answered(self) -> None:
        """Note an answer: the time begins anew."""
        with self._lock:
            self.was_answered = True
            self._restart()

    def received(self, count: int) -> None:
        """Note bytes of a body; raises HubTroubleError where they come too slowly."""
        with self._lock:
            self._bytes += count
            if self._bytes >= LEAST:
                self._restart()
        if not self.left():
            raise self.give_up(f"has sent less than {LEAST:,} bytes in {self.limit:g} s")

    def _restart(self) -> None:
        self._since, self._bytes, self.failure = monotonic(), 0, ""

    def silence(self) -> float:
        """Return for how many seconds the hub has kept us waiting."""
        with self._lock:
            return monotonic() - self._since if self._is_waiting() else 0.0

    def left(self) -> float:
        """Return how many seconds are left, 0 where the time is up."""
        return max(0.0, min(self.limit - self.silence(), self._left_of_most()))

    def _left_of_most(self) -> float:
        with self._lock:
            return self._end - (monotonic() if self._is_waiting() else self._closed)

    def _is_waiting(self) -> bool:
        return bool(self._open or self.failure)

    def give_up(self, reason: str) -> HubTroubleError:
        """Return the error in which this and every further request ends."""
        if self._left_of_most() <= 0:
            reason = f"has not answered in full within {self.most:g} s"
        self.trouble = self.trouble or HubTroubleError(reason)
        return self.trouble


_active: list[Patience] = []  # for all threads: the library fetches in threads of its own


def current() -> Patience:
    """Return the patience of the work at hand; outside of `waiting`, a fresh one per request."""
    return _active[-1] if _active else Patience(hub_seconds())


@contextmanager
def waiting(what: str, report: Progress | None, *, most: float = inf) -> Iterator[Patience]:
    """Have patience with the requests within, and report when a server is silent for long. most:
    see `Patience`.
    """
    patience, done = Patience(hub_seconds(), most=most), Event()
    _active.append(patience)
    teller = Thread(target=_tell, args=(patience, done, what, report), daemon=True)
    teller.start()
    try:
        yield patience
    finally:
        _active.remove(patience)
        done.set()
        teller.join()


def _tell(patience: Patience, done: Event, what: str, report: Progress | None) -> None:
    """Report the seconds of silence, and at the end that it is over."""
    waited, total = 0, max(1, round(patience.limit))
    what = f"{what}: waiting for an answer, in seconds"
    while report and not done.wait(TOLD_EVERY):
        silence = patience.silence()
        if silence >= SHOWN_AFTER:
            waited = min(int(silence), total - 1)
            report(waited, total, what)
    if report and waited:
        report(waited, waited, what)
