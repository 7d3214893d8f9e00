"""What a network is: a model that runs up to a layer, or from one on, and what it reads of events.

Layers are those of the model's card, counted from 0. A state is what a layer hands to the next one:
a vector for each place, which is a token, or a cell of a feature map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.encoders.encoder import ModelCard
from core.stimuli.worlds import Event


@dataclass(frozen=True)
class Places:
    """First `prefix` tokens of the whole picture, as a class token, then a grid, row by row."""

    prefix: int
    height: int
    width: int


def bring(
    state: Float[Tensor, "b n d"], here: Places | None, there: Places | None
) -> Float[Tensor, "b m d"]:
    """Return a state with the places of another network.

    A grid of other sides is resampled: averaged if it shrinks, bilinear if it grows. The mean over
    the grid stands for a class token that the state lacks; tokens of the whole picture that the
    other network does not have are left out. Tokens of a text, None, stay as they are.
    """
    if here == there or here is None or there is None:
        return state
    whole, grid = state[:, : here.prefix], state[:, here.prefix :]
    missing = there.prefix - here.prefix
    if missing > 0:
        mean = grid.mean(1, keepdim=True).expand(-1, missing, -1)
        whole = torch.cat([whole, mean], dim=1)
    return torch.cat([whole[:, : there.prefix], _resample(grid, here, there)], dim=1)


def _resample(grid: Float[Tensor, "b n d"], here: Places, there: Places) -> Float[Tensor, "b m d"]:
    if (here.height, here.width) == (there.height, there.width):
        return grid
    cells = grid.transpose(1, 2).unflatten(2, (here.height, here.width))
    sides = (there.height, there.width)
    resampled = F.interpolate(cells, sides, mode="bilinear", antialias=True, align_corners=False)
    return resampled.flatten(2).transpose(1, 2)


# what a network reads of some events and the answers to its task, a row per event: `images` and the
# answers about each factor, or `tokens`, which are `present`, and how many `bytes` they spell
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


def answer_key(factor: str) -> str:
    return f"answer: {factor}"


def size_of(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def rows_of(batch: Batch, rows: Tensor | slice) -> Batch:
    return {name: part[rows] for name, part in batch.items()}


def parts_of(batch: Batch, size: int = TOGETHER) -> list[Batch]:
    starts = range(0, size_of(batch), size)
    return [rows_of(batch, slice(start, start + size)) for start in starts]


@torch.no_grad()
def states_at(network: Network, batch: Batch, layer: int) -> State:
    return torch.cat([network.lower(part, layer) for part in parts_of(batch)])
