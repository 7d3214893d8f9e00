"""Trains one model of a config and publishes it in the format of its library, in half precision,
with a card: timm's folder with the head of a supervised model, or a transformers folder with its
tokenizer. A folder appears whole.
"""

from __future__ import annotations

import copy
import json
import math
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import timm
import torch
from filelock import FileLock, Timeout
from safetensors.torch import load_file
from torch import nn
from transformers import PreTrainedTokenizerBase
from transformers.utils import logging

from core.cave.events import SEED
from core.cave.tasks import FACTORS
from core.cave.training.configs import IMAGE, Config
from core.cave.training.language import (
    MaskedToken,
    NextToken,
    Transfer,
    build_language,
    teach,
    width_of,
)
from core.cave.training.loop import Run, begin, fit, open_feed, world_of
from core.cave.training.pool import Pool
from core.cave.training.vision import (
    MEAN,
    STD,
    ClassTokenAutoencoder,
    Clip,
    MaskedAutoencoder,
    SelfDistillation,
    SimCLR,
    Supervised,
    build_vision,
)
from core.cave.weights import unpack
from core.errors import TrainingError
from core.modalities import reader_of
from core.networks.heads import PUBLISHED, Head, write_head
from core.settings import CAVE_WEIGHTS

_PREPROCESSING = {
    "input_size": (3, IMAGE, IMAGE),
    **{"interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "center"},
    **{"mean": (MEAN,) * 3, "std": (STD,) * 3},
}
_PACKAGES = ("torch", "timm", "transformers", "numpy", "pillow")


def export(
    folder: Path,
    model: Any,
    card: dict[str, Any],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    head: Head | None = None,
) -> None:
    """Write a model into `folder`, in place of what was there; a language model comes with its
    tokenizer, a supervised one with its head.

    Raises TrainingError if a weight is not finite in half precision.
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
    text = json.dumps(card, indent=2, ensure_ascii=False)
    (new / "card.json").write_text(f"{text}\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def make_card(run: Run, model: nn.Module, *, device: str) -> dict[str, Any]:
    """Return what people and pages need to know of a model, except its weights."""
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


def head_of(task: nn.Module, tasks: Sequence[str]) -> Head | None:
    """Return the head that a vision model was trained with, None for an objective without one.

    tasks: the names of what the model was supervised on.
    """
    supervised = task.task if isinstance(task, Transfer) else task
    if not isinstance(supervised, Supervised):
        return None
    layer = supervised.head
    sizes = {name: len(FACTORS[name]) for name in tasks}
    return Head(layer.weight.detach().T, layer.bias.detach(), sizes, PUBLISHED)


VISION: dict[str, type[nn.Module]] = {
    "multitask": Supervised,
    "MAE (class token)": ClassTokenAutoencoder,
    "MAE (published)": MaskedAutoencoder,
    "SimCLR": SimCLR,
    "DINO (with KoLeo)": SelfDistillation,
    "CLIP": Clip,
    "CLIP fine-tuned (multitask)": Supervised,
    "supervised (one label)": Supervised,
    "CLIP fine-tuned (one label)": Supervised,
}  # by objective


def train(
    config: Config, pool: Pool, *, device: torch.device, runs: Path, weights: Path = CAVE_WEIGHTS
) -> Path:
    """Train a model, or continue where a killed run stopped, and return its published folder under
    `weights`.

    runs: where checkpoints are kept. Raises TrainingError.
    """
    with _alone(runs / config.name):
        unpack(weights)
        model, tokenizer = make_model(config, pool)
        if config.start is not None:
            start = weights / config.start / "model.safetensors"
            if not start.exists():
                raise TrainingError(
                    f"this model begins with the weights of {config.start}, which are not in"
                    f" {weights}; train {config.start} first"
                )
            model.load_state_dict(load_file(start))
        task, targets = make_task(config, model, tokenizer), None
        if config.teacher is not None:
            targets = teach(config, pool, weights, device)
            task = Transfer(task, learner=width_of(config), teacher=targets.shape[1])
        run = begin(config, task, device, world=world_of(config, pool))
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type

        def publish(run: Run) -> Path:
            done = run.step == config.steps
            folder = weights / (config.name if done else f"{config.name}-step{run.step:05d}")
            card = make_card(run, model, device=name)
            head = head_of(task, config.options.get("tasks", ()))
            export(folder, model, card, tokenizer=tokenizer, head=head)
            return folder

        if config.steps:
            feed = open_feed(config, pool, device, targets=targets)
            path = runs / config.name / "checkpoint.pt"
            fit(run, feed, checkpoint=path, publish=publish, report=print_progress)
        return publish(run)


def make_model(config: Config, pool: Pool) -> tuple[nn.Module, PreTrainedTokenizerBase | None]:
    torch.manual_seed(config.seed)
    if config.reads == "image":
        return build_vision(config), None
    tokenizer = pool.tokenizer(notes=config.reads == "melody")
    return build_language(config, tokenizer), tokenizer


def make_task(
    config: Config, model: nn.Module, tokenizer: PreTrainedTokenizerBase | None
) -> nn.Module:
    """Return the objective that turns a batch into the model's loss; a model that is not trained
    has none.
    """
    if config.steps == 0:
        return model
    if tokenizer is None:
        return VISION[config.objective](model, **config.options)
    if config.architecture == "roberta":
        return MaskedToken(model, mask=tokenizer.mask_token_id)
    return NextToken(model)


def print_progress(run: Run, items: float, seconds: float) -> None:
    config = run.config
    what = "images" if config.reads == "image" else "tokens"
    left = f"{seconds * (config.steps - run.step) / 60:.1f} min left"
    print(
        f"{config.name}: step {run.step}/{config.steps}, loss {run.recent_loss:.4f},"
        f" {items:,.0f} {what}/s, {left}",
        file=sys.stderr,
        flush=True,
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / "lock", blocking=False):
            yield
    except Timeout as error:
        raise TrainingError(
            f"another process is training {folder.name}; wait for it, or end it first"
        ) from error
