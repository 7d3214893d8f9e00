"""The training loop: AdamW, warmup and cosine, checkpoints that a killed run continues from.

Every step draws its randomness (batch, masks, views) from (seed, step) alone, so a resumed run
equals an uninterrupted one.
"""

from __future__ import annotations

import math
import os
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import TrainingError
from core.training.configs import Config
from core.training.feeds import Feed

CHECKPOINT_SECONDS = 60.0
REPORT_SECONDS = 10.0
_CLIP = 1.0  # largest norm of a gradient
_TAIL = 20  # losses are given as means over 1/20 of the steps


@dataclass
class Run:
    """What a checkpoint holds: a task, its optimizer, the loss of every step (NaN ahead), the steps
    done and the seconds they took.

    world: digest of what it learns from.
    """

    config: Config
    world: str
    task: nn.Module
    optimizer: torch.optim.Optimizer
    losses: Tensor
    step: int = 0
    seconds: float = 0.0

    @property
    def recent_loss(self) -> float:
        """Return the mean loss over the last steps done; NaN before the first."""
        tail = self.losses[max(0, self.step - max(1, self.config.steps // _TAIL)) : self.step]
        return tail.mean().item() if len(tail) else math.nan

    @property
    def key(self) -> str:
        """Return what a checkpoint must have in common with a run to be continued by it."""
        return f"{self.config!r} on {self.world}"


@dataclass(frozen=True)
class Speed:
    """items: images or tokens per second. seconds: per step."""

    items: float
    seconds: float


def begin(config: Config, task: nn.Module, device: torch.device, *, world: str) -> Run:
    """Return a run at step 0 on its device."""
    task = task.to(device)
    return Run(
        config,
        world,
        task,
        _optimizer(config, task),
        torch.full((config.steps,), math.nan, device=device),
    )


def fit(
    run: Run,
    feed: Feed,
    *,
    checkpoint: Path,
    publish: Callable[[Run], object],
    report: Callable[[Run, Speed], None],
) -> None:
    """Train from where the run, or its checkpoint, stands to its last step; call `publish` at each
    snapshot.

    Raises TrainingError where the loss stops being a number.
    """
    resume(run, checkpoint)
    saved = reported = time.monotonic()
    steps = items = 0
    while run.step < run.config.steps:
        items += advance(run, feed)
        steps += 1
        if run.step in run.config.snapshots:
            publish(run)
        now, last = time.monotonic(), run.step == run.config.steps
        if now - reported > REPORT_SECONDS or last:
            _check(run)
            report(run, Speed(items / (now - reported), (now - reported) / steps))
            run.seconds += now - reported
            reported, steps, items = now, 0, 0
        if now - saved > CHECKPOINT_SECONDS or last:
            save(run, checkpoint)
            saved = now


def advance(run: Run, feed: Feed) -> int:
    """Take one step; return how many images or tokens it read."""
    torch.manual_seed(_seed(run.config.seed, run.step))
    for group in run.optimizer.param_groups:
        group["lr"] = rate(run.config, run.step)
    run.optimizer.zero_grad(set_to_none=True)
    batch = feed(run.step)
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=run.losses.device.type == "cuda"):
        loss = run.task(batch)
    loss.backward()
    nn.utils.clip_grad_norm_(run.task.parameters(), _CLIP)
    run.optimizer.step()
    run.losses[run.step] = loss.detach()
    run.step += 1
    return len(batch["images"]) if "images" in batch else batch["tokens"].numel()


def rate(config: Config, step: int) -> float:
    """Return the learning rate of a step: linear warmup, then a cosine that would reach zero one
    step after the last.
    """
    warmup = min(config.warmup, config.steps // 10)
    if step < warmup:
        return config.rate * (step + 1) / warmup
    return config.rate * (1 + math.cos(math.pi * (step - warmup) / (config.steps - warmup))) / 2


def save(run: Run, path: Path) -> None:
    """Write a checkpoint that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    state = {
        "step": run.step,
        "losses": run.losses,
        "task": run.task.state_dict(),
        "optimizer": run.optimizer.state_dict(),
    }
    torch.save({**state, "seconds": run.seconds, "key": run.key}, new)
    os.replace(new, path)


def resume(run: Run, path: Path) -> None:
    """Continue from a checkpoint where there is one.

    Raises TrainingError where it is damaged, or was written with another config or world.
    """
    if not path.exists():
        return
    if not _is_whole(path):
        raise TrainingError(f"{path} is damaged; delete it to start again")
    state = torch.load(path, map_location=run.losses.device, weights_only=True)
    if state["key"] != run.key:
        raise TrainingError(
            f"{path} was written with another config of {run.config.name} or another world; delete"
            " it to start again"
        )
    run.task.load_state_dict(state["task"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.losses.copy_(state["losses"])
    run.step, run.seconds = state["step"], state["seconds"]


def _is_whole(path: Path) -> bool:
    """Return whether every byte of a checkpoint is as written, which torch does not check."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        return False


def _optimizer(config: Config, task: nn.Module) -> torch.optim.Optimizer:
    """Decay matrices only: norms, biases and single vectors are scales and offsets, not weights."""
    parameters = [parameter for parameter in task.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in parameters if parameter.ndim > 1]
    others = [parameter for parameter in parameters if parameter.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.rate, betas=(0.9, 0.98))


def _seed(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _check(run: Run) -> None:
    if not torch.isfinite(run.losses[: run.step]).all():
        first = int((~torch.isfinite(run.losses)).nonzero()[0])
        raise TrainingError(
            f"the loss of {run.config.name} is not a number from step {first} on; lower its rate"
            f" ({run.config.rate:g})"
        )
