"""A run is a function of its config: the same again, also when it was killed on the way."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from core.cave.training.configs import CONFIGS
from core.cave.training.loop import (
    Run,
    advance,
    begin,
    fit,
    open_feed,
    rate,
    resume,
    save,
    world_of,
)
from core.cave.training.pool import Pool
from core.cave.training.train import make_model, make_task
from core.errors import TrainingError
from tests.cave.training.conftest import CPU, tiny

OBJECTIVES = [
    "vit-multitask-xs",
    "vit-mae-xs",
    "vit-mae-published-xs",
    "vit-dino-s",
    "vit-simclr-xs",
    "vit-clip-xs",
    "resnet-multitask-xs",
    "roberta-s",
]


def ready(pool: Pool, name: str, **changes: object) -> Run:
    config = tiny(name, **changes)
    model, tokenizer = make_model(config, pool)
    return begin(config, make_task(config, model, tokenizer), CPU, world=world_of(config, pool))


def run_on(run: Run, pool: Pool, checkpoint: Path) -> list[tuple[int, float]]:
    seen: list[tuple[int, float]] = []
    fit(
        run,
        open_feed(run.config, pool, CPU),
        checkpoint=checkpoint,
        publish=lambda run: seen.append((run.step, run.recent_loss)),
        report=lambda *_: None,
    )
    return seen


@pytest.mark.parametrize(
    "name",
    ["gpt2-xs", *(pytest.param(name, marks=pytest.mark.slow) for name in OBJECTIVES)],
)
def test_resumed_run_equals_the_uninterrupted_one(pool: Pool, tmp_path: Path, name: str) -> None:
    whole = ready(pool, name)
    run_on(whole, pool, tmp_path / "whole.pt")
    killed = ready(pool, name)
    feed = open_feed(killed.config, pool, CPU)
    for _ in range(3):
        advance(killed, feed)
    save(killed, tmp_path / "half.pt")
    advance(killed, feed)  # lost with the process
    resumed = ready(pool, name)
    run_on(resumed, pool, tmp_path / "half.pt")
    assert torch.equal(resumed.losses, whole.losses)
    assert all(
        torch.equal(a, b)
        for a, b in zip(
            resumed.task.state_dict().values(), whole.task.state_dict().values(), strict=True
        )
    )


def test_checkpoint_of_another_config_is_refused(pool: Pool, tmp_path: Path) -> None:
    save(ready(pool, "gpt2-xs"), tmp_path / "run.pt")
    with pytest.raises(
        TrainingError,
        match=r"run\.pt was written with another config of gpt2-xs or another world; delete it",
    ):
        resume(ready(pool, "gpt2-xs", rate=0.5), tmp_path / "run.pt")


@pytest.mark.slow
def test_loss_that_is_no_number_stops_the_run(pool: Pool, tmp_path: Path) -> None:
    run = ready(pool, "gpt2-xs")
    with torch.no_grad():
        next(run.task.parameters()).fill_(math.nan)
    with pytest.raises(
        TrainingError,
        match=r"the loss of gpt2-xs is not a number from step 0 on; lower its rate \(0\.006\)",
    ):
        run_on(run, pool, tmp_path / "run.pt")


def test_rate_warms_up_and_falls_along_a_cosine() -> None:
    config = tiny("gpt2-xs", steps=1000, warmup=100, rate=1.0)
    rates = [rate(config, step) for step in range(1000)]
    assert rates[0] == pytest.approx(0.01)
    assert rates[99] == rates[100] == 1.0
    assert rates[550] == pytest.approx(0.5)
    assert 0 < rates[-1] < 1e-5
    assert all(later < earlier for earlier, later in pairwise(rates[100:]))


def test_scales_and_offsets_are_not_decayed(pool: Pool) -> None:
    run = ready(pool, "vit-multitask-xs")
    decayed, free = run.optimizer.param_groups
    assert (decayed["weight_decay"], free["weight_decay"]) == (
        CONFIGS["vit-multitask-xs"].decay,
        0.0,
    )
    assert all(parameter.ndim <= 1 for parameter in free["params"])
    assert len(decayed["params"]) + len(free["params"]) == len(list(run.task.parameters()))
