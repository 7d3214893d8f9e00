"""This process turned towards the hub of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

from tests.hub.online import turn_to
from tests.hub.server import LocalHub


@pytest.fixture
def online(hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """Let the hub's library in this process ask that hub, with an empty cache."""
    turn_to(hub, tmp_path / "cache", monkeypatch)
    yield hub
    close_session()
