"""How a language model is read: a hidden state at a time, and the logits of the tokens that count.

`output_hidden_states` keeps (layers × tokens × width) of a batch, and the logits of all its tokens
take more memory than a model whose vocabulary is large. Neither is needed where a model can be
taken apart: the input of a block is the hidden state before it, and a head maps the last state to
logits. Whether that holds is shown on a few tokens when the model is opened; one that is built in
another way is run whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import log
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn

from core.encoders.building import refusing
from core.encoders.language.folder import is_causal

T = TypeVar("T")
State = Float[Tensor, "batch length _"]  # widths may differ
Tokens = Int[Tensor, "batch length"]
Places = Int[Tensor, "places"]
Scores = Callable[[Places, Places], Float[Tensor, "places vocabulary"]]  # at texts and positions
TOGETHER = 512  # tokens that are coded at a time: 0.5 GB of logits where a vocabulary has 256,000
READ = "expected an encoder of text or a causal model"
_PROBED = 4  # tokens that show how a model is built


@dataclass(frozen=True)
class Readout:
    """A model and how it is read. states: their number, the embedding included. blocks: modules
    whose inputs are all states but the last; none where the model is run whole.
    """

    model: Any
    states: int
    blocks: tuple[nn.Module, ...] = ()

    @property
    def is_causal(self) -> bool:
        return is_causal(self.model.config)


@torch.inference_mode()
def find_readout(model: Any, device: torch.device) -> Readout:
    """Return how a model that computes on a device can be read; raises EncoderError for one that
    takes no texts alone.
    """
    ids = torch.arange(_PROBED, device=device)[None]
    mask = torch.ones_like(ids)
    with refusing(f"{type(model).__name__} takes no texts alone", READ):
        whole = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        states = list(whole.hidden_states)
    for blocks in _lists_of(model.base_model, len(states) - 1):
        apart = Readout(model, len(states), blocks)
        if _reads_like(apart, ids, mask, states, getattr(whole, "logits", None)):
            return apart
    return Readout(model, len(states))


def read_states(
    readout: Readout, ids: Tokens, mask: Tokens, take: Callable[[State], T]
) -> tuple[list[T], Scores | None]:
    """Return what `take` makes of each hidden state, and the scores of a causal model."""
    model, taken = readout.model, list[T]()
    if not readout.blocks:
        output = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        return [take(state) for state in output.hidden_states], _scores(readout, output)
    with _watching(readout.blocks, lambda state: taken.append(take(state))):
        output = model.base_model(input_ids=ids, attention_mask=mask)
    return [*taken, take(output.last_hidden_state)], _scores(readout, output)


def read_scores(readout: Readout, ids: Tokens, mask: Tokens) -> Scores | None:
    """Return the scores of a causal model, without its hidden states."""
    body = readout.model.base_model if readout.blocks else readout.model
    return _scores(readout, body(input_ids=ids, attention_mask=mask))


def count_bits(
    scores: Scores, tokens: Sequence[Sequence[int]], starts: Sequence[int]
) -> Float64[np.ndarray, "texts"]:
    """Return −Σ log₂ p(token | those before it) over each text's tokens from its start on, NaN
    for a text that has none there.
    """
    spans = [range(start, len(own)) for own, start in zip(tokens, starts, strict=True)]
    bits = np.array([0.0 if span else np.nan for span in spans])
    coded = [
        (text, place, tokens[text][place]) for text, span in enumerate(spans) for place in span
    ]
    for part in torch.tensor(coded, dtype=torch.long).reshape(-1, 3).split(TOGETHER):
        texts, places, wanted = part.T
        logits = scores(texts, places - 1).float()
        costs = F.cross_entropy(logits, wanted.to(logits.device), reduction="none")
        np.add.at(bits, texts.numpy(), costs.cpu().double().numpy() / log(2))
    return bits


def _scores(readout: Readout, output: Any) -> Scores | None:
    if not readout.is_causal:
        return None
    if not readout.blocks:
        logits = output.logits
        return lambda texts, places: logits[texts, places]
    head, last = readout.model.get_output_embeddings(), output.last_hidden_state
    return lambda texts, places: head(last[texts, places])


def _lists_of(body: nn.Module, count: int) -> Iterator[tuple[nn.Module, ...]]:
    """Yield every list of so many modules, which may be a model's blocks."""
    for module in body.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            yield tuple(module)


def _reads_like(
    readout: Readout, ids: Tokens, mask: Tokens, states: Sequence[State], logits: Tensor | None
) -> bool:
    """Return whether a model that is taken apart gives what it gives as a whole."""
    try:
        apart, scores = read_states(readout, ids, mask, lambda state: state)
        places = torch.arange(ids.shape[1])
        scored = scores(torch.zeros_like(places), places) if scores else None
    except (KeyError, IndexError, TypeError, AttributeError):  # not made of such blocks, or no head
        return False
    if len(apart) != len(states):
        return False
    pairs = list(zip(apart, states, strict=True))
    if scored is not None and logits is not None:
        pairs.append((scored[None], logits))
    return all(_is_close(*pair) for pair in pairs)


def _is_close(one: Tensor, other: Tensor) -> bool:
    """Return whether tensors are equal but for the rounding of their precision."""
    if one.shape != other.shape:
        return False
    other = other.to(one.device)
    unit = torch.finfo(one.dtype).eps * float(other.abs().max())
    return bool((one - other).abs().max() <= 16 * unit)


@contextmanager
def _watching(blocks: Sequence[nn.Module], see: Callable[[State], None]) -> Iterator[None]:
    """Let `see` have the input of each block as it comes."""

    def hook(_: nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        see(positional[0] if positional else named["hidden_states"])

    handles = [block.register_forward_pre_hook(hook, with_kwargs=True) for block in blocks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
