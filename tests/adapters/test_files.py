"""Adapters come back from their file as they were, and nothing else is taken for them."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import save

from core.adapters.files import dump, load
from core.adapters.model import Adapter, Adapters
from core.errors import FeatureError
from core.recipe import Recipe

RECIPE = Recipe.of("adapters", spaces=["a:1", "b:2"], seed=3)


@pytest.fixture
def adapters() -> Adapters:
    rng = np.random.default_rng(0)
    maps = {
        name: Adapter(rng.normal(size=(d, 4)).astype(np.float32), rng.normal(size=4).astype(np.float32))
        for name, d in (("a:1", 6), ("b:2", 3))
    }
    return Adapters(maps, 0.07)


def test_what_was_written_is_read(adapters: Adapters) -> None:
    found, recipe = load(dump(adapters, RECIPE))
    assert recipe == RECIPE
    assert (list(found.maps), found.temperature, found.width) == (["a:1", "b:2"], 0.07, 4)
    space = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)
    np.testing.assert_array_equal(found.apply({"a:1": space})["a:1"], adapters.apply({"a:1": space})["a:1"])


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no tensors", b"\xff" * 64])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(FeatureError, match="no whole safetensors file; expected adapters that were downloaded here"):
        load(data)


def test_foreign_tensors_are_refused() -> None:
    for metadata in ({}, {"format": "pt"}):
        with pytest.raises(FeatureError, match="holds no adapters: its metadata lacks 'platoscope adapters 1'"):
            load(save({"weight_0": np.ones((2, 2), np.float32)}, metadata))


def test_a_file_cut_short_or_changed_is_refused(adapters: Adapters) -> None:
    data = dump(adapters, RECIPE)
    with pytest.raises(FeatureError, match="no whole safetensors file"):
        load(data[:-8])
    with pytest.raises(FeatureError, match="not those that were written; fetch it again"):
        load(data[:-1] + bytes([data[-1] ^ 1]))
