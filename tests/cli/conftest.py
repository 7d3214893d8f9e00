"""What the tests of commands share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _process_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what a command changes of its process: its priority, and what signals do."""
    monkeypatch.setattr("core.cli.jobs.NICENESS", 0)
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)
