"""Heads of vision models: one linear layer that answers several questions about a picture.

What a training throws away is fitted anew, by logistic regression on the frozen features of events
that no store holds. Language models have a head of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from core.cave.events import events
from core.cave.tasks import ATTRIBUTES
from core.competence.probes import fit
from core.encoders.encoder import ModelCard
from core.errors import EncoderError
from core.networks.network import Batch, parts_of
from core.networks.vision import VisionNetwork

EVENTS = 1024  # that a head is fitted to
SPLIT = "heads"  # the stream that they are drawn from
STRENGTH = 1e-3  # λ of the logistic regression
PUBLISHED, FITTED = "published with its weights", "fitted to frozen features"
CLASSES = {one.name: len(one.classes) for one in ATTRIBUTES}


@dataclass(frozen=True)
class Head:
    """scores = features W + b, the classes of one task after the other.

    tasks: names of attributes. origin: PUBLISHED or FITTED.
    """

    weight: Float[Tensor, "d classes"]
    bias: Float[Tensor, " classes"]
    tasks: tuple[str, ...]
    origin: str

    def __call__(self, features: Float[Tensor, "b d"]) -> tuple[Tensor, ...]:
        """Return the scores of the classes of each task."""
        scores = features @ self.weight + self.bias
        parts: tuple[Tensor, ...] = scores.split([CLASSES[task] for task in self.tasks], dim=1)
        return parts


def tasks_of(card: ModelCard) -> tuple[str, ...]:
    """Return what a model was supervised on, all attributes where that is nothing we know."""
    config = card.training.get("config") or {}
    named = (config.get("options") or {}).get("tasks") or ()
    classified = tuple(task for task in named if task in CLASSES)
    return classified or tuple(CLASSES)


def answers_to(tasks: Sequence[str], batch: Batch) -> tuple[Tensor, ...]:
    """Return the right class of each event, task by task."""
    columns = {name: place for place, name in enumerate(CLASSES)}
    return tuple(batch["answers"][:, columns[task]] for task in tasks)


def fit_head(
    network: VisionNetwork,
    *,
    count: int = EVENTS,
    report: Callable[[int, int], None] = lambda *_: None,
) -> Head:
    """Fit a head to `count` new events; report: called with the tasks done and all of them.

    Each task is a multinomial logistic regression on standardized features, of strength λ = 0.001.
    """
    batch = network.read(list(events(SPLIT, count)))
    features = features_of(network, batch)
    mean, spread = features.mean(0), features.std(0, correction=0)
    spread = torch.where(spread > 1e-6 * features.abs().amax(0), spread, torch.inf)
    rows = (features - mean) / spread  # what is constant tells nothing, and becomes 0
    tasks = tasks_of(network.card)
    layers = []
    for task, labels in zip(tasks, answers_to(tasks, batch), strict=True):
        layers.append(fit(rows, labels, classes=CLASSES[task], strengths=[STRENGTH])[0])
        report(len(layers), len(tasks))
    layer = torch.cat(layers, dim=1)
    weight = layer[:-1] / spread[:, None]
    return Head(weight, layer[-1] - mean @ weight, tasks, FITTED)


@torch.no_grad()
def features_of(network: VisionNetwork, batch: Batch) -> Float[Tensor, "n d"]:
    """Return what a head reads of events."""
    last = len(network.steps) - 1
    see = partial(_see, network, last)
    return torch.cat([see(part) for part in parts_of(batch)])


def _see(network: VisionNetwork, last: int, batch: Batch) -> Tensor:
    return network.upper(network.lower(batch, last), last, batch)


def check_width(head: Head, network: VisionNetwork) -> Head:
    """Return a head that was read from a file; raises EncoderError for one of another model."""
    width = int(network.encoder.model.num_features)
    if len(head.weight) != width:
        raise EncoderError(
            f"the head beside the weights of {network.card.name} reads {len(head.weight)} features,"
            f" and the model has {width}; train the model again, or delete the head's file"
        )
    return head
