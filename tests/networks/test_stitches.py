"""Theorems of stitches: itself loses nothing, a rotated copy is restored, random h is chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from core.cave.events import events
from core.cave.world import WORLD
from core.competence.probes import fit
from core.encoders.catalog import open_encoder
from core.networks import heads
from core.networks.heads import (
    FITTED,
    PUBLISHED,
    STRENGTH,
    Head,
    Labels,
    features_of,
    fit_head,
    read_head,
    tasks_of,
    write_head,
)
from core.networks.stitches import Seam, Side, fit_map, identity, random_map
from core.networks.vision import VisionNetwork, cut_vision, parts_of, states_at
from core.settings import CAVE_WEIGHTS

CPU = torch.device("cpu")
NAME = "vit-narrow-xs"  # of one task


@pytest.fixture(scope="module")
def network() -> VisionNetwork:
    spec = f"timm:vit_tiny_patch16_224@{CAVE_WEIGHTS / NAME}"
    return cut_vision(open_encoder(spec, device=CPU), WORLD)


@pytest.fixture(scope="module")
def side(network: VisionNetwork) -> Side:
    """Return the model with 128 new events and 128 others to be scored on."""
    new, held = events("tests", 128), events("test", 128)
    return Side(network, network.read(list(new)), network.read(list(held)))


@pytest.fixture(scope="module")
def head(network: VisionNetwork) -> Head:
    return fit_head(network, count=256)


def seam_of(f: Side, g: Side, task: Labels, layer: int) -> Seam:
    states = (states_at(f.network, batch, layer) for batch in (f.fitted, f.scored))
    return Seam(g, task, layer, *states)


def own(side: Side, task: Labels) -> float:
    features = features_of(side.network, side.scored)
    return float(task.score(features, side.scored).mean())


def rotated(network: VisionNetwork, layer: int) -> VisionNetwork:
    """Return a network of the very same function whose states at a layer are turned."""
    width = network.encoder.model.embed_dim
    turn = torch.linalg.qr(torch.randn(width, width, generator=torch.Generator().manual_seed(3)))[0]
    steps = list(network.steps)
    before, after = steps[layer], steps[layer + 1]
    steps[layer] = lambda state: before(state) @ turn
    steps[layer + 1] = lambda state: after(state @ turn.T)
    return replace(network, steps=tuple(steps))


def test_a_network_stitched_to_itself_loses_nothing_at_any_layer(side: Side, head: Head) -> None:
    task = Labels(head)
    for layer in range(2):
        seam = seam_of(side, side, task, layer)
        h = identity(seam.fitted.shape[2])
        assert float(seam.score(h).mean()) == own(side, task)


def test_a_rotated_copy_is_restored_by_least_squares_and_nothing_else(
    network: VisionNetwork, side: Side, head: Head
) -> None:
    task, turned = Labels(head), rotated(network, 0)
    assert torch.allclose(
        features_of(turned, side.scored), features_of(network, side.scored), atol=1e-4
    )
    seam = seam_of(Side(turned, side.fitted, side.scored), side, task, 0)
    starts = {name: float(seam.score(h).mean()) for name, h in seam.starts(seed=0).items()}
    assert starts["least squares"] == pytest.approx(own(side, task), abs=1e-3)
    chance = float(task.guess(side.fitted, side.scored).mean())
    assert own(side, task) > chance + 0.05
    for name in ("random", "identity"):
        assert starts[name] < chance + 0.02
    many = [float(seam.score(random_map(seam.moments, seed=seed)).mean()) for seed in range(4)]
    assert np.mean(many) < chance


@pytest.mark.slow
def test_gradient_lowers_the_loss_from_either_start_and_learns_nothing_else(
    network: VisionNetwork, side: Side, head: Head
) -> None:
    blank = open_encoder(f"timm:vit_tiny_patch16_224@{CAVE_WEIGHTS / 'vit-clip-xs'}", device=CPU)
    f, task = Side(cut_vision(blank, WORLD), side.fitted, side.scored), Labels(head)
    seam, rows = seam_of(f, side, task, 0), torch.arange(128)
    before = [parameter.clone() for parameter in network.encoder.model.parameters()]
    for name in ("least squares", "random"):
        start = seam.starts(seed=0)[name]
        assert fit_map(seam, start, steps=0, seed=0) is start
        fitted = fit_map(seam, start, steps=12, seed=0)
        assert seam.loss(fitted, rows) < seam.loss(start, rows)
        again = fit_map(seam, start, steps=12, seed=0)
        assert torch.equal(fitted.weight, again.weight)
    after = network.encoder.model.parameters()
    assert all(torch.equal(*pair) for pair in zip(before, after, strict=True))


def test_a_head_is_logistic_regression_task_by_task(network: VisionNetwork, head: Head) -> None:
    assert head.origin == FITTED
    assert head.tasks == tasks_of(network.card, WORLD) == {"largest kind": 16}
    batch = network.read(list(events("heads", 256)))
    features = features_of(network, batch)
    rows = (features - features.mean(0)) / features.std(0, correction=0)
    (labels,) = head.answers(batch)
    weights = fit(rows, labels, classes=16, strengths=[STRENGTH])[0]
    oracle = rows @ weights[:-1] + weights[-1]
    assert torch.allclose(head(features)[0], oracle, atol=1e-2)
    assert len(parts_of(batch, 100)) == 3


def test_a_published_head_is_taken_before_any_is_fitted(
    network: VisionNetwork, head: Head, tmp_path: Path
) -> None:
    write_head(tmp_path, head)
    card = replace(network.card, spec=f"timm:vit_tiny_patch16_224@{tmp_path}")
    file = heads.head_file(card)
    assert file == tmp_path / "head.safetensors"
    read = read_head(tmp_path, WORLD)
    assert read is not None
    assert read.origin == PUBLISHED
    assert torch.equal(read.weight, head.weight.half().float())
    assert heads.head_file(replace(card, spec="timm:resnet18")) is None
