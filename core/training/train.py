"""Train one model of a config: build, feed, fit, publish."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import PreTrainedTokenizerBase

from core.errors import TrainingError
from core.settings import CAVE_WEIGHTS
from core.training.configs import Config
from core.training.distillation import SelfDistillation
from core.training.export import export, head_of, make_card
from core.training.feeds import open_feed, world_of
from core.training.language import MaskedToken, NextToken, build_language
from core.training.loop import Run, Speed, begin, fit
from core.training.masked import ClassTokenAutoencoder, MaskedAutoencoder
from core.training.pool import Pool
from core.training.transfer import Transfer, teach, width_of
from core.training.vision import Clip, SimCLR, Supervised, build_vision
from core.unexpected import summarize

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
    with _explaining(runs, weights), _alone(runs / config.name):
        return _train(
            config,
            pool,
            device=device,
            checkpoint=runs / config.name / "checkpoint.pt",
            weights=weights,
        )


def _train(
    config: Config, pool: Pool, *, device: torch.device, checkpoint: Path, weights: Path
) -> Path:
    model, tokenizer = make_model(config, pool)
    if config.start is not None:
        _load(model, weights / config.start)
    task, targets = make_task(config, model, tokenizer), None
    if config.teacher is not None:
        targets = teach(config, pool, weights, device)
        task = Transfer(task, learner=width_of(config), teacher=targets.shape[1])
    run = begin(config, task, device, world=world_of(config, pool))

    def publish(run: Run) -> Path:
        done = run.step == config.steps
        folder = weights / (config.name if done else f"{config.name}-step{run.step:05d}")
        export(
            folder,
            model,
            make_card(run, model, device=describe_device(device)),
            tokenizer=tokenizer,
            head=head_of(task, config.options.get("tasks", ())),
        )
        return folder

    if config.steps:
        fit(
            run,
            open_feed(config, pool, device, targets=targets),
            checkpoint=checkpoint,
            publish=publish,
            report=print_progress,
        )
    return publish(run)


def make_model(config: Config, pool: Pool) -> tuple[nn.Module, PreTrainedTokenizerBase | None]:
    """Return a model initialized from the config's seed and, where it reads words or notes, its
    tokenizer.
    """
    torch.manual_seed(config.seed)
    if config.reads == "image":
        return build_vision(config), None
    tokenizer = pool.tokenizer() if config.reads == "caption" else pool.note_tokenizer()
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
    return (
        MaskedToken(model, mask=tokenizer.mask_token_id)
        if config.architecture == "roberta"
        else NextToken(model)
    )


def describe_device(device: torch.device) -> str:
    """Return the device's name for people."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def print_progress(run: Run, speed: Speed) -> None:
    """Write one line to stderr: step, loss, images or tokens per second, time left."""
    config = run.config
    what = "images" if config.reads == "image" else "tokens"
    left = f"{speed.seconds * (config.steps - run.step) / 60:.1f} min left"
    print(
        f"{config.name}: step {run.step}/{config.steps}, loss {run.recent_loss:.4f},"
        f" {speed.items:,.0f} {what}/s, {left}",
        file=sys.stderr,
        flush=True,
    )


def _load(model: nn.Module, folder: Path) -> None:
    path = folder / "model.safetensors"
    if not path.exists():
        raise TrainingError(
            f"this model begins with the weights of {folder.name}, which are not in"
            f" {folder.parent}; train {folder.name} first"
        )
    model.load_state_dict(load_file(path))


@contextmanager
def _explaining(runs: Path, weights: Path) -> Iterator[None]:
    """Turn what a disk refuses, in whatever words a library says it, into a TrainingError."""
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "PytorchStream" not in str(error):
            raise
        raise TrainingError(
            f"{runs} or {weights} cannot be used ({summarize(error)}); free some room or change"
            " their rights, then start again: training goes on from its last checkpoint"
        ) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Refuse to train a model that another process, perhaps one left over from a killed command, is
    training.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "lock", blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise TrainingError(
            f"another process is training {folder.name}; wait for it, or end it first"
        ) from error
    try:
        yield
    finally:
        lock.release()
