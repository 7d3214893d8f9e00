from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.jobs import queue


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no worker be started."""
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Let jobs be interrupted: those of a shell's background inherit that they are not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
