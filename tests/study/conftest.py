"""Stores that several tests read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.store import Store, add_dataset
from core.study.study import Study
from tests.store_fakes import CountedDataset
from tests.study.stored import MODALITIES, SIZE, layers_of, put


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    add_dataset(root, CountedDataset(SIZE))
    for seed, name in enumerate(MODALITIES):
        put(root, name, layers_of(seed))
    return root


@pytest.fixture
def study(filled: Path) -> Study:
    return Study(Store(filled), "counted")


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store of a wide model, one with degenerate layers next to a sound one, and one of
    degenerate layers alone.
    """
    root = tmp_path_factory.mktemp("uneven")
    add_dataset(root, CountedDataset(SIZE))
    sound = layers_of(0, widths=(70, 5))
    put(root, "ape", sound[:1])
    put(root, "bee", [np.zeros_like(sound[1]), np.ones_like(sound[1]), sound[1]])
    put(root, "cat", [np.zeros_like(sound[1])])
    put(root, "reality", layers_of(1, widths=(70,)))
    return Store(root)
