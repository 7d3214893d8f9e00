"""Language models of transformers, read out at every hidden state; the code length of each text
comes from the same pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int
from torch import Tensor, nn

from core.encoders import naming
from core.encoders.building import refusing
from core.encoders.checkpoint import digest_files, read_notes, store_name
from core.encoders.encoder import Encoding, ModelCard
from core.encoders.language.folder import (
    Source,
    find_weights,
    load_model,
    load_tokenizer,
    opened_source,
    tokenizer_files,
)
from core.encoders.language.readout import (
    Readout,
    State,
    count_bits,
    find_readout,
    read_scores,
    read_states,
)
from core.encoders.precision import Arithmetic
from core.encoders.requests import PROMPTS, Pooling, Precision, Prompt
from core.errors import EncoderError
from core.modalities import LANGUAGE, find_reading

POOLED: Mapping[Pooling, str] = {
    "mean": "mean of tokens",
    "last": "last token",
    "first": "first token",
}
TOKENIZER = "expected the model's own tokenizer: save it again with transformers"


@dataclass(frozen=True)
class LanguageEncoder:
    """A transformers model that turns texts into one vector per hidden state, and into bits where
    it is causal.
    """

    card: ModelCard
    recipe: Mapping[str, Any]
    device: str
    arithmetic: Arithmetic
    readout: Readout
    tokenizer: Any
    pooling: Pooling
    prompt: Prompt
    limit: int | None  # longest text in tokens, special ones included

    @property
    def model(self) -> Any:
        return self.readout.model

    @torch.inference_mode()
    def encode(self, items: Sequence[str]) -> Encoding:
        """Encode texts; a text over the limit is cut there, and its bytes are those of the part
        that was kept.

        With a prompt, vectors are those of the prompted texts, and bits those of the texts alone.
        Raises EncoderError for a text that the limit cuts within its prompt.
        """
        tokens, kept = self._tokenize(items)
        read = tokens if self.prompt == "none" else self._tokenize_prompted(items)
        ids, mask = (part.to(self.device) for part in pad(read))

        def vectors(state: State) -> Float32[np.ndarray, "batch width"]:
            pooled = pool(state.float(), mask.to(state.device), how=self.pooling)
            return pooled.cpu().numpy()

        with self.arithmetic.forward_on(self.device):
            layers, scores = read_states(self.readout, ids, mask, vectors)
            if scores is None:
                return Encoding(tuple(layers))
            bits = count_bits(scores, read, [1] * len(read)) if read is tokens else None
        if bits is None:
            bits = self.code(tokens, [1] * len(tokens))
        return Encoding(
            tuple(layers), bits, np.array([len(text.encode()) for text in kept], np.float64)
        )

    @torch.inference_mode()
    def code(
        self, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Float64[np.ndarray, "texts"]:
        """Return the bits of each text's tokens from its start on, given those before; raises
        EncoderError for a model that does not predict the next token.
        """
        ids, mask = (part.to(self.device) for part in pad(tokens))
        with self.arithmetic.forward_on(self.device):
            scores = read_scores(self.readout, ids, mask)
            if scores is None:
                raise EncoderError(
                    f"{self.card.name} does not predict the next token; expected a causal model"
                )
            return count_bits(scores, tokens, starts)

    def _tokenize_prompted(self, items: Sequence[str]) -> list[list[int]]:
        sentences = [PROMPTS[self.prompt].format(text) for text in items]
        tokens, kept = self._tokenize(sentences)
        for text, whole, part in zip(items, sentences, kept, strict=True):
            if part != whole:  # its last token would not be the prompt's
                raise EncoderError(
                    f"{self.card.name} reads {self.limit} tokens at most, and the text"
                    f" {text[:40]!r} … within its prompt has more; embed shorter captions, or"
                    " without --prompt"
                )
        return tokens

    def _tokenize(self, items: Sequence[str]) -> tuple[list[list[int]], list[str]]:
        with refusing(f"the tokenizer of {self.card.name} cannot read these texts", TOKENIZER):
            batch = self.tokenizer(
                list(items), truncation=self.limit is not None, max_length=self.limit
            )
        vocabulary = self.model.get_input_embeddings().weight.shape[0]
        for text, ids in zip(items, batch["input_ids"], strict=True):
            if not ids:
                raise EncoderError(
                    f"the text {text!r} has no tokens for {self.card.name}; give each stimulus a"
                    " caption"
                )
            if max(ids) >= vocabulary:
                raise EncoderError(
                    f"token {max(ids)} of {text!r} is not among the {vocabulary} of"
                    f" {self.card.name}; use its own tokenizer"
                )
        return batch["input_ids"], [
            _kept(text, part) for text, part in zip(items, batch.encodings, strict=True)
        ]


def open_language(
    spec: str,
    *,
    device: torch.device,
    pooling: Pooling = "mean",
    prompt: Prompt = "none",
    precision: Precision = "auto",
) -> LanguageEncoder:
    """Open `hf:ID` or `hf:ID@REVISION` (from the hub or its cache) or `hf:FOLDER` with config.json,
    model.safetensors and a tokenizer.

    pooling: the mean over a text's tokens, the last one, or the first (what BERT's kind calls CLS).
    prompt: a name in PROMPTS. precision: see `choose_arithmetic`. A causal model also gives bits. A
    card.json in the folder gives title, family, objective, training and the modality, where the
    texts are no language but, say, notes. Raises EncoderError, OfflineError, or UnknownNameError
    for the modality.
    """
    with opened_source(spec.removeprefix("hf:")) as source:
        return _open(source, device, pooling, prompt, precision)


def _open(
    source: Source, device: torch.device, pooling: Pooling, prompt: Prompt, precision: Precision
) -> LanguageEncoder:
    folder = source.folder
    files = find_weights(folder)
    tokenizer = load_tokenizer(folder)
    model, arithmetic = load_model(folder, precision=precision, device=device)
    readout = find_readout(model, device)
    limit = longest_text(model, tokenizer)
    return LanguageEncoder(
        card=_describe(source, readout, weights=digest_files(files)),
        recipe=_recipe(folder, pooling, limit, arithmetic) | _prompt_recipe(prompt),
        device=str(device),
        arithmetic=arithmetic,
        readout=readout,
        tokenizer=tokenizer,
        pooling=pooling,
        prompt=prompt,
        limit=limit,
    )


def _recipe(
    folder: Path, pooling: Pooling, limit: int | None, arithmetic: Arithmetic
) -> dict[str, Any]:
    return {
        "library": "transformers",
        "pooling": POOLED[pooling],
        "norm": (
            "as the model returns its hidden states: the last one normalized where the"
            " architecture does"
        ),
        "tokens": {
            "longest": limit,
            "special": True,
            "tokenizer": digest_files(tokenizer_files(folder)),
        },
        "config": digest_files([folder / "config.json"]),
        "precision": arithmetic.name,
    }


def _prompt_recipe(prompt: Prompt) -> dict[str, str]:
    return {} if prompt == "none" else {"prompt": PROMPTS[prompt]}


def longest_text(model: Any, tokenizer: Any) -> int | None:
    """Return how many tokens the model can place, special ones included; None where nothing limits
    them.

    Position embeddings with a padding row (RoBERTa) count from behind it, so fewer of them are
    places.
    """
    limits = [tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None)]
    for name, module in model.named_modules():
        if (
            isinstance(module, nn.Embedding)
            and name.endswith("position_embeddings")
            and module.padding_idx is not None
        ):
            limits.append(module.num_embeddings - module.padding_idx - 1)
    stated = [
        limit for limit in limits if limit is not None and 0 < limit < 1 << 24
    ]  # tokenizers write 1e30 for "not known"
    return min(stated, default=None)


def pad(
    tokens: Sequence[Sequence[int]],
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
    """Pad token ids on the right; return them and the mask of real tokens.

    On the right every architecture numbers the real tokens from its own first position, so no
    position ids are needed. What stands behind them is never attended to or pooled, so any id
    serves; a text's own last one is in every vocabulary.
    """
    length = max(len(own) for own in tokens)
    ids = torch.tensor([[*own, *[own[-1]] * (length - len(own))] for own in tokens])
    mask = torch.tensor([[1] * len(own) + [0] * (length - len(own)) for own in tokens])
    return ids, mask


def pool(
    states: Float[Tensor, "batch length width"], mask: Int[Tensor, "batch length"], *, how: Pooling
) -> Float[Tensor, "batch width"]:
    """Return the mean over real tokens, the last real token, or the first, of each text."""
    if how == "first":
        return states[:, 0]
    if how == "last":
        return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]
    real = mask.bool()[..., None]
    return states.masked_fill(~real, 0).sum(1) / real.sum(1)


def _kept(text: str, part: Any) -> str:
    return text[: max(end for _, end in part.offsets)] if part.overflowing else text


def _describe(source: Source, readout: Readout, *, weights: str) -> ModelCard:
    model = readout.model
    name, notes = store_name(source.place), read_notes(source.folder)
    return ModelCard(
        name=name,
        title=notes.get("title") or name,
        modality=find_reading(notes.get("modality") or LANGUAGE.name).name,
        spec=f"hf:{source.place}",
        family=notes.get("family") or naming.language_family(model.config.model_type, source.place),
        objective=notes.get("objective")
        or naming.language_objective(model.config.architectures or ()),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        weights=weights,
        layers=("embedding", *(f"block {i}" for i in range(1, readout.states))),
        training=notes.get("training") or {},
        revision=source.revision,
    )
