"""Adapters come back from their file as they were, and nothing else is taken for them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load as read
from safetensors.numpy import save

from core.errors import FeatureError
from core.questions.adapters.maps.files import digest, dump, load
from core.questions.adapters.maps.model import Adapter, Adapters
from core.recipe import Recipe

RECIPE = Recipe.of("adapters", spaces=["a:1", "b:2"], seed=3)


@pytest.fixture
def adapters() -> Adapters:
    rng = np.random.default_rng(0)
    maps = {
        name: Adapter(
            rng.normal(size=(d, 4)).astype(np.float32), rng.normal(size=4).astype(np.float32)
        )
        for name, d in (("a:1", 6), ("b:2", 3))
    }
    return Adapters(maps, 0.07)


def test_what_was_written_is_read(adapters: Adapters) -> None:
    found, recipe = load(dump(adapters, RECIPE))
    assert recipe == RECIPE
    assert (list(found.maps), found.temperature, found.width) == (["a:1", "b:2"], 0.07, 4)
    space = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)
    np.testing.assert_array_equal(
        found.apply({"a:1": space})["a:1"], adapters.apply({"a:1": space})["a:1"]
    )


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no tensors", b"\xff" * 64])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(
        FeatureError,
        match="not a complete safetensors file; expected adapters that were downloaded here",
    ):
        load(data)


def test_foreign_tensors_are_refused() -> None:
    for metadata in ({}, {"format": "pt"}):
        with pytest.raises(
            FeatureError, match="holds no adapters: its metadata lacks 'platoscope adapters 3'"
        ):
            load(save({"weight_0": np.ones((2, 2), np.float32)}, metadata))


def test_a_file_cut_short_or_changed_is_refused(adapters: Adapters) -> None:
    data = dump(adapters, RECIPE)
    with pytest.raises(FeatureError, match="not a complete safetensors file"):
        load(data[:-8])
    with pytest.raises(FeatureError, match="was changed after it was written; fetch it or train"):
        load(data[:-1] + bytes([data[-1] ^ 1]))


def taken_apart(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    length = int.from_bytes(data[:8], "little")
    return read(data), json.loads(data[8 : 8 + length])["__metadata__"]


def signed(tensors: dict[str, np.ndarray], told: dict[str, str]) -> bytes:
    """Return a file whose digest is right, whatever it holds."""
    told = {name: value for name, value in told.items() if name != "digest"}
    return save(tensors, {**told, "digest": digest(tensors, told)})


KEYS = ("encoders", "temperature", "products", "recipe_kind", "recipe")


def test_every_change_of_what_is_said_is_noticed(adapters: Adapters) -> None:
    tensors, told = taken_apart(dump(adapters, RECIPE))
    assert load(signed(tensors, told))[1] == RECIPE
    for name in (*KEYS, "digest"):
        for damaged in (
            {key: value for key, value in told.items() if key != name},
            {**told, name: told[name] + " "},
        ):
            with pytest.raises(FeatureError, match="was changed after it was written"):
                load(save(tensors, damaged))


def test_signed_files_that_say_too_little_or_nonsense_are_refused(adapters: Adapters) -> None:
    tensors, told = taken_apart(dump(adapters, RECIPE))
    damages = [{key: value for key, value in told.items() if key != name} for name in KEYS]
    bad = ("", "{", "null", "[]", "7", '"a"', '["a:1"]', '["a:1", "a:1"]', '[["a"], "b"]')
    damages += [{**told, "encoders": value} for value in bad]
    damages += [{**told, "temperature": value} for value in ("", "x", "nan", "inf", "0", "-1")]
    for damaged in damages:
        with pytest.raises(FeatureError, match="lacks some of what it should say of its adapters"):
            load(signed(tensors, damaged))
