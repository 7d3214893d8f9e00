"""Batches, ready before the step needs them: rows of the pool, chosen by (seed, step) alone.

So a resumed run sees what an uninterrupted one would have seen, and a step costs arithmetic, not
drawing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.stimuli.cave.densities import LEVELS
from core.training.configs import Config
from core.training.pool import Pool

_SHARES = {
    "20": 0.4,
    "5": 0.1,
    "10": 0.2,
    "40": 0.3,
}  # of the steps; one level each, so that its captions are about as long


@dataclass(frozen=True)
class Feed:
    """The batches of one run.

    tables: parts of a batch by name, one row per event; `targets` are what a teacher makes of it,
    NaN where it was shown nothing. texts: token ids of the same events, 0 is
    padding; a step reads one of the tables, with probability `shares`; there is none where the
    objective reads no text. share: of the rows, the first ones, that are ever read.
    """

    tables: Mapping[str, Tensor]
    texts: tuple[Tensor, ...]
    shares: tuple[float, ...]
    batch: int
    seed: int
    share: float = 1.0

    def __call__(self, step: int) -> dict[str, Tensor]:
        """Return the batch of a step."""
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
    """Return the batches of a config, with what it reads held on the device; made first where the
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
    trimmed = tuple(_trim(text).to(device) for text in texts)
    return Feed(tables, trimmed, shares, config.batch, config.seed, config.data)


def world_of(config: Config, pool: Pool) -> str:
    """Return the digest of what a config's model sees, reads and hears: another world, another
    model.
    """
    sees = config.reads == "image" or config.teacher is not None
    reads = config.reads == "caption" or config.objective == "CLIP" or config.teacher is not None
    hears = config.reads == "melody"
    return "-".join([pool.shown] * sees + [pool.said] * reads + [pool.sung] * hears)


def _trim(tokens: Tensor) -> Tensor:
    """Cut the columns that are padding in every row; int16 holds every id and can be indexed on
    every device.
    """
    tokens = tokens.to(torch.int16)
    return tokens[:, : int((tokens != 0).any(0).sum())].contiguous()
