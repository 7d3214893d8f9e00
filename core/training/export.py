"""Publish a trained model in the ordinary format of its library, in half precision, with a card
beside it.

Vision: timm's folder (config.json, model.safetensors), with the head of a supervised model: what it
was trained to answer, which its features alone do not say. Language: a transformers folder with its
tokenizer. A folder appears whole.
"""

from __future__ import annotations

import copy
import json
import math
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import timm
import torch
from jaxtyping import Float
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from transformers.utils import logging

from core.errors import TrainingError
from core.modalities import reader_of
from core.stimuli.cave.events import SEED
from core.training.configs import IMAGE
from core.training.loop import Run
from core.training.transfer import Transfer
from core.training.vision import MEAN, STD, Supervised

_PREPROCESSING = {
    "input_size": (3, IMAGE, IMAGE),
    "interpolation": "bicubic",
    "crop_pct": 1.0,
    "crop_mode": "center",
    "mean": (MEAN,) * 3,
    "std": (STD,) * 3,
}
HEAD = "head.safetensors"
_PACKAGES = ("torch", "timm", "transformers", "numpy", "pillow")


@dataclass(frozen=True)
class TrainedHead:
    """scores = features W + b, the classes of one task after the other; tasks: their names."""

    weight: Float[Tensor, "d classes"]
    bias: Float[Tensor, " classes"]
    tasks: tuple[str, ...]


def export(
    folder: Path,
    model: Any,
    card: dict[str, Any],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    head: TrainedHead | None = None,
) -> None:
    """Write a model into `folder`, in place of what was there; a language model comes with its
    tokenizer, a supervised one with its head.

    Raises TrainingError where a weight is not finite in half precision.
    """
    model = copy.deepcopy(model).half().cpu()
    broken = [name for name, value in model.state_dict().items() if not torch.isfinite(value).all()]
    if broken:
        raise TrainingError(
            f"{broken[0]} of {folder.name} is not finite in half precision; lower its rate or raise"
            " its decay"
        )
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    if tokenizer is None:
        note = {"pretrained_cfg": {"tag": "cave", "license": "mit"}}
        timm.models.save_for_hf(
            model, str(new), model_config=note, safe_serialization=True, data_config=_PREPROCESSING
        )
    else:
        logging.disable_progress_bar()
        model.save_pretrained(new)
        tokenizer.save_pretrained(new)
    if head is not None:
        write_head(new, head)
    (new / "card.json").write_text(
        json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def make_card(run: Run, model: nn.Module, *, device: str) -> dict[str, Any]:
    """Return what people and pages want to know of a model besides its weights."""
    config, loss = run.config, run.recent_loss
    stopped = f" after {run.step} steps" if run.step != config.steps else ""
    return {
        "title": config.title + stopped,
        "family": config.family,
        "objective": config.objective,
        "modality": reader_of(config.reads).name,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "training": {
            "config": config.choices,
            "data_seed": SEED,
            "world": run.world,
            "steps": run.step,
            "seconds": round(run.seconds, 1),
            "final_loss": None if math.isnan(loss) else round(loss, 4),
            "device": device,
            "versions": {
                "python": platform.python_version(),
                **{package: version(package) for package in _PACKAGES},
            },
        },
    }


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
    save_file(parts, folder / HEAD, metadata={"tasks": json.dumps(head.tasks)})


def read_head(folder: Path) -> TrainedHead | None:
    """Return the head in a model's folder in single precision, None where there is none."""
    if not (folder / HEAD).exists():
        return None
    with safe_open(folder / HEAD, framework="pt") as file:
        tasks = tuple(json.loads(file.metadata()["tasks"]))
        weight, bias = (file.get_tensor(name).float() for name in ("weight", "bias"))
    return TrainedHead(weight, bias, tasks)
