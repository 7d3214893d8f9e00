"""Batches, ready before the step needs them: rows of the pool, chosen by (seed, step) alone.

So a resumed run sees what an uninterrupted one would have seen, and a step costs arithmetic, not drawing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.stimuli.cave.grammar import LEVELS
from core.training.configs import Config
from core.training.pool import Pool

_SHARES = {"20": 0.4, "5": 0.1, "10": 0.2, "40": 0.3}  # of the steps; one level each, so that its captions are about as long


@dataclass(frozen=True)
class Feed:
    """The batches of one run.

    tables: parts of a batch by name, one row per event. captions: token ids of the same events, one table per level; none where the
    objective reads no text. pad: the padding id.
    """

    tables: Mapping[str, Tensor]
    captions: tuple[Tensor, ...]
    pad: int
    batch: int
    seed: int

    def __call__(self, step: int) -> dict[str, Tensor]:
        """Return the batch of a step."""
        rng = np.random.default_rng([self.seed, step])
        first = next(iter((*self.tables.values(), *self.captions)))
        rows = torch.from_numpy(rng.integers(len(first), size=self.batch)).to(first.device)
        batch = {name: table[rows] for name, table in self.tables.items()}
        if self.captions:
            level = rng.choice(len(self.captions), p=[_SHARES[level] for level in LEVELS])
            batch["tokens"] = self.captions[level][rows].long()
            batch["present"] = batch["tokens"] != self.pad
        return batch


def open_feed(config: Config, pool: Pool, device: torch.device) -> Feed:
    """Return the batches of a config, with what it reads held on the device; made first where the pool lacks it."""
    tables: dict[str, Tensor] = {}
    captions: tuple[Tensor, ...] = ()
    pad = 0
    if config.modality == "vision":
        tables = {"images": pool.pictures().to(device)}
        if "tasks" in config.options:
            tables["answers"] = pool.answers().to(device)
    if _reads(config):
        pad = pool.tokenizer().pad_token_id
        count = pool.images if tables else pool.events
        captions = tuple(_trim(level[:count], pad).to(device) for level in pool.captions().unbind(1))
    return Feed(tables, captions, pad, config.batch, config.seed)


def world_of(config: Config, pool: Pool) -> str:
    """Return the digest of what a config's model is shown and told: another world, another model."""
    shown = [pool.shown] * (config.modality == "vision")
    return "-".join(shown + [pool.said] * _reads(config))


def _reads(config: Config) -> bool:
    return config.modality == "language" or config.objective == "CLIP"


def _trim(tokens: Tensor, pad: int) -> Tensor:
    """Cut the columns that are padding in every row; int16 holds every id and can be indexed on every device."""
    tokens = tokens.to(torch.int16)
    return tokens[:, : int((tokens != pad).any(0).sum())].contiguous()
