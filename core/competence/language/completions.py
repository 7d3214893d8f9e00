"""Choosing among endings: a causal model's choice is the ending that it codes in the fewest bits,
which is the likeliest.

    bits of an ending = −Σ log₂ p(token | context and the ending's tokens before it)

over the tokens that reach beyond the context. Nothing is divided by length: endings are as long, or
each is right as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64

from core.cave.exams import Item
from core.competence.probes import Score, wilson
from core.encoders.encoder import Encoder
from core.encoders.language.encoder import LanguageEncoder
from core.errors import EncoderError
from core.progress import Progress

BATCH = 64  # texts at a time


@dataclass(frozen=True)
class Text:
    """A context with one ending as token ids; start: the first token that reaches into the
    ending.
    """

    ids: list[int]
    start: int


def choose(codes: Float64[np.ndarray, "n endings"], items: Sequence[Item]) -> Score:
    """Return how often the ending of the fewest bits is the right one; chance is one among the
    endings.
    """
    right = int((codes.argmin(1) == [item.answer for item in items]).sum())
    n = len(items)
    return Score(right / n, *wilson(right, n), chance=1 / codes.shape[1], n=n)


@torch.inference_mode()
def code_endings(
    encoder: Encoder, items: Sequence[Item], *, report: Progress | None = None
) -> Float64[np.ndarray, "n endings"]:
    """Return the bits of every ending after its context.

    Raises EncoderError for a model that does not predict text, and where an item is longer than the
    model can read.
    """
    if not isinstance(encoder, LanguageEncoder) or not encoder.readout.is_causal:
        raise EncoderError(
            f"{encoder.card.name} does not predict text from left to right, so it cannot"
            " continue one"
        )
    texts = [_tokenize(encoder, item.context, ending) for item in items for ending in item.endings]
    order = sorted(
        range(len(texts)), key=lambda place: len(texts[place].ids)
    )  # texts of like length waste no padding
    codes = np.full(len(texts), np.nan)
    for first in range(0, len(order), BATCH):
        places = order[first : first + BATCH]
        batch = [texts[place] for place in places]
        coded = [range(text.start, len(text.ids)) for text in batch]
        codes[places] = encoder.code([text.ids for text in batch], coded)
        if report:
            report(min(first + BATCH, len(order)), len(order), f"exams of {encoder.card.name}")
    return codes.reshape(len(items), -1)


def _tokenize(encoder: LanguageEncoder, context: str, ending: str) -> Text:
    read: Any = encoder.tokenizer([context + ending]).encodings[0]
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
    return Text(read.ids[: own[-1] + 1], own[0])
