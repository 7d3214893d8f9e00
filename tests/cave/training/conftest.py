"""A pool small enough to be drawn in a test, and configs small enough to be trained in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.cave.training.configs import CONFIGS, Config
from core.cave.training.pool import Pool

CPU = torch.device("cpu")


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return Pool(tmp_path_factory.mktemp("pool"), images=24, events=32)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sum in one order, as a training process does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tiny(name: str, **changes: object) -> Config:
    """Return a config that takes six steps of four items."""
    return replace(CONFIGS[name], **{"steps": 6, "batch": 4, "snapshots": (), **changes})


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
