"""How a language model is read: a hidden state at a time, and the logits of the tokens that count.

All hidden states of a batch and the logits of all its tokens take much memory. Neither is needed if
the input of each block is the hidden state before it, and if the model's own forward makes logits
of any last states. Whether that holds to the last bit is tested on a few tokens when the model is
opened, as is whether it may read padded texts and is causal; any other model is run whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import log
from typing import Any, Literal, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from core.encoders.checkpoint import refusing
from core.encoders.language.folder import is_causal, quiet
from core.errors import EncoderError
from core.machine.memory import is_out_of_memory

T = TypeVar("T")
State = Float[Tensor, "_ _ _"]  # (texts, tokens, width), none alike in all states
Tokens = Int[Tensor, "batch length"]
Places = Int[Tensor, "places"]
Scores = Callable[[Places, Places], Float[Tensor, "places vocabulary"]]  # at texts and positions
TOGETHER = 512  # tokens that are coded at a time: 0.5 GB of logits of a vocabulary of 256,000
# whose first state is that after the first block, and whose last is normalized
LATE = ("mamba", "mamba2", "falcon_mamba", "rwkv")
READ = "expected an encoder of text or a causal model"
_PROBED, _LONGER = 4, 12  # tokens that show how a model is built, alone and with others behind them
_SAME = 1e-4  # relative difference of states that are equal but for rounding
_HALF = 0.02, 0.1  # in half precision, in batches of other shapes, and with other texts in them

# texts that are read in one pass: any, padded to the longest; of one length; or one
Together = Literal["padded", "equal", "single"]


@dataclass(frozen=True)
class Readout:
    """A model and how it is read. states: their number, the embedding included. blocks: modules
    whose inputs are all states but the last; none if the model is run whole. form: the type that
    its body returns.
    """

    model: PreTrainedModel
    states: int
    blocks: tuple[nn.Module, ...] = ()
    form: type[ModelOutput] = ModelOutput
    is_causal: bool = False
    together: Together = "padded"

    @property
    def layers(self) -> tuple[str, ...]:
        blocks = [f"block {i}" for i in range(1, self.states)]
        is_late = self.model.config.model_type in LATE
        return (*blocks, "last norm") if is_late else ("embedding", *blocks)

    def logits(self, last: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length _"]:
        """Return the logits that a model with blocks makes of its last states."""
        bodies = _bodies(self.model)
        held = [vars(body).get("forward") for body in bodies]  # accelerate's, if it has one
        for body in bodies:
            body.forward = lambda *_, **__: self.form(last_hidden_state=last)
        try:
            ids = torch.zeros(last.shape[:2], dtype=torch.long, device=last.device)
            logits: Tensor = self.model(input_ids=ids).logits
            return logits
        finally:
            for body, forward in zip(bodies, held, strict=True):
                del body.forward
                if forward is not None:
                    body.forward = forward


def _bodies(model: PreTrainedModel) -> list[PreTrainedModel]:
    return [body for body in {model.base_model, model.get_decoder()} if body is not model]


@torch.inference_mode()
def find_readout(model: PreTrainedModel, device: torch.device) -> Readout:
    """Return how a model that computes on a device can be read; raise EncoderError for one that
    takes no texts alone.
    """
    kind = str(model.dtype).removeprefix("torch.")
    advice = READ if kind == "float32" else f"{READ} that computes in {kind}; or --precision fp32"
    with refusing(f"{type(model).__name__} takes no texts alone", advice), quiet():
        vocabulary = model.get_input_embeddings().weight.shape[0]
        longer = torch.arange(1, _LONGER + 1, device=device)[None] * max(1, vocabulary // 13)
        longer %= vocabulary
        ids, forms = longer[:, :_PROBED], list[type[ModelOutput]]()
        handles = [
            body.register_forward_hook(lambda _, __, output: forms.append(type(output)))
            for body in _bodies(model)
        ]
        mask = torch.ones_like(ids)
        whole = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        for handle in handles:
            handle.remove()
        states = list(whole.hidden_states)
        if wrong := [state.shape for state in states if state.shape[:2] != ids.shape]:
            raise EncoderError(
                f"{type(model).__name__} makes states of {wrong[0][1]} places of {_PROBED} tokens;"
                " expected a vector of each token"
            )
        readout = Readout(model, len(states), is_causal=is_causal(model.config))
        lists = (one for one in model.base_model.modules() if isinstance(one, nn.ModuleList))
        for blocks in (tuple(one) for one in lists if len(one) == len(states) - 1):
            apart = replace(readout, blocks=blocks, form=forms[-1] if forms else ModelOutput)
            if _reads_like(apart, ids, mask, states, getattr(whole, "logits", None)):
                readout = apart
                break
        return _probe(readout, longer, states)


def _probe(readout: Readout, longer: Tokens, alone: Sequence[State]) -> Readout:
    """Return a readout that knows whether its model is causal, and which texts it may read
    together: those with which a text has the states that it has alone, but for rounding.
    """

    def states_of(rows: Sequence[Int[Tensor, "_ length"]], mask: Tokens) -> list[State]:
        batch = torch.cat(list(rows))
        return read_states(readout, batch, mask, lambda state: state[:1, :_PROBED])[0]

    short, behind = longer[:, :_PROBED], longer[:, _PROBED:]
    every = torch.ones_like(longer)
    paired = states_of([short, behind[:, :_PROBED]], every[:, :_PROBED].expand(2, -1))
    rounding, mixed = _HALF if readout.model.dtype.itemsize < 4 else (_SAME, _SAME)
    in_pair = _difference(paired, alone)
    if readout.is_causal:
        behind_changes = _difference(states_of([longer], every), alone) > max(mixed, 4 * in_pair)
        readout = replace(readout, is_causal=not behind_changes)
    if in_pair > mixed:
        return replace(readout, together="single")
    if readout.is_causal:
        return readout
    mask = torch.cat([(torch.arange(_LONGER, device=longer.device) < _PROBED).long()[None], every])
    first, second = (
        states_of([torch.cat([short, fill], dim=1), longer.flip(1)], mask)
        for fill in (behind, behind.flip(1))
    )
    alike = _difference(first, alone) <= max(rounding, 4 * in_pair)
    fits = alike and _difference(first, second) <= _SAME
    return replace(readout, together="padded" if fits else "equal")


def _difference(states: Sequence[State], others: Sequence[State]) -> float:
    pairs = [
        (one.float().cpu(), other.float().cpu()) for one, other in zip(states, others, strict=True)
    ]
    off = [(one - other).norm() / other.norm().clamp_min(1e-30) for one, other in pairs]
    return float(torch.stack(off).max())  # NaN stays


def read_states(
    readout: Readout, ids: Tokens, mask: Tokens, take: Callable[[State], T]
) -> tuple[list[T], Scores | None]:
    """Return what `take` makes of each hidden state, and the scores of a causal model."""
    model, taken = readout.model, list[T]()
    if not readout.blocks:
        output = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        return [take(state) for state in output.hidden_states], _scores(readout, output)
    length = ids.shape[1]  # blocks may see more places, which a model fills up for them
    with _watching(readout.blocks, lambda state: taken.append(take(state[:, :length]))):
        output = model.base_model(input_ids=ids, attention_mask=mask)
    return [*taken, take(output.last_hidden_state)], _scores(readout, output)


def read_scores(readout: Readout, ids: Tokens, mask: Tokens) -> Scores | None:
    """Return the scores of a causal model, without its hidden states."""
    body = readout.model.base_model if readout.blocks else readout.model
    return _scores(readout, body(input_ids=ids, attention_mask=mask))


def count_bits(
    scores: Scores, tokens: Sequence[Sequence[int]], coded: Sequence[Sequence[int]]
) -> Float64[np.ndarray, "texts"]:
    """Return −Σ log₂ p(token | those before it) over the places of each text that are coded, NaN
    for none.
    """
    bits = np.array([0.0 if len(places) else np.nan for places in coded])
    costly = [
        (text, place, tokens[text][place]) for text, places in enumerate(coded) for place in places
    ]
    for part in torch.tensor(costly, dtype=torch.long).reshape(-1, 3).split(TOGETHER):
        texts, places, wanted = part.T
        logits = scores(texts, places - 1).float()
        costs = F.cross_entropy(logits, wanted.to(logits.device), reduction="none")
        np.add.at(bits, texts.numpy(), costs.cpu().double().numpy() / log(2))
    return bits


def _scores(readout: Readout, output: ModelOutput) -> Scores | None:
    if not readout.is_causal:
        return None
    if not readout.blocks:
        logits = output.logits
        return lambda texts, places: logits[texts, places]
    last = output.last_hidden_state
    return lambda texts, places: readout.logits(last[texts, places][None])[0]


def _reads_like(
    readout: Readout, ids: Tokens, mask: Tokens, states: Sequence[State], logits: Tensor | None
) -> bool:
    """Return whether a model that is taken apart gives to the last bit what the whole gives."""
    try:
        apart, scores = read_states(readout, ids, mask, lambda state: state)
        if scores:
            apart.append(
                scores(torch.zeros(_PROBED, dtype=torch.long), torch.arange(_PROBED))[None]
            )
    except Exception as error:  # not made of such blocks, or no head
        if is_out_of_memory(error):
            raise
        return False
    whole = [*states, logits] if scores else states
    return len(apart) == len(whole) and all(
        other is not None and one.shape == other.shape and one.equal(other.to(one.device))
        for one, other in zip(apart, whole, strict=True)
    )


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
