"""Heads of vision models, which answer several questions about a picture: a loss and a score.

A head is published next to the weights; otherwise it is fitted by logistic regression on the frozen
features of new events, and kept in the store.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Float
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.competence.opened import reopen
from core.competence.probes import fit
from core.encoders.encoder import ModelCard
from core.encoders.vision import VisionEncoder
from core.errors import EncoderError, StoreBusyError, StoreWriteError
from core.networks.vision import Batch, VisionNetwork, answer_key, cut_vision, parts_of
from core.progress import tell
from core.recipe import Recipe
from core.stimuli.worlds import World
from core.store import ModelEntry, Store, write_result

VERSION = 1  # raise it when heads are fitted otherwise
FILE = "head.safetensors"  # next to the weights of a supervised model
EVENTS = 1024  # that a head is fitted to
SPLIT = "heads"  # the stream that they are drawn from
STRENGTH = 1e-3  # λ of the logistic regression
PUBLISHED, FITTED = "published with its weights", "fitted to frozen features"


@dataclass(frozen=True)
class Head:
    """scores = features W + b, the classes of one task after the other.

    tasks: the number of classes of each factor that it answers. origin: PUBLISHED or FITTED.
    """

    weight: Float[Tensor, "d classes"]
    bias: Float[Tensor, " classes"]
    tasks: Mapping[str, int]
    origin: str

    def __call__(self, features: Float[Tensor, "b d"]) -> tuple[Tensor, ...]:
        scores = features @ self.weight + self.bias
        parts: tuple[Tensor, ...] = scores.split(list(self.tasks.values()), dim=1)
        return parts

    def answers(self, batch: Batch) -> tuple[Tensor, ...]:
        return tuple(batch[answer_key(task)] for task in self.tasks)


def write_head(folder: Path, head: Head) -> None:
    """Write a head into a model's folder, in half precision as the weights are."""
    parts = {"weight": head.weight.half().cpu().contiguous(), "bias": head.bias.half().cpu()}
    save_file(parts, folder / FILE, metadata={"tasks": json.dumps([*head.tasks])})


def read_head(folder: Path, world: World) -> Head | None:
    """Return the head in a model's folder in single precision, None if there is none, or one that
    answers other questions.
    """
    if not (folder / FILE).exists():
        return None
    with safe_open(folder / FILE, framework="pt") as file:
        names = json.loads(file.metadata()["tasks"])
        weight, bias = (file.get_tensor(name).float() for name in ("weight", "bias"))
    if not set(names) <= set(world.factors):
        return None
    return Head(weight, bias, {name: len(world.factors[name]) for name in names}, PUBLISHED)


def tasks_of(card: ModelCard, world: World) -> dict[str, int]:
    """Return the factors that a model was supervised on, all of the world if it was on none."""
    config = card.training.get("config") or {}
    named = (config.get("options") or {}).get("tasks") or ()
    known = [task for task in named if task in world.factors] or world.factors
    return {task: len(world.factors[task]) for task in known}


def fit_head(
    network: VisionNetwork,
    *,
    count: int = EVENTS,
    report: Callable[[int, int], None] = lambda *_: None,
) -> Head:
    """Fit a head to `count` new events: a multinomial logistic regression for each task on
    standardized features, λ = 0.001.
    """
    batch = network.read(network.world.sample(SPLIT, count))
    features = features_of(network, batch)
    mean, spread = features.mean(0), features.std(0, correction=0)
    spread = torch.where(spread > 1e-6 * features.abs().amax(0), spread, torch.inf)
    rows = (features - mean) / spread  # what is constant tells nothing, and becomes 0
    tasks = tasks_of(network.card, network.world)
    layers = []
    for task, classes in tasks.items():
        labels = batch[answer_key(task)]
        layers.append(fit(rows, labels, classes=classes, strengths=[STRENGTH])[0])
        report(len(layers), len(tasks))
    layer = torch.cat(layers, dim=1)
    weight = layer[:-1] / spread[:, None]
    return Head(weight, layer[-1] - mean @ weight, tasks, FITTED)


@torch.no_grad()
def features_of(network: VisionNetwork, batch: Batch) -> Float[Tensor, "n d"]:
    last = len(network.steps) - 1
    return torch.cat([network.upper(network.lower(part, last), last) for part in parts_of(batch)])


def head_of(store: Store, dataset: str, entry: ModelEntry, network: VisionNetwork) -> Head:
    """Return the head of a vision model: published, kept in the store, or fitted now.

    Raises EncoderError for a file of another model's.
    """
    card, world = entry.card, network.world
    if file := head_file(card):
        store.note_files(file)
        if head := read_head(file.parent, world):
            width = int(network.encoder.model.num_features)
            if len(head.weight) != width:
                raise EncoderError(
                    f"the head of {card.name} reads {len(head.weight)} features,"
                    f" and the model has {width}; train the model again, or delete the head's file"
                )
            return _to(head, network)
    name = f"head-{card.name}"
    recipe = Recipe.of(
        "head",
        version=VERSION,
        model=card.name,
        weights=card.weights,
        embedding=entry.digest,
        tasks=list(tasks_of(card, world)),
        events=EVENTS,
        split=SPLIT,
        strength=STRENGTH,
    )
    kept = store.result(dataset, name)
    if kept and kept[1] == recipe:
        rows = torch.tensor(kept[0].to_numpy(np.float32))
        return _to(Head(rows[:-1], rows[-1], tasks_of(card, world), FITTED), network)
    head = fit_head(network, report=lambda done, total: tell(done, total, "tasks of a new head"))
    # kept only to save seconds later: a store that cannot be written now still gives every answer
    with suppress(StoreWriteError, StoreBusyError):
        rows = torch.cat([head.weight, head.bias[None]])  # the bias is the last row
        columns = [f"class {place}" for place in range(rows.shape[1])]
        table = pd.DataFrame(rows.cpu().numpy(), columns=columns)
        write_result(
            store.root, dataset=store.dataset(dataset), name=name, table=table, recipe=recipe
        )
    return head


def head_file(card: ModelCard) -> Path | None:
    _, _, folder = card.spec.partition("@")
    return Path(folder) / FILE if folder else None


def _to(head: Head, network: VisionNetwork) -> Head:
    weight, bias = (part.to(network.device, torch.float32) for part in (head.weight, head.bias))
    return Head(weight, bias, head.tasks, head.origin)


@dataclass(frozen=True)
class Labels:
    """Questions about a picture. loss: the mean over questions of the cross-entropy divided by
    log(number of classes). score: the share of questions that are answered right.
    """

    head: Head

    def loss(self, features: Float[Tensor, "b d"], batch: Batch) -> Float[Tensor, ""]:
        pairs = zip(self.head(features), self.head.answers(batch), strict=True)
        costs = [F.cross_entropy(row, label) / math.log(row.shape[1]) for row, label in pairs]
        return torch.stack(costs).mean()

    def score(self, features: Float[Tensor, "b d"], batch: Batch) -> Float[Tensor, " b"]:
        pairs = zip(self.head(features), self.head.answers(batch), strict=True)
        return torch.stack([(row.argmax(1) == label).float() for row, label in pairs]).mean(0)

    def guess(self, examples: Batch, batch: Batch) -> Float[Tensor, " b"]:
        """Return the scores of answering each question with its commonest answer in `examples`."""
        classes = self.head.tasks.values()
        answers = zip(classes, self.head.answers(examples), self.head.answers(batch), strict=True)
        right = [
            (torch.bincount(before, minlength=count).argmax() == now).float()
            for count, before, now in answers
        ]
        return torch.stack(right).mean(0)


def open_network(entry: ModelEntry, device: torch.device, world: World) -> VisionNetwork:
    """Open a vision model of the store and cut it at every layer, in single precision; raise
    EncoderError for one that cannot be cut.
    """
    encoder = reopen(entry, device)
    if isinstance(encoder, VisionEncoder):
        return cut_vision(encoder, world)
    raise EncoderError(f"{entry.card.name} is no timm model of images; choose one that is")
