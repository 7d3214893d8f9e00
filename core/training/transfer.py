"""Transfer between modalities: a learner also predicts what a frozen model of the other modality
makes of the same events.

    loss = own loss + mean over events of 1 − cos(W s + b, t)

s is the learner's pooled last state of an event, t the teacher's pooled last state, each of its
features standardized over the events that the learner ever sees. W and b are thrown away after
training. The weight of 1 was fixed before any result was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import timm
import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModelForCausalLM

from core.errors import TrainingError
from core.training.configs import Config
from core.training.family import CONFIGS
from core.training.language import NextToken, pool_tokens
from core.training.pool import Pool
from core.training.vision import Batch, Supervised, normalize

_BATCH = 256  # events that a teacher is shown at a time


class Transfer(nn.Module):
    """An objective with the teacher's features as a second one.

    learner, teacher: width of the features of each. Events whose `targets` are NaN, which the
    teacher was not shown, count for the learner's own loss alone. Raises TrainingError for an
    objective that gives no states.
    """

    def __init__(self, task: nn.Module, *, learner: int, teacher: int) -> None:
        super().__init__()
        if not isinstance(task, Supervised | NextToken):
            raise TrainingError(
                f"{type(task).__name__} gives no states to learn by; expected Supervised or"
                " NextToken, so name no teacher"
            )
        self.task = task
        self.predict = nn.Linear(learner, teacher)

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        loss, states = self.task.read(batch)
        shown = batch["targets"].isfinite().all(1)
        if not shown.any():
            return loss
        cosines = F.cosine_similarity(self.predict(states[shown]), batch["targets"][shown])
        return loss + (1 - cosines).mean()


def width_of(config: Config) -> int:
    """Return the width of a learner's last state."""
    return int(config.model["embed_dim" if config.reads == "image" else "n_embd"])


@torch.inference_mode()
def teach(
    config: Config, pool: Pool, weights: Path, device: torch.device
) -> Float[Tensor, "events d"]:
    """Return what a config's teacher makes of each event of its learner's, standardized over those
    that the learner ever sees; NaN for the others and for those that are not drawn.

    Vision teachers see the pictures, language teachers read the passages. Raises TrainingError
    where the teacher's weights are missing.
    """
    teacher = CONFIGS[str(config.teacher)]
    folder = weights / teacher.name
    if not (folder / "model.safetensors").exists():
        raise TrainingError(
            f"{config.name} learns from {teacher.name}, whose weights are not in {weights}; train"
            f" {teacher.name} first"
        )
    events = pool.images if config.reads == "image" else pool.events
    seen = min(round(events * config.data), pool.images)
    sees = teacher.reads == "image"
    rows = (pool.pictures() if sees else pool.passages())[:seen].split(_BATCH)
    states = _see(teacher, folder, rows, device) if sees else _read(folder, rows, device)
    features = torch.cat(list(states))
    targets = torch.full((events, features.shape[1]), torch.nan)
    targets[:seen] = (features - features.mean(0)) / features.std(0)
    return targets


def _see(
    teacher: Config, folder: Path, rows: Iterable[Tensor], device: torch.device
) -> Iterator[Tensor]:
    model: Any = timm.create_model(teacher.architecture, pretrained=False, **teacher.model)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    model.eval().to(device)
    return (model(normalize(images.to(device))).cpu() for images in rows)


def _read(folder: Path, rows: Iterable[Tensor], device: torch.device) -> Iterator[Tensor]:
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval().to(device)
    for passages in rows:
        tokens = passages.to(device, torch.long)
        present = tokens != 0
        states = model(
            input_ids=tokens, attention_mask=present.long(), output_hidden_states=True
        ).hidden_states[-1]
        yield pool_tokens(states, present).cpu()
