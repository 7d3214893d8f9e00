"""The language objectives: each is a module that holds a transformers `model` and turns a batch of
captions into a loss.

A batch has `tokens` (b, t), filled up on the right, and which of them are `present`. transformers'
models are typed as Any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BloomConfig,
    GPT2Config,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    RobertaConfig,
)

from core.training.configs import NOTES, Config

Batch = Mapping[str, Tensor]
_CONFIGS: dict[str, type[PreTrainedConfig]] = {
    "gpt2": GPT2Config,
    NOTES: GPT2Config,
    "llama": LlamaConfig,
    "bloom": BloomConfig,
    "roberta": RobertaConfig,
}
_IGNORED = -100
_SELECTED, _KEPT, _SWAPPED = (
    0.15,
    0.1,
    0.1,
)  # BERT's shares: of the selected tokens, what is neither kept nor swapped is masked


_OF_GPT2 = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
_WITHOUT_DROPOUT = {  # every caption is seen about once
    "gpt2": _OF_GPT2,
    NOTES: _OF_GPT2,
    "llama": {"attention_dropout": 0.0},
    "bloom": {"hidden_dropout": 0.0, "attention_dropout": 0.0},
    "roberta": {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
}


def build_language(config: Config, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
    """Return the config's transformers model with its own initialization and without dropout."""
    special = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    shape = _CONFIGS[config.architecture](
        vocab_size=len(tokenizer),
        **special,
        **_WITHOUT_DROPOUT[config.architecture],
        **config.model,
    )
    build = AutoModelForMaskedLM if config.architecture == "roberta" else AutoModelForCausalLM
    model: nn.Module = build.from_config(shape)
    return model


def pool_tokens(states: Float[Tensor, "b t d"], present: Tensor) -> Float[Tensor, "b d"]:
    """Return the mean state of each text's tokens."""
    weights = present.unsqueeze(2).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)


class NextToken(nn.Module):
    """Causal language modeling. Loss: mean negative log-likelihood of each token after the first,
    in nats.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        return self.read(batch)[0]

    def read(self, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, "b d"]]:
        """Return the loss and the mean last state of each text."""
        tokens, present = batch["tokens"], batch["present"]
        output = self.model(
            input_ids=tokens,
            attention_mask=present.long(),
            use_cache=False,
            output_hidden_states=True,
        )
        truth = tokens.masked_fill(~present, _IGNORED)
        loss = F.cross_entropy(
            output.logits[:, :-1].flatten(0, 1).float(),
            truth[:, 1:].flatten(),
            ignore_index=_IGNORED,
        )
        return loss, pool_tokens(output.hidden_states[-1], present)


class MaskedToken(nn.Module):
    """Masked language modeling (Devlin et al. 2019). Loss: mean negative log-likelihood of the
    selected tokens, in nats.
    """

    def __init__(self, model: Any, *, mask: int) -> None:
        super().__init__()
        self.model = model
        self.mask = mask

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        tokens, present = batch["tokens"], batch["present"]
        chance, fate = torch.rand(2, *tokens.shape, device=tokens.device)
        chosen = present & (chance < _SELECTED)
        chosen[:, 0] |= ~chosen.any(
            1
        )  # so that a batch of short captions still asks something of each
        shown = torch.where(fate < _KEPT, tokens, self.mask)
        shown = torch.where(
            fate > 1 - _SWAPPED, torch.randint_like(tokens, self.model.config.vocab_size), shown
        )
        shown = torch.where(chosen, shown, tokens)
        logits = self.model(input_ids=shown, attention_mask=present.long()).logits
        return F.cross_entropy(logits[chosen].float(), tokens[chosen])
