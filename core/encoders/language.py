"""Language models of transformers, read out at every hidden state; code length of each text from the same pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from huggingface_hub import snapshot_download
from jaxtyping import Float, Int
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_log

from core.encoders import naming
from core.encoders.checkpoint import digest_files, read_notes, store_name
from core.encoders.encoder import Encoding, ModelCard
from core.encoders.hub import hub_errors
from core.encoders.precision import forward_on, precision
from core.errors import EncoderError

Pooling = Literal["mean", "last"]
FORM = "hf:ID or hf:FOLDER"
CAUSAL = ("ForCausalLM", "LMHeadModel")  # how the architectures that predict the next token are named
PARTS = ["*.json", "*.txt", "*.model", "model*.safetensors"]  # config, tokenizer and weights; no code, no pickles


@dataclass(frozen=True)
class LanguageEncoder:
    """A transformers model that turns texts into one vector per hidden state, and into bits where it is causal."""

    card: ModelCard
    recipe: Mapping[str, Any]
    model: nn.Module
    tokenizer: Any
    device: torch.device
    pooling: Pooling
    limit: int | None  # longest text in tokens, special ones included

    @torch.inference_mode()
    def encode(self, items: Sequence[str]) -> Encoding:
        """Encode texts; a text over the limit is cut there, and its bytes are those of the part that was kept."""
        tokens, kept = self._tokenize(items)
        ids, mask = pad(tokens, device=self.device)
        with forward_on(self.device):
            output = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        states = output.hidden_states
        layers = tuple(pool(state.float(), mask, how=self.pooling).cpu().numpy() for state in states)
        if not is_causal(self.model.config):
            return Encoding(layers)
        bits = np.array([count_bits(row[: len(own)], own) for row, own in zip(output.logits, tokens, strict=True)])
        return Encoding(layers, bits, np.array([len(text.encode()) for text in kept], np.float64))

    def _tokenize(self, items: Sequence[str]) -> tuple[list[list[int]], list[str]]:
        batch = self.tokenizer(list(items), truncation=self.limit is not None, max_length=self.limit)
        rows = self.model.get_input_embeddings().weight.shape[0]
        for text, ids in zip(items, batch["input_ids"], strict=True):
            if not ids:
                raise EncoderError(f"the text {text!r} has no tokens; give every stimulus a caption with words")
            if max(ids) >= rows:
                raise EncoderError(
                    f"{self.card.name}'s tokenizer gives token {max(ids)}, its weights know {rows}; use its own tokenizer"
                )
        return batch["input_ids"], [_kept(text, part) for text, part in zip(items, batch.encodings, strict=True)]


def open_language(spec: str, *, device: torch.device, pooling: Pooling = "mean") -> LanguageEncoder:
    """Open `hf:ID` (from the hub or its cache) or `hf:FOLDER` with config.json, model.safetensors and a tokenizer.

    A model whose config names a causal architecture also gives bits. Raises EncoderError or OfflineError.
    """
    place = spec.removeprefix("hf:")
    folder = find_folder(place)
    files = find_weights(folder)
    tokenizer = _load_tokenizer(folder)
    model = _load_model(folder).eval().requires_grad_(False).to(device)
    model.config.use_cache = False
    limit = longest_text(model, tokenizer)
    notes = read_notes(folder)
    card = ModelCard(
        name=store_name(place),
        title=notes.get("title") or store_name(place),
        modality="language",
        spec=spec,
        family=notes.get("family") or naming.language_family(model.config.model_type),
        objective=notes.get("objective") or naming.language_objective(model.config.architectures or ()),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        weights=digest_files(files),
        layers=("embedding", *(f"block {i + 1}" for i in range(_count_states(model, device) - 1))),
        training=notes.get("training") or {},
    )
    recipe = {
        "library": "transformers",
        "pooling": "mean of tokens" if pooling == "mean" else "last token",
        "norm": "last layer as the model returns it",
        "tokens": {"limit": limit, "special": True, "tokenizer": digest_files(_tokenizer_files(folder))},
        "config": digest_files([folder / "config.json"]),
        "precision": precision(device),
    }
    return LanguageEncoder(card, recipe, model, tokenizer, device, pooling, limit)


def find_folder(place: str) -> Path:
    """Return the local folder of a model: the one named, else the hub's snapshot."""
    if not place:
        raise EncoderError(f"a language model's spec is {FORM}; what follows the colon is missing")
    folder = Path(place).expanduser()
    if folder.is_dir():
        return folder
    if place[0] in "./~" or place.count("/") > 1 or folder.exists():
        raise EncoderError(f"there is no folder at {place}; expected one with config.json, model.safetensors and a tokenizer")
    with hub_errors(f"hf:{place}", instead="hf:FOLDER with a copy of it"):
        return Path(snapshot_download(place, allow_patterns=PARTS))


def find_weights(folder: Path) -> list[Path]:
    """Return the safetensors files of a model's folder; EncoderError says what is missing."""
    if not (folder / "config.json").exists():
        raise EncoderError(
            f"{folder} has no config.json; expected a transformers folder with config.json, model.safetensors and a tokenizer"
        )
    files = sorted(folder.glob("model*.safetensors"))
    if not files:
        raise EncoderError(
            f"{folder} has no model.safetensors; weights in pickles (.bin) are not read, as they can run code: where you trust them, "
            f"convert once with transformers' AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER)"
            " (AutoModelForCausalLM for a causal model)"
        )
    return files


def longest_text(model: nn.Module, tokenizer: Any) -> int | None:
    """Return how many tokens the model can place, special ones included; None where nothing limits them.

    Position embeddings with a padding row (RoBERTa) count from behind it, so fewer of them are places.
    """
    limits = [tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None)]
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings") and module.padding_idx is not None:
            limits.append(module.num_embeddings - module.padding_idx - 1)
    known = [limit for limit in limits if limit is not None and 0 < limit < 1 << 24]  # tokenizers write 1e30 for "not known"
    return min(known, default=None)


def is_causal(config: Any) -> bool:
    """Tell whether the weights predict the next token: only then do they have a code length."""
    return any(name.endswith(CAUSAL) for name in config.architectures or ())


def pad(
    tokens: Sequence[Sequence[int]], *, device: torch.device
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
    """Pad token ids on the right; return them and the mask of real tokens.

    On the right every architecture numbers the real tokens from its own first position, so no position ids are needed.
    What stands behind them is never attended to or pooled, so any id serves: a text's own last one is always in the
    vocabulary, and never RoBERTa's padding id, which would not count as a position.
    """
    length = max(len(ids) for ids in tokens)
    ids = torch.tensor([[*own, *[own[-1]] * (length - len(own))] for own in tokens], device=device)
    mask = torch.tensor([[1] * len(own) + [0] * (length - len(own)) for own in tokens], device=device)
    return ids, mask


def pool(
    states: Float[Tensor, "batch length width"], mask: Int[Tensor, "batch length"], *, how: Pooling
) -> Float[Tensor, "batch width"]:
    """Return the mean over real tokens, or the last real token, of each text."""
    if how == "last":
        return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]
    real = mask.bool()[..., None]
    return states.masked_fill(~real, 0).sum(1) / real.sum(1)


def count_bits(logits: Float[Tensor, "length vocabulary"], ids: Sequence[int]) -> float:
    """Return −Σ log₂ p(token | those before it) over a text's tokens after the first; NaN for a text of one token."""
    if len(ids) < 2:
        return float("nan")
    wanted = torch.tensor(ids[1:], device=logits.device)
    return F.cross_entropy(logits[:-1].float(), wanted, reduction="sum").item() / log(2)


def _kept(text: str, part: Any) -> str:
    return text[: max(end for _, end in part.offsets)] if part.overflowing else text


def _tokenizer_files(folder: Path) -> list[Path]:
    return [
        path for form in ("tokenizer*", "vocab*", "merges.txt", "*.model", "special_tokens_map.json") for path in folder.glob(form)
    ]


def _load_tokenizer(folder: Path) -> Any:
    if not _tokenizer_files(folder):
        raise EncoderError(f"{folder} has no tokenizer; expected tokenizer.json (and tokenizer_config.json) beside the weights")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # tokenizers raises bare Exception for a damaged file
        raise EncoderError(f"the tokenizer in {folder} cannot be read: {_short(error)}; save it again with transformers") from error
    if not tokenizer.is_fast:
        raise EncoderError(
            f"the tokenizer in {folder} is not a fast one, which alone tells what a cut text keeps; add tokenizer.json"
        )
    tokenizer.truncation_side = "right"
    return tokenizer


def _load_model(folder: Path) -> nn.Module:
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        kind = AutoModelForCausalLM if is_causal(config) else AutoModel
        with quiet():
            model, found = kind.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, SafetensorError) as error:
        raise EncoderError(
            f"{folder} cannot be opened: {_short(error)}; expected whole safetensors weights of an architecture that"
            " transformers knows without code of the model's own"
        ) from error
    if config.is_encoder_decoder:
        raise EncoderError(f"{folder} is an encoder-decoder; expected an encoder or a causal model")
    missing = [name for name in sorted(found["missing_keys"]) if not re.search(r"(^|\.)pooler\.", name)]  # not read out
    if missing:
        raise EncoderError(
            f"{folder} lacks weights that {type(model).__name__} needs: {', '.join(missing[:5])}; save the whole model"
        )
    return model


def _count_states(model: nn.Module, device: torch.device) -> int:
    with torch.inference_mode():
        states = model(input_ids=torch.zeros(1, 1, dtype=torch.long, device=device), output_hidden_states=True).hidden_states
    if states is None:
        raise EncoderError(f"{type(model).__name__} gives no hidden states for texts; expected an encoder or a causal model")
    return len(states)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loading report and bar off the terminal; what matters in it is checked and raised."""
    level, bars = transformers_log.get_verbosity(), transformers_log.is_progress_bar_enabled()
    transformers_log.set_verbosity_error()
    transformers_log.disable_progress_bar()
    try:
        yield
    finally:
        transformers_log.set_verbosity(level)
        if bars:
            transformers_log.enable_progress_bar()


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
