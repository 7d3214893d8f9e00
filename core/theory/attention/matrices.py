"""The query and key matrices of a transformer, head by head, or their gradients.

A query is Q [x, 1] and a key K [x, 1], with the offsets as a last column where there are any, so
that a logit is a product of the two: it stays what it is as Q → A Q and K → A⁻ᵀ K. Where positions
turn queries and keys (RoPE), only an A that scales each plane of rotation leaves it so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.errors import EncoderError

Heads = Float[Tensor, "heads size inputs"]
Value = Callable[[nn.Parameter], Tensor]  # the weight itself, or its gradient
MODEL_TYPES = ("gpt2", "bloom", "llama", "bert", "roberta")  # by config.model_type


@dataclass(frozen=True)
class Layer:
    """One layer's attention. weights: its parameters that make queries and keys. read: their
    queries and keys, each (heads, size, inputs), from what is wanted of each parameter.
    """

    weights: tuple[nn.Parameter, ...]
    read: Callable[[Value], tuple[Heads, Heads]]


def find_layers(model: Any) -> list[Layer]:
    """Return every layer's attention, first to last.

    Raises EncoderError for a kind of model that is not among MODEL_TYPES, and for fewer keys than
    queries: others lay their matrices out, turn or norm queries and keys in ways of their own.
    """
    config = model.config
    if config.model_type not in MODEL_TYPES or _shares_keys(config):
        raise EncoderError(
            f"queries and keys of {type(model).__name__} are not known; expected the attention of"
            " GPT-2, BLOOM, BERT, RoBERTa, or LLaMA with a key for each query"
        )
    heads = int(config.num_attention_heads)
    return [layer for module in model.modules() for layer in _layers_of(module, heads)]


def is_turned(model: Any) -> bool:
    """Return whether positions turn queries and keys."""
    return any(type(module).__name__.endswith("RotaryEmbedding") for module in model.modules())


def _shares_keys(config: Any) -> bool:
    heads = config.num_attention_heads
    return bool(getattr(config, "num_key_value_heads", heads) != heads)


def _layers_of(module: nn.Module, heads: int) -> Iterator[Layer]:
    parts = dict(module.named_children())
    if "c_attn" in parts:  # GPT-2: queries, keys and values side by side, transposed
        yield _fused(
            parts["c_attn"], lambda whole: _cut(whole.chunk(3)[0], whole.chunk(3)[1], heads)
        )
    if "query_key_value" in parts:  # BLOOM: of one head after the other
        yield _fused(parts["query_key_value"], lambda whole: _of_heads(whole, heads))
    for query, key in (("q_proj", "k_proj"), ("query", "key")):
        if query in parts and key in parts:
            yield _apart(parts[query], parts[key], heads)


def _fused(linear: nn.Module, split: Callable[[Tensor], tuple[Heads, Heads]]) -> Layer:
    return Layer(tuple(linear.parameters()), lambda value: split(_whole(linear, value)))


def _apart(query: nn.Module, key: nn.Module, heads: int) -> Layer:
    return Layer(
        (*query.parameters(), *key.parameters()),
        lambda value: _cut(_whole(query, value), _whole(key, value), heads),
    )


def _whole(linear: Any, value: Value) -> Float[Tensor, "outputs inputs"]:
    """Return weight and offset as one matrix, an output per row."""
    weight = value(linear.weight)
    weight = weight if isinstance(linear, nn.Linear) else weight.T  # GPT-2's Conv1D
    return weight if linear.bias is None else torch.cat([weight, value(linear.bias)[:, None]], 1)


def _cut(query: Tensor, key: Tensor, heads: int) -> tuple[Heads, Heads]:
    return query.reshape(heads, -1, query.shape[1]), key.reshape(heads, -1, key.shape[1])


def _of_heads(whole: Tensor, heads: int) -> tuple[Heads, Heads]:
    parts = whole.reshape(heads, 3, -1, whole.shape[1])
    return parts[:, 0], parts[:, 1]
