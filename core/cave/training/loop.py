"""The training loop: batches, AdamW, warmup and cosine, checkpoints to continue from.

Every step draws its randomness (batch, masks, views) from (seed, step) alone, so a resumed run
equals an uninterrupted one.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core.cave.captions import LEVELS
from core.cave.training.configs import Config
from core.cave.training.pool import Pool
from core.errors import TrainingError

CHECKPOINT_SECONDS = 60.0
REPORT_SECONDS = 10.0
_CLIP = 1.0  # largest norm of a gradient
_TAIL = 20  # losses are given as means over 1/20 of the steps
# of the steps; one level each, so that its captions are about as long
_SHARES = {"20": 0.4, "5": 0.1, "10": 0.2, "40": 0.3}


@dataclass(frozen=True)
class Feed:
    """The batches of one run.

    tables: parts of a batch by name, one row per event; `targets` are what a teacher makes of it,
    NaN if it was shown nothing. texts: token ids of the same events, 0 is padding; a step reads one
    of the tables, with probability `shares`; none if the objective reads no text. share: of the
    rows, the first ones, that are ever read.
    """

    tables: Mapping[str, Tensor]
    texts: tuple[Tensor, ...]
    shares: tuple[float, ...]
    batch: int
    seed: int
    share: float = 1.0

    def __call__(self, step: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.seed, step])
        first = next(iter((*self.tables.values(), *self.texts)))
        count = round(len(first) * self.share)
        rows = torch.from_numpy(rng.integers(count, size=self.batch)).to(first.device)
        batch = {name: table[rows] for name, table in self.tables.items()}
        if self.texts:
            batch["tokens"] = self.texts[rng.choice(len(self.texts), p=self.shares)][rows].long()
            batch["present"] = batch["tokens"] != 0
        return batch


def open_feed(
    config: Config, pool: Pool, device: torch.device, *, targets: Tensor | None = None
) -> Feed:
    """Return the batches of a config, with what it reads held on the device; made first if the
    pool lacks it. targets: of its teacher, a row per event.
    """
    tables: dict[str, Tensor] = {}
    texts: list[Tensor] = []
    if config.reads == "image":
        tables["images"] = pool.pictures().to(device)
    if "tasks" in config.options:
        tables["answers"] = pool.answers().to(device)
    if targets is not None:
        tables["targets"] = targets.to(device)
    if config.reads == "caption":
        texts = [pool.passages()]
    elif config.reads == "melody":
        texts = [pool.concerts()]
    elif config.objective == "CLIP":
        texts = list(pool.captions().unbind(1))
    shares = tuple(_SHARES[level] for level in LEVELS) if len(texts) > 1 else (1.0,)
    # without the columns that are padding in every row; int16 holds every id and can be indexed on
    # every device
    small = [text.to(torch.int16) for text in texts]
    trimmed = tuple(
        text[:, : int((text != 0).any(0).sum())].contiguous().to(device) for text in small
    )
    return Feed(tables, trimmed, shares, config.batch, config.seed, config.data)


def world_of(config: Config, pool: Pool) -> str:
    """Return the digest of what a config's model sees, reads and hears: another world, another
    model.
    """
    sees = config.reads == "image" or config.teacher is not None
    reads = config.reads == "caption" or config.objective == "CLIP" or config.teacher is not None
    hears = config.reads == "melody"
    return "-".join([pool.shown] * sees + [pool.said] * reads + [pool.sung] * hears)


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


def begin(config: Config, task: nn.Module, device: torch.device, *, world: str) -> Run:
    """Return a run at step 0 on its device, which decays matrices only: norms, biases and single
    vectors are scales and offsets, not weights.
    """
    task = task.to(device)
    learned = [parameter for parameter in task.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in learned if parameter.ndim > 1]
    others = [parameter for parameter in learned if parameter.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=config.rate, betas=(0.9, 0.98))
    losses = torch.full((config.steps,), math.nan, device=device)
    return Run(config, world, task, optimizer, losses)


def fit(
    run: Run,
    feed: Feed,
    *,
    checkpoint: Path,
    publish: Callable[[Run], object],
    report: Callable[[Run, float, float], None],
) -> None:
    """Train from the step of the run, or of its checkpoint, to its last step; call `publish` at
    each snapshot. report: is given images or tokens per second, and seconds per step.

    Raises TrainingError if the loss stops being a number.
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
            if not torch.isfinite(run.losses[: run.step]).all():
                first = int((~torch.isfinite(run.losses)).nonzero()[0])
                raise TrainingError(
                    f"the loss of {run.config.name} is not a number from step {first} on; lower its"
                    f" rate ({run.config.rate:g})"
                )
            report(run, items / (now - reported), (now - reported) / steps)
            run.seconds += now - reported
            reported, steps, items = now, 0, 0
        if now - saved > CHECKPOINT_SECONDS or last:
            save(run, checkpoint)
            saved = now


def advance(run: Run, feed: Feed) -> int:
    """Take one step; return how many images or tokens it read."""
    drawn = np.random.SeedSequence([run.config.seed, run.step]).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(drawn >> np.uint64(1)))
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
        **{"step": run.step, "losses": run.losses, "seconds": run.seconds, "key": run.key},
        **{"task": run.task.state_dict(), "optimizer": run.optimizer.state_dict()},
    }
    torch.save(state, new)
    os.replace(new, path)


def resume(run: Run, path: Path) -> None:
    """Continue from a checkpoint if there is one.

    Raises TrainingError if it was written with another config or world.
    """
    if not path.exists():
        return
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
