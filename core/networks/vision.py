"""Vision models of timm, cut open at every layer: steps that run one after another.

Layers are those of the model's card, counted from 0. A state is what a layer hands to the next one:
a vector for each place, which is a token, or a cell of a feature map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from core.encoders.encoder import ModelCard
from core.encoders.vision import VisionEncoder
from core.errors import EncoderError
from core.stimuli.worlds import Event, World


@dataclass(frozen=True)
class Places:
    """First `prefix` tokens of the whole picture, as a class token, then a grid, row by row."""

    prefix: int
    height: int
    width: int


def bring(state: Float[Tensor, "b n d"], here: Places, there: Places) -> Float[Tensor, "b m d"]:
    """Return a state with the places of another network.

    A grid of other sides is resampled: averaged if it shrinks, bilinear if it grows. The mean over
    the grid replaces a class token that the state lacks; tokens that the other lacks are left out.
    """
    if here == there:
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


# images of some events and the answers about each factor, a row per event
Batch = Mapping[str, Tensor]
State = Float[Tensor, "_ _ _"]  # events, places, width
TOGETHER = 256  # events that are run at a time if nothing is learned


def answer_key(factor: str) -> str:
    return f"answer: {factor}"


def size_of(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def rows_of(batch: Batch, rows: Tensor | slice) -> Batch:
    return {name: part[rows] for name, part in batch.items()}


def parts_of(batch: Batch, size: int = TOGETHER) -> list[Batch]:
    starts = range(0, size_of(batch), size)
    return [rows_of(batch, slice(start, start + size)) for start in starts]


Step = Callable[[Tensor], Tensor]
Cut = tuple[tuple[Step, ...], Step, int | None]  # steps, finish and prefix of a network
_CLOSE = 1e-4  # how much a cut model may differ from the whole, over the largest feature
_HELD = 3  # sets of pictures: of heads, of stitches and of what is scored


@dataclass(frozen=True, eq=False)
class VisionNetwork:
    """A frozen timm model in steps, the first of which reads pixels.

    finish: from the last state to the features that a head reads. prefix: tokens before the
    patches, None of a model whose states are feature maps (b, d, h, w).
    """

    encoder: VisionEncoder
    world: World
    steps: tuple[Step, ...]
    finish: Step
    prefix: int | None

    @property
    def card(self) -> ModelCard:
        return self.encoder.card

    @property
    def device(self) -> torch.device:
        return torch.device(self.encoder.device)

    @property
    def side(self) -> int:
        return int(self.encoder.recipe["preprocessing"]["input_size"][1])

    def read(self, events: Sequence[Event]) -> Batch:
        drawn = _draw_all(self.world, tuple(events), self.side)
        images = torch.stack([self.encoder.prepare(Image.fromarray(one)) for one in drawn])
        answers = torch.from_numpy(np.stack([self.world.answers(event) for event in events]))
        columns = zip(map(answer_key, self.world.factors), answers.long().unbind(1), strict=True)
        read = {"images": images, **dict(columns)}
        return {name: part.to(self.device) for name, part in read.items()}

    def places(self, layer: int) -> Places:
        return self._places[layer]

    @cached_property
    @torch.no_grad()
    def _places(self) -> list[Places]:
        state = torch.zeros(1, 3, self.side, self.side, device=self.device)
        states = []
        for step in self.steps:
            state = step(state)
            states.append(self._place(state))
        return states

    def _place(self, state: Tensor) -> Places:
        if self.prefix is None:
            return Places(0, *state.shape[2:])
        return Places(self.prefix, *self.encoder.model.patch_embed.grid_size)

    def lower(self, batch: Batch, layer: int) -> State:
        """Return the state of a layer."""
        state = batch["images"]
        for step in self.steps[: layer + 1]:
            state = step(state)
        return state if self.prefix is not None else state.flatten(2).transpose(1, 2)

    def upper(self, state: State, layer: int) -> Tensor:
        """Return the features that the head reads, given the state of a layer."""
        if self.prefix is None:
            here = self.places(layer)
            state = state.transpose(1, 2).unflatten(2, (here.height, here.width))
        for step in self.steps[layer + 1 :]:
            state = step(state)
        return self.finish(state)


@torch.no_grad()
def states_at(network: VisionNetwork, batch: Batch, layer: int) -> State:
    return torch.cat([network.lower(part, layer) for part in parts_of(batch)])


def cut_vision(encoder: VisionEncoder, world: World) -> VisionNetwork:
    """Cut a timm model at every layer of its card; raises EncoderError for one that is built in
    another way than ViT, ResNet and ConvNeXt are.
    """
    model = encoder.model.float()
    for cut in (_cut_transformer, _cut_resnet, _cut_stages):
        try:
            network = VisionNetwork(encoder, world, *cut(model))
            if len(network.steps) == len(encoder.card.layers) and _is_whole(network):
                return network
        except (AttributeError, RuntimeError, TypeError):  # built in another way
            continue
    raise EncoderError(
        f"{encoder.card.name} is a {type(model).__name__}, which cannot be cut into layers here;"
        " choose a model that is built as ViT, ResNet or ConvNeXt are"
    )


def _cut_transformer(model: Any) -> Cut:
    first, *others = model.blocks

    def begin(pixels: Tensor) -> Tensor:
        tokens = model._pos_embed(model.patch_embed(pixels))
        state: Tensor = first(model.norm_pre(model.patch_drop(tokens)))
        return state

    return (
        (begin, *others),
        lambda state: _features(model, model.norm(state)),
        model.num_prefix_tokens,
    )


def _cut_resnet(model: Any) -> Cut:
    steps = (
        lambda pixels: model.act1(model.bn1(model.conv1(pixels))),
        lambda state: model.layer1(model.maxpool(state)),
        model.layer2,
        model.layer3,
        model.layer4,
    )
    return steps, lambda state: _features(model, state), None


def _cut_stages(model: Any) -> Cut:
    first, *others = model.stages
    steps = (lambda pixels: first(model.stem(pixels)), *others)
    return steps, lambda state: _features(model, model.norm_pre(state)), None


def _features(model: Any, state: Tensor) -> Tensor:
    features: Tensor = model.forward_head(state, pre_logits=True)
    return features


@torch.no_grad()
def _is_whole(network: VisionNetwork) -> bool:
    dice = torch.Generator().manual_seed(0)
    pixels = torch.randn(2, 3, network.side, network.side, generator=dice).to(network.device)
    model, last = network.encoder.model, len(network.steps) - 1
    whole = _features(model, model.forward_features(pixels))
    batch = {"images": pixels}
    apart = network.upper(network.lower(batch, last), last)
    same = whole.shape == apart.shape
    return same and bool((whole - apart).abs().max() <= _CLOSE * whole.abs().max())


@lru_cache(maxsize=_HELD)
def _draw_all(
    world: World, events: tuple[Event, ...], side: int
) -> UInt8[np.ndarray, "n side side 3"]:
    return np.stack([np.asarray(world.render(event, size=side)) for event in events])
