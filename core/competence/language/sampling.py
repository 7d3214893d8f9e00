"""Texts that a causal model writes by itself: plain ancestral sampling at temperature 1, each token
drawn from the model's own distribution.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from core.encoders.encoder import Encoder
from core.encoders.language.encoder import LanguageEncoder
from core.errors import EncoderError


@torch.inference_mode()
def sample_texts(encoder: Encoder, *, count: int, tokens: int, seed: int) -> list[str]:
    """Return `count` texts of `tokens` tokens, or fewer where the model ends one, each begun from
    the tokenizer's beginning-of-text token.

    tokens: fewer where the model can read fewer. Raises EncoderError for a model that does not
    predict text and for a tokenizer that knows no beginning.
    """
    if not isinstance(encoder, LanguageEncoder) or not encoder.readout.is_causal:
        raise EncoderError(
            f"{encoder.card.name} does not predict text from left to right, so it writes none"
        )
    length = min(tokens, (encoder.limit or tokens + 1) - 1)
    dice = torch.Generator().manual_seed(seed)
    last = torch.full((count, 1), _beginning(encoder), device=encoder.device)
    past: Any = None
    drawn: list[Tensor] = []
    for place in range(length):
        mask = torch.ones(count, place + 1, dtype=torch.long, device=encoder.device)
        with encoder.arithmetic.forward_on(encoder.device):
            output = encoder.model(
                input_ids=last, attention_mask=mask, past_key_values=past, use_cache=True
            )
        chances = output.logits[:, -1].float().softmax(1).cpu()
        drawn.append(torch.multinomial(chances, 1, generator=dice))
        last, past = drawn[-1].to(encoder.device), output.past_key_values
    return [_decode(encoder, row) for row in torch.cat(drawn, 1).tolist()]


def _beginning(encoder: LanguageEncoder) -> int:
    tokenizer = encoder.tokenizer
    for token in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    raise EncoderError(
        f"the tokenizer of {encoder.card.name} has no token that begins a text, so it cannot write"
        " one from nothing"
    )


def _decode(encoder: LanguageEncoder, ids: list[int]) -> str:
    """Return a text up to where the model ended it."""
    end = encoder.tokenizer.eos_token_id
    kept = ids[: ids.index(end)] if end in ids else ids
    return str(encoder.tokenizer.decode(kept, skip_special_tokens=True))
