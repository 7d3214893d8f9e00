"""Causal language models of transformers as networks.

Nothing of an architecture is known here but its blocks. To begin at a layer, the blocks before it
pass on what they are given, and the first of them is given the state; positions, masks and the last
norm are the model's own business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from core.encoders.encoder import ModelCard
from core.encoders.language.encoder import LanguageEncoder, coded_part, pad, unknown_tokens
from core.errors import EncoderError
from core.modalities import MUSIC
from core.networks.network import Batch, State
from core.stimuli.worlds import Event, World

_PROBED = 4  # tokens that show whether a model can be cut
_CLOSE = 1e-4  # of the largest feature: how much a model that is cut may differ from the whole


@dataclass(frozen=True, eq=False)
class LanguageNetwork:
    """A causal model of captions or melodies; layer 0 is the embedding, the last one comes before
    the final norm.

    level: of the captions that it reads. tupled: whether its blocks return a tuple.
    """

    encoder: LanguageEncoder
    world: World
    level: str
    tupled: bool

    @property
    def card(self) -> ModelCard:
        return self.encoder.card

    @property
    def device(self) -> torch.device:
        return torch.device(self.encoder.device)

    @property
    def head(self) -> Callable[[Tensor], Tensor]:
        """What makes logits of features: the model itself."""
        return self.encoder.readout.logits

    @property
    def _blocks(self) -> tuple[nn.Module, ...]:
        return self.encoder.readout.blocks

    def read(self, events: Sequence[Event]) -> Batch:
        sung = self.card.modality == MUSIC.name
        tell = self.world.melody if sung else partial(self.world.caption, level=self.level)
        texts = [tell(event) for event in events]
        read, unknown = self.encoder.tokenizer(texts), unknown_tokens(self.encoder.tokenizer)
        ids, mask = pad(read["input_ids"])
        coded, sizes = torch.zeros_like(mask), []
        for row, (text, tokens) in enumerate(zip(texts, read.encodings, strict=True)):
            places, size = coded_part(text, tokens, unknown)
            coded[row, places] = 1
            sizes.append(size)
        named = {"tokens": ids, "present": mask.bool(), "coded": coded.bool()}
        named["bytes"] = torch.tensor(sizes)
        return {name: part.to(self.device) for name, part in named.items()}

    def places(self, layer: int) -> None:
        return None

    def lower(self, batch: Batch, layer: int) -> State:
        seen: list[Tensor] = []
        with _watching(self._blocks, layer, seen):
            self._run(batch)
        return seen[0]

    def upper(self, state: State, layer: int, batch: Batch) -> Tensor:
        with _beginning(self._blocks, layer, state, tupled=self.tupled):
            features: Tensor = self._run(batch).last_hidden_state
        return features

    def _run(self, batch: Batch) -> Any:
        return _run(self.encoder, batch)


def _run(encoder: LanguageEncoder, batch: Batch) -> Any:
    mask = batch["present"].long()
    return encoder.model.base_model(input_ids=batch["tokens"], attention_mask=mask, use_cache=False)


def cut_language(encoder: LanguageEncoder, world: World, *, level: str) -> LanguageNetwork:
    """Cut a causal model at every layer of its card; raises EncoderError for other models."""
    name = encoder.card.name
    if not encoder.readout.is_causal:
        raise EncoderError(
            f"{name} does not predict text from left to right, so its states have seen the answers;"
            " choose a causal model"
        )
    encoder.model.float()
    probe = _probe(torch.device(encoder.device))
    network = LanguageNetwork(encoder, world, level, _gives_tuples(encoder, probe))
    if not (encoder.readout.blocks and _is_whole(network, probe)):
        raise EncoderError(
            f"{name} is a {type(encoder.model).__name__}, which cannot be cut into layers here;"
            " choose a model that is built of blocks, as GPT-2, LLaMA and BLOOM are"
        )
    return network


def _probe(device: torch.device) -> Batch:
    ids = torch.arange(_PROBED, device=device)[None]
    return {"tokens": ids, "present": torch.ones_like(ids, dtype=torch.bool)}


@torch.no_grad()
def _gives_tuples(encoder: LanguageEncoder, batch: Batch) -> bool:
    outputs: list[Any] = []
    handles = [
        block.register_forward_hook(lambda _, __, output: outputs.append(output))
        for block in encoder.readout.blocks[:1]
    ]
    _run(encoder, batch)
    for handle in handles:
        handle.remove()
    return any(isinstance(output, tuple) for output in outputs)


@torch.no_grad()
def _is_whole(network: LanguageNetwork, batch: Batch) -> bool:
    """Return whether the model gives the same whole and cut at its first and last layer."""
    whole = network._run(batch).last_hidden_state
    for layer in (0, len(network.card.layers) - 1):
        try:
            apart = network.upper(network.lower(batch, layer), layer, batch)
        except (AttributeError, IndexError, TypeError, ValueError):  # no blocks in a row
            return False
        if whole.shape != apart.shape:
            return False
        if not (whole - apart).abs().max() <= _CLOSE * whole.abs().max():
            return False
    return True


@contextmanager
def _watching(blocks: Sequence[nn.Module], layer: int, seen: list[Tensor]) -> Iterator[None]:
    """Write down the state of a layer: the input of a block, or the output of the last one."""

    def before(_: nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        seen.append(positional[0] if positional else named["hidden_states"])

    def after(_: nn.Module, __: Any, output: Any) -> None:
        seen.append(output[0] if isinstance(output, tuple) else output)

    if layer < len(blocks):
        handle = blocks[layer].register_forward_pre_hook(before, with_kwargs=True)
    else:
        handle = blocks[-1].register_forward_hook(after)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _beginning(
    blocks: Sequence[nn.Module], layer: int, state: Tensor, *, tupled: bool
) -> Iterator[None]:
    """Give the first block a state, and let the blocks before a layer pass it on."""

    def give(_: nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if positional:
            return (state, *positional[1:]), named
        return positional, {**named, "hidden_states": state}

    def pass_on(hidden_states: Tensor, *_: Any, **__: Any) -> Any:
        return (hidden_states,) if tupled else hidden_states

    handle = blocks[0].register_forward_pre_hook(give, with_kwargs=True)
    for block in blocks[:layer]:
        block.forward = pass_on
    try:
        yield
    finally:
        handle.remove()
        for block in blocks[:layer]:
            del block.forward
