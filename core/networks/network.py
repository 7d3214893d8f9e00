"""What a network is: a model that runs up to a layer, or from one on, and what it reads of events.

Layers are those of the model's card, counted from 0. A state is what a layer hands to the next one:
a vector for each place, which is a token, or a cell of a feature map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from core.cave.events import Event
from core.encoders.encoder import ModelCard
from core.networks.places import Places

# what a network reads of some events and the answers to its task, a row per event: `images` and
# `answers`, or `tokens`, which of them are `present`, and how many `bytes` they spell
Batch = Mapping[str, Tensor]
State = Float[Tensor, "_ _ _"]  # events, places, width
TOGETHER = 256  # events that are run at a time where nothing is learned


@runtime_checkable  # tests check arguments against it
class Network(Protocol):
    """A frozen model, cut open at every layer."""

    @property
    def card(self) -> ModelCard: ...

    @property
    def device(self) -> torch.device: ...

    def read(self, events: Sequence[Event]) -> Batch:
        """Return what the model reads of events, on its device."""

    def places(self, layer: int) -> Places | None:
        """Return how a layer's places lie; None for tokens of a text."""

    def lower(self, batch: Batch, layer: int) -> State:
        """Return the state of a layer."""

    def upper(self, state: State, layer: int, batch: Batch) -> Tensor:
        """Return the features that the head reads, given the state of a layer."""


def size_of(batch: Batch) -> int:
    """Return how many events a batch is of."""
    return len(next(iter(batch.values())))


def rows_of(batch: Batch, rows: Tensor | slice) -> Batch:
    """Return some events of a batch."""
    return {name: part[rows] for name, part in batch.items()}


def parts_of(batch: Batch, size: int = TOGETHER) -> list[Batch]:
    """Return a batch in parts of so many events."""
    starts = range(0, size_of(batch), size)
    return [rows_of(batch, slice(start, start + size)) for start in starts]


@torch.no_grad()
def states_at(network: Network, batch: Batch, layer: int) -> State:
    """Return a layer's states of many events, part by part."""
    return torch.cat([network.lower(part, layer) for part in parts_of(batch)])
