"""Models that are cut give what they give as a whole, and places and maps are what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tiny_models import make_vision

from core.cave.drawing import draw
from core.cave.events import events
from core.cave.world import WORLD
from core.encoders.catalog import open_encoder
from core.errors import EncoderError
from core.networks.stitches import Moments, identity, least_squares, random_map
from core.networks.vision import Places, VisionNetwork, bring, cut_vision
from core.settings import CAVE_WEIGHTS

CPU = torch.device("cpu")
VISION = {"vit-multitask-xs": "vit_tiny_patch16_224", "resnet-multitask-s": "resnet10t"}
EVENTS = list(events("tests", 3))


def seeing(name: str) -> VisionNetwork:
    return cut_vision(open_encoder(f"timm:{VISION[name]}@{CAVE_WEIGHTS / name}", device=CPU), WORLD)


@torch.no_grad()
def from_each_layer(network: VisionNetwork) -> list[torch.Tensor]:
    batch = network.read(EVENTS)
    layers = range(len(network.card.layers))
    return [network.upper(network.lower(batch, layer), layer) for layer in layers]


@pytest.mark.parametrize("name", VISION)
@torch.no_grad()
def test_a_vision_model_goes_on_from_every_layer_as_if_it_had_not_been_cut(name: str) -> None:
    network = seeing(name)
    batch, model = network.read(EVENTS), network.encoder.model
    whole = model(batch["images"])
    assert all(torch.equal(features, whole) for features in from_each_layer(network))
    read = network.encoder.encode([draw(event, size=48) for event in EVENTS]).layers
    for layer, vectors in enumerate(read):
        state, places = network.lower(batch, layer), network.places(layer)
        assert state.shape[1] == places.prefix + places.height * places.width
        pooled = state[:, 0] if places.prefix else state.mean(1)
        assert np.allclose(pooled, vectors, atol=1e-5)


def test_what_cannot_be_cut_is_refused_in_a_sentence(tmp_path: Path) -> None:
    folder = make_vision(tmp_path / "mixer", "test_efficientnet")
    other = open_encoder(f"timm:test_efficientnet@{folder}", device=CPU)
    with pytest.raises(EncoderError, match="EfficientNet, which cannot be cut into layers here"):
        cut_vision(other, WORLD)


def test_states_are_brought_to_other_places() -> None:
    dice = torch.Generator().manual_seed(0)
    state = torch.randn(2, 1 + 4 * 4, 3, generator=dice)
    here = Places(1, 4, 4)
    assert bring(state, here, here) is state
    plain = bring(state, here, Places(0, 4, 4))
    assert torch.equal(plain, state[:, 1:])
    lacking = bring(plain, Places(0, 4, 4), here)
    assert torch.allclose(lacking[:, 0], plain.mean(1))
    smaller = bring(state, here, Places(1, 2, 2))
    cells = state[:, 1:].transpose(1, 2).reshape(2, 3, 4, 4)
    assert smaller.shape == (2, 5, 3)
    assert torch.allclose(smaller[:, 1:].mean(1), F.avg_pool2d(cells, 4).flatten(1), atol=0.2)
    flat = torch.ones(2, 17, 3)
    assert torch.allclose(bring(flat, here, Places(1, 7, 5)), torch.ones(2, 36, 3))


def test_maps_against_an_oracle_and_by_their_moments() -> None:
    dice = np.random.default_rng(0)
    x = dice.normal(size=(200, 5)) @ dice.normal(size=(5, 6)) + 2.0  # of rank 5
    y = x @ dice.normal(size=(6, 4)) + dice.normal(size=(200, 4))
    moments = Moments.of(torch.from_numpy(x).float(), torch.from_numpy(y).float())
    fitted = least_squares(moments)
    ones = np.hstack([x, np.ones((200, 1))])
    oracle = ones @ np.linalg.lstsq(ones, y, rcond=1e-8)[0]
    state = torch.from_numpy(x).float()[None]
    assert np.allclose(fitted(state)[0], oracle, atol=1e-3)
    drawn = random_map(moments, seed=1)(state)[0].numpy()
    assert np.allclose(drawn.mean(0), y.mean(0), atol=1e-3)
    assert np.allclose(drawn.std(0), y.std(0), rtol=1e-3)
    assert torch.equal(random_map(moments, seed=1).weight, random_map(moments, seed=1).weight)
    assert not torch.equal(random_map(moments, seed=1).weight, random_map(moments, seed=2).weight)
    assert torch.equal(identity(6)(state), state)
