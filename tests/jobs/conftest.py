from __future__ import annotations

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
