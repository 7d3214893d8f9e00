"""The store that the registry and the import of scores are tried on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from competence.scored_models import make_store


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("made"))


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """Return a store of one's own."""
    return shutil.copytree(made, tmp_path / "store")
