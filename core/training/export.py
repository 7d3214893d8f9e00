"""Publish a trained model in the ordinary format of its library, in half precision, with a card
beside it.

Vision: timm's folder (config.json, model.safetensors); language: a transformers folder with its
tokenizer. A folder appears whole.
"""

from __future__ import annotations

import copy
import json
import math
import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from timm.models import save_for_hf
from torch import nn
from transformers import PreTrainedTokenizerBase
from transformers.utils import logging

from core.errors import TrainingError
from core.modalities import reader_of
from core.stimuli.cave.events import SEED
from core.training.configs import IMAGE
from core.training.loop import Run
from core.training.vision import MEAN, STD

_PREPROCESSING = {
    "input_size": (3, IMAGE, IMAGE),
    "interpolation": "bicubic",
    "crop_pct": 1.0,
    "crop_mode": "center",
    "mean": (MEAN,) * 3,
    "std": (STD,) * 3,
}
_PACKAGES = ("torch", "timm", "transformers", "numpy", "pillow")


def export(
    folder: Path,
    model: Any,
    card: dict[str, Any],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
) -> None:
    """Write a model into `folder`, in place of what was there; a language model comes with its
    tokenizer.

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
        save_for_hf(
            model, str(new), model_config=note, safe_serialization=True, data_config=_PREPROCESSING
        )
    else:
        logging.disable_progress_bar()
        model.save_pretrained(new)
        tokenizer.save_pretrained(new)
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
