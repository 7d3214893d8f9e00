"""The head of a supervised model, published beside its weights: what it was trained to answer,
which its features alone no longer say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from core.training.transfer import Transfer
from core.training.vision import Supervised

FILE = "head.safetensors"


@dataclass(frozen=True)
class TrainedHead:
    """scores = features W + b, the classes of one task after the other; tasks: their names."""

    weight: Float[Tensor, "d classes"]
    bias: Float[Tensor, " classes"]
    tasks: tuple[str, ...]


def head_of(task: nn.Module, tasks: Sequence[str]) -> TrainedHead | None:
    """Return the head that a vision model was trained with, None for an objective without one.

    tasks: the names of what the model was supervised on.
    """
    supervised = task.task if isinstance(task, Transfer) else task
    if not isinstance(supervised, Supervised):
        return None
    layer = supervised.head
    return TrainedHead(layer.weight.detach().T, layer.bias.detach(), tuple(tasks))


def write_head(folder: Path, head: TrainedHead) -> None:
    """Write a head into a model's folder, in half precision as the weights are."""
    parts = {"weight": head.weight.half().cpu().contiguous(), "bias": head.bias.half().cpu()}
    save_file(parts, folder / FILE, metadata={"tasks": json.dumps(head.tasks)})


def read_head(folder: Path) -> TrainedHead | None:
    """Return the head in a model's folder in single precision, None where there is none."""
    if not (folder / FILE).exists():
        return None
    with safe_open(folder / FILE, framework="pt") as file:
        tasks = tuple(json.loads(file.metadata()["tasks"]))
        weight, bias = (file.get_tensor(name).float() for name in ("weight", "bias"))
    return TrainedHead(weight, bias, tasks)
