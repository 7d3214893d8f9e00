"""What is published loads through timm and transformers alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from filelock import FileLock
from safetensors.torch import load_file
from timm.data import resolve_data_config
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from core.cave.events import SEED
from core.cave.training.configs import CONFIGS
from core.cave.training.loop import open_feed
from core.cave.training.pool import Pool
from core.cave.training.train import export, make_model, make_task, train
from core.cave.training.vision import normalize
from core.cave.world import WORLD
from core.errors import TrainingError
from core.networks.heads import read_head
from core.settings import CAVE_WEIGHTS
from tests.cave.training.conftest import CPU, tiny

SHIPPED = sorted(path.parent for path in CAVE_WEIGHTS.glob("*/card.json"))


def open_vision_folder(folder: Path) -> nn.Module:
    config = json.loads((folder / "config.json").read_text())
    model = timm.create_model(config["architecture"], pretrained=False, **config["model_args"])
    model.load_state_dict(load_file(folder / "model.safetensors"), strict=True)
    return model.eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vit-multitask-xs", "resnet-multitask-xs", "vit-untrained-xs"])
def test_vision_folder_opens_as_the_trained_model(pool: Pool, tmp_path: Path, name: str) -> None:
    config = tiny(name, steps=6 * (name != "vit-untrained-xs"))
    folder = train(config, pool, device=CPU, runs=tmp_path / "runs", weights=tmp_path)
    model = open_vision_folder(folder)
    by_name = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    images = normalize(pool.pictures()[:2])
    assert torch.equal(model(images), by_name(images))
    preprocessing = resolve_data_config({}, pretrained_cfg=by_name.pretrained_cfg)
    assert (preprocessing["input_size"], preprocessing["crop_pct"], [*preprocessing["mean"]]) == (
        (3, 48, 48),
        1.0,
        [0.5] * 3,
    )
    card = json.loads((folder / "card.json").read_text())
    assert card["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert (card["family"], card["objective"]) == (config.family, config.objective)
    assert (card["training"]["data_seed"], card["training"]["steps"]) == (SEED, config.steps)
    assert card["training"]["config"]["rate"] == config.rate
    assert torch.__version__.startswith(card["training"]["versions"]["torch"])


def test_a_supervised_model_is_published_with_its_head(pool: Pool, tmp_path: Path) -> None:
    config = tiny("vit-narrow-xs", rate=0.1)
    run = {"device": CPU, "runs": tmp_path / "runs", "weights": tmp_path}
    head = read_head(train(config, pool, **run), WORLD)
    assert head is not None
    assert head.tasks == {"largest kind": 16}
    assert head.weight.shape == (48, 16)
    state = torch.load(tmp_path / "runs" / config.name / "checkpoint.pt", weights_only=True)
    trained = state["task"]["head.weight"].T
    assert torch.equal(head.weight, trained.half().float())
    assert read_head(train(tiny("vit-simclr-xs"), pool, **run), WORLD) is None


def test_language_folder_opens_as_the_trained_model(pool: Pool, tmp_path: Path) -> None:
    folder = train(
        tiny("gpt2-xs", snapshots=(3,)), pool, device=CPU, runs=tmp_path / "runs", weights=tmp_path
    )
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
        AutoTokenizer.from_pretrained(folder),
    )
    tokens = tokenizer("a red ball", return_tensors="pt").input_ids
    assert tokens[0, 0] == tokenizer.bos_token_id
    assert model(input_ids=tokens).logits.shape == (*tokens.shape, len(tokenizer))
    assert load_file(folder / "model.safetensors")["transformer.wte.weight"].dtype == torch.float16
    middle = json.loads((tmp_path / "gpt2-xs-step00003" / "card.json").read_text())
    assert (middle["training"]["steps"], middle["title"]) == (3, "GPT-2 XS after 3 steps")


@pytest.mark.slow
def test_model_begins_with_the_weights_of_its_start(pool: Pool, tmp_path: Path) -> None:
    config = tiny("vit-tuned-xs", steps=1, rate=0.0)
    with pytest.raises(
        TrainingError,
        match=(
            r"begins with the weights of vit-clip-xs, which are not in .*; train vit-clip-xs first"
        ),
    ):
        train(config, pool, device=CPU, runs=tmp_path / "runs", weights=tmp_path)
    start = train(tiny("vit-clip-xs"), pool, device=CPU, runs=tmp_path / "runs", weights=tmp_path)
    tuned = train(config, pool, device=CPU, runs=tmp_path / "runs", weights=tmp_path)
    before, after = load_file(start / "model.safetensors"), load_file(tuned / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.slow
def test_model_is_trained_by_one_process_at_a_time(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "vit-untrained-xs").mkdir()
    config, weights = tiny("vit-untrained-xs", steps=0), tmp_path / "weights"
    with (
        FileLock(tmp_path / "vit-untrained-xs" / "lock"),
        pytest.raises(
            TrainingError,
            match="another process is training vit-untrained-xs; wait for it, or end it first",
        ),
    ):
        train(config, pool, device=CPU, runs=tmp_path, weights=weights)
    train(config, pool, device=CPU, runs=tmp_path, weights=weights)


@pytest.mark.slow
def test_weight_that_half_precision_cannot_hold_is_refused(pool: Pool, tmp_path: Path) -> None:
    model, _ = make_model(CONFIGS["vit-multitask-xs"], pool)
    nn.init.constant_(model.cls_token, 1e6)
    with pytest.raises(
        TrainingError, match="cls_token of broken is not finite in half precision; lower its rate"
    ):
        export(tmp_path / "broken", model, {})
    assert not (tmp_path / "broken").exists()


@pytest.mark.slow
@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_shipped_model_is_what_its_card_says(folder: Path) -> None:
    card = json.loads((folder / "card.json").read_text())
    weights = load_file(folder / "model.safetensors")
    assert all(torch.isfinite(value).all() for value in weights.values())
    assert card["training"]["config"]["name"] in CONFIGS
    if "architecture" in json.loads((folder / "config.json").read_text()):
        model = open_vision_folder(folder)
    else:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    assert card["parameters"] == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.slow
def test_the_loss_that_a_card_gives_is_that_of_its_weights(tmp_path: Path) -> None:
    config, folder = CONFIGS["gpt2-xs"], CAVE_WEIGHTS / "gpt2-xs"
    pool = Pool(tmp_path, events=1024)
    shutil.copytree(folder, pool.root / f"tokenizer-{pool.said}")  # a smaller pool learns another
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    task, feed = make_task(config, model, pool.tokenizer()), open_feed(config, pool, CPU)
    card = json.loads((folder / "card.json").read_text())
    with torch.no_grad():
        losses = [task(feed(step)).item() for step in range(1024 // config.batch)]
    assert np.mean(losses) == pytest.approx(card["training"]["final_loss"], rel=0.02)
