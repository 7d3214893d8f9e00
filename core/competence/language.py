"""What causal language models say: which ending they choose, what they write unprompted, and which
colors they expect.

    bits of an ending = −Σ log₂ p(token | context and the ending's tokens before it)

A model chooses the ending of the fewest bits. Nothing is divided by length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64
from torch import Tensor
from transformers import Cache

from core.competence.probes import Score, wilson
from core.encoders.encoder import Encoder
from core.encoders.language.encoder import LanguageEncoder
from core.errors import EncoderError
from core.progress import Progress
from core.stimuli.worlds import Choice, World

BATCH = 64  # texts at a time
PROMPT = "There is {} painted"


def predicts_text(encoder: Encoder) -> TypeGuard[LanguageEncoder]:
    return isinstance(encoder, LanguageEncoder) and encoder.readout.is_causal


def choose(codes: Float64[np.ndarray, "n endings"], items: Sequence[Choice]) -> Score:
    right = int((codes.argmin(1) == [item.answer for item in items]).sum())
    n = len(items)
    return Score(right / n, *wilson(right, n), chance=1 / codes.shape[1], n=n)


@torch.inference_mode()
def code_endings(
    encoder: Encoder, items: Sequence[Choice], *, report: Progress | None = None
) -> Float64[np.ndarray, "n endings"]:
    """Return the bits of every ending after its context; raise EncoderError for a model that does
    not predict text, and if an item is longer than the model can read.
    """
    if not predicts_text(encoder):
        raise EncoderError(
            f"{encoder.card.name} does not predict text from left to right, so it cannot"
            " continue one"
        )
    texts = [_tokenize(encoder, item.context, ending) for item in items for ending in item.endings]
    # texts of like length waste no padding
    order = sorted(range(len(texts)), key=lambda place: len(texts[place][0]))
    codes = np.full(len(texts), np.nan)
    for first in range(0, len(order), BATCH):
        places = order[first : first + BATCH]
        ids = [texts[place][0] for place in places]
        codes[places] = encoder.code(ids, [texts[place][1] for place in places])
        if report:
            report(min(first + BATCH, len(order)), len(order), f"exams of {encoder.card.name}")
    return codes.reshape(len(items), -1)


def _tokenize(encoder: LanguageEncoder, context: str, ending: str) -> tuple[list[int], range]:
    read = encoder.tokenizer([context + ending]).encodings[0]
    ends = [
        stop * (not special)
        for (_, stop), special in zip(read.offsets, read.special_tokens_mask, strict=True)
    ]
    own = [place for place, stop in enumerate(ends) if stop > len(context)]
    if encoder.limit is not None and len(read.ids) > encoder.limit:
        raise EncoderError(
            f"a text of {len(read.ids)} tokens is longer than the {encoder.limit} that"
            f" {encoder.card.name} can read"
        )
    return read.ids[: own[-1] + 1], range(own[0], own[-1] + 1)


@torch.inference_mode()
def sample_texts(encoder: Encoder, *, count: int, tokens: int, seed: int) -> list[str]:
    """Return `count` texts of at most `tokens` tokens that a model writes at temperature 1; raise
    EncoderError if it does not predict text or its tokenizer has no token that begins one.
    """
    name = encoder.card.name
    if not predicts_text(encoder):
        raise EncoderError(f"{name} does not predict text from left to right, so it writes none")
    tokenizer = encoder.tokenizer
    end = tokenizer.eos_token_id
    begin = end if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if begin is None:
        raise EncoderError(
            f"the tokenizer of {name} has no token that begins a text, so it cannot write one from"
            " nothing"
        )
    dice = torch.Generator().manual_seed(seed)
    last = torch.full((count, 1), int(begin), device=encoder.device)
    past: Cache | None = None
    drawn: list[Tensor] = []
    for place in range(min(tokens, (encoder.limit or tokens + 1) - 1)):
        mask = torch.ones(count, place + 1, dtype=torch.long, device=encoder.device)
        with encoder.arithmetic.forward_on(encoder.device):
            output = encoder.model(
                input_ids=last, attention_mask=mask, past_key_values=past, use_cache=True
            )
        chances = output.logits[:, -1].float().softmax(1).cpu()
        drawn.append(torch.multinomial(chances, 1, generator=dice))
        last, past = drawn[-1].to(encoder.device), output.past_key_values
    rows = torch.cat(drawn, 1).tolist()
    kept = [ids[: ids.index(end)] if end in ids else ids for ids in rows]
    return [str(tokenizer.decode(ids, skip_special_tokens=True)) for ids in kept]


def guess_colors(encoder: Encoder, world: World) -> pd.DataFrame:
    """Return kind, color, guess and law: the model's probability of each color of each kind of
    thing, and the world's; each sums to 1 over the colors of a kind.

    The model completes "There is a NOUN painted" with each wording of each color. A color's
    probability is the sum over its wordings, renormalized over the colors; a kind's is the mean
    over the nouns that mean it alone. Raise EncoderError for a model that does not predict text.
    """
    colors = list(world.colors)
    endings = tuple(f" {word}." for color in colors for word in world.colors[color])
    wordings = [(kind, noun) for kind, nouns in world.nouns.items() for noun in nouns]
    items = [
        Choice("colors", place, PROMPT.format(noun), endings, 0)
        for place, (_, noun) in enumerate(wordings)
    ]
    bits = code_endings(encoder, items)
    shares = np.exp2(bits.min(1, keepdims=True) - bits)
    shares /= shares.sum(1, keepdims=True)
    by_color = shares.reshape(len(items), len(colors), -1).sum(2)
    rows: list[tuple[str, str, float, float]] = []
    for kind in world.nouns:
        guess = by_color[[one == kind for one, _ in wordings]].mean(0)
        law = world.color_law(kind)
        rows += list(zip([kind] * len(colors), colors, guess, law, strict=True))
    return pd.DataFrame(rows, columns=["kind", "color", "guess", "law"])
