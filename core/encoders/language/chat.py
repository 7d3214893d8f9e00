"""Instruction-tuned models of transformers that answer in text, through their own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from jinja2 import TemplateError
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerFast

from core.encoders.checkpoint import Arithmetic, digest_files, store_name
from core.encoders.language.folder import (
    find_source,
    find_weights,
    is_causal,
    load_model,
    load_tokenizer,
    tokenizer_files,
)
from core.errors import EncoderError


@dataclass(frozen=True)
class Chat:
    """A causal model with a chat template. weights: digest of its weights and its tokenizer."""

    name: str
    weights: str
    device: str
    arithmetic: Arithmetic
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast

    @torch.inference_mode()
    def answer(self, instruction: str, texts: Sequence[str], *, limit: int) -> list[str]:
        """Return what the model says to each text under an instruction, on one line: the likeliest
        token each time, at most `limit`. Raise EncoderError for a template that takes neither
        instruction nor text.
        """
        prompts = [self._prompt(instruction, text) for text in texts]
        ids, mask = (part.to(self.device) for part in pad_left(prompts))
        with self.arithmetic.forward_on(self.device):
            tokens = self.model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=limit)
        said = self.tokenizer.batch_decode(tokens[:, ids.shape[1] :], skip_special_tokens=True)
        return [" ".join(text.split()) for text in said]

    def _prompt(self, instruction: str, text: str) -> list[int]:
        """Return the tokens of a conversation; if a template refuses or drops a system's part, the
        text begins with it.
        """
        system = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        merged = [{"role": "user", "content": f"{instruction}\n\n{text}"}]
        why = ""
        for messages in (system, merged):
            try:
                written = self.tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=True
                )
            except TemplateError as error:
                why = str(error)
            else:
                if instruction.strip() in written and text.strip() in written:
                    tokens: list[int] = self.tokenizer(written, add_special_tokens=False)[
                        "input_ids"
                    ]
                    return tokens
                why = "it leaves the instruction or the text out"
        raise EncoderError(
            f"the chat template of {self.name} takes no single user's message: {why}; choose"
            " another model"
        )


def open_chat(spec: str, *, device: torch.device) -> Chat:
    """Open `hf:ID` or `hf:FOLDER`, a causal model whose tokenizer has a chat template; raise
    EncoderError or OfflineError.
    """
    kind, _, place = spec.partition(":")
    if kind != "hf":
        raise EncoderError(
            f"{spec!r} is not a model that answers in text; expected hf:ID or hf:FOLDER"
        )
    source = find_source(place)
    folder = source.folder
    weights = digest_files([*find_weights(folder), *tokenizer_files(folder)])
    tokenizer = load_tokenizer(folder)
    if not tokenizer.chat_template:
        raise EncoderError(
            f"{spec} has no chat template, so it was not tuned to follow instructions; choose one"
            " that was"
        )
    model, arithmetic = load_model(folder, precision="auto", device=device)
    if not is_causal(model.config):
        raise EncoderError(
            f"{spec} does not write text; expected an instruction-tuned causal model"
        )
    model.generation_config = greedy(model.generation_config.eos_token_id)
    return Chat(store_name(source.place), weights, str(device), arithmetic, model, tokenizer)


def greedy(ends: int | list[int] | None) -> GenerationConfig:
    """Return how answers are found: the likeliest token each time until one of `ends`."""
    first = ends[0] if isinstance(ends, list) else ends
    return GenerationConfig(
        do_sample=False,
        num_beams=1,
        repetition_penalty=1.0,
        use_cache=True,
        eos_token_id=ends,
        pad_token_id=first or 0,
    )


def pad_left(
    prompts: Sequence[Sequence[int]],
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
    """Pad token ids on the left, so that every answer begins where its prompt ends; return them and
    the mask of real tokens.
    """
    length = max(map(len, prompts))
    ids = [[own[0]] * (length - len(own)) + list(own) for own in prompts]
    mask = [[0] * (length - len(own)) + [1] * len(own) for own in prompts]
    return torch.tensor(ids), torch.tensor(mask)
