"""Language models of transformers, read out at every hidden state; the bits of each text come from
the same pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int
from tokenizers import Encoding as TextEncoding
from tokenizers import normalizers
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from core.encoders import naming
from core.encoders.checkpoint import Arithmetic, digest_files, read_notes, refusing
from core.encoders.encoder import Encoding, ModelCard
from core.encoders.language.folder import (
    check_part,
    count_parameters,
    find_source,
    find_weights,
    load_model,
    load_tokenizer,
    quiet,
    read_sentences,
    source_name,
    tokenizer_files,
)
from core.encoders.language.readout import (
    Readout,
    State,
    Together,
    count_bits,
    find_readout,
    read_scores,
    read_states,
)
from core.encoders.requests import PROMPTS, Pooling, Precision, Prompt, split_marks
from core.errors import EncoderError
from core.files.texts import Json
from core.machine.memory import bounded
from core.modalities import LANGUAGE, find_reading
from core.recipe import Plain

POOLED: Mapping[Pooling, str] = {
    "mean": "mean of tokens",
    "last": "last token",
    "first": "first token",
    "max": "maximum over tokens",
}
# text models whose own vector is that of the last token; of SigLIP the last of so many as it reads,
# padding included
ENDING = ("clip_text_model", "clipseg_text_model", "metaclip_2_text_model")
PADDED = ("siglip_text_model", "siglip2_text_model")
TOKENIZER = "expected the model's own tokenizer: save it again with transformers"
TOKENS = 1 << 14  # of one pass, padding included: no more are faster, and long texts take memory
LIMITS = ("max_position_embeddings", "seq_length", "max_seq_len")  # what configs call the longest
BATCHES = {"equal": "texts of one length", "single": "one text"}  # of models that read no padding
STRANGE = "\U000f1e2d"  # a character that no vocabulary has


@dataclass(frozen=True)
class TokenizedText:
    """A text as a model reads it. coded: the places of the tokens that bits are counted of. bytes:
    UTF-8 bytes of those. is_cut: whether the model reads only its beginning.
    """

    ids: list[int]
    coded: list[int]
    bytes: int
    is_cut: bool = False

    @classmethod
    def of(cls, text: str, read: TextEncoding, unknown: Collection[int]) -> TokenizedText:
        is_cut = bool(read.overflowing)
        kept = text[: max(stop for _, stop in read.offsets)] if is_cut else text
        return cls(read.ids, *coded_part(kept, read, unknown), is_cut)


def coded_part(text: str, read: TextEncoding, unknown: Collection[int]) -> tuple[list[int], int]:
    """Return the places of the tokens that bits are counted of, and their UTF-8 bytes, by the rule
    of docs/methods.md: each token with one before it that is neither special nor unknown. A first
    character in several tokens is first in all of them.
    """
    ids, spans = read.ids, read.offsets  # lists that are made at each access
    own = [place for place, special in enumerate(read.special_tokens_mask) if not special]
    begin = spans[0][1] if own[:1] == [0] else 0
    free = {place for place in own if not place or spans[place][0] < begin or ids[place] in unknown}
    left = set(range(begin)).union(*(range(*spans[place]) for place in free))
    size = sum(len(char.encode()) for at, char in enumerate(text) if at not in left)
    return [place for place in own if place not in free], size


@dataclass(frozen=True)
class LanguageEncoder:
    """A transformers model that turns texts into one vector per hidden state, and into bits if it
    is causal.
    """

    card: ModelCard
    recipe: Plain
    device: str
    arithmetic: Arithmetic
    readout: Readout
    tokenizer: PreTrainedTokenizerFast
    pooling: Pooling
    limit: int | None  # longest text in tokens, special ones included
    template: str = "{}"  # what is read of a text

    @property
    def model(self) -> PreTrainedModel:
        return self.readout.model

    @torch.inference_mode()
    def encode(self, items: Sequence[str]) -> Encoding:
        """Encode texts, cut at the limit. With a prompt, vectors are those of the prompted texts,
        and bits those of the texts alone. Raise EncoderError for a text that the limit cuts within
        its prompt.
        """
        texts = self._tokenize(items)
        read = texts if self.template == "{}" else self._tokenize_prompted(items)
        tokens, bits = [text.ids for text in read], np.full(len(items), np.nan)
        order, parts = list[int](), list[list[Float32[np.ndarray, "batch width"]]]()
        for group in groups(tokens, self.readout.together):
            own = [tokens[place] for place in group]
            ids, mask = (part.to(self.device) for part in pad(own))

            def vectors(state: State, mask: Tensor = mask) -> Float32[np.ndarray, "batch width"]:
                pooled = pool(state.float(), mask.to(state.device), how=self.pooling)
                return pooled.cpu().numpy()

            with self._forward():
                layers, scores = read_states(self.readout, ids, mask, vectors)
                if scores is not None and read is texts:
                    bits[group] = count_bits(scores, own, [texts[place].coded for place in group])
            order += group
            parts.append(layers)
        places = np.argsort(order)
        states = [np.concatenate(layer)[places] for layer in zip(*parts, strict=True)]
        if not self.readout.is_causal:
            return Encoding(tuple(states))
        if read is not texts:
            bits = self.code([text.ids for text in texts], [text.coded for text in texts])
        sizes = np.array([text.bytes for text in texts], np.float64)
        return Encoding(tuple(states), bits, sizes)

    @torch.inference_mode()
    def code(
        self, tokens: Sequence[Sequence[int]], coded: Sequence[Sequence[int]]
    ) -> Float64[np.ndarray, "texts"]:
        """Return the bits of each text's tokens at the places that are coded, given those before;
        raise EncoderError for a model that does not predict the next token.
        """
        bits = np.full(len(tokens), np.nan)
        for group in groups(tokens, self.readout.together):
            own = [tokens[place] for place in group]
            ids, mask = (part.to(self.device) for part in pad(own))
            with self._forward():
                scores = read_scores(self.readout, ids, mask)
                if scores is None:
                    raise EncoderError(
                        f"{self.card.name} does not predict the next token; expected a causal model"
                    )
                bits[group] = count_bits(scores, own, [coded[place] for place in group])
        return bits

    @contextmanager
    def _forward(self) -> Iterator[None]:
        """Compute as the recipe says, within the memory, and without a library's remarks."""
        with quiet(), bounded(self.device), self.arithmetic.forward_on(self.device):
            yield

    def _tokenize_prompted(self, items: Sequence[str]) -> list[TokenizedText]:
        texts = self._tokenize([self.template.replace("{}", text) for text in items])
        for text, part in zip(items, texts, strict=True):
            if part.is_cut and self.template in PROMPTS.values():  # it would not end in it
                raise EncoderError(
                    f"{self.card.name} reads {self.limit} tokens at most, and the text"
                    f" {text[:40]!r} … within its prompt has more; embed shorter captions, or"
                    " without --prompt"
                )
        return texts

    def _tokenize(self, items: Sequence[str]) -> list[TokenizedText]:
        with refusing(f"the tokenizer of {self.card.name} cannot read these texts", TOKENIZER):
            batch = self.tokenizer(
                list(items),
                truncation=self.limit is not None,
                max_length=self.limit,
                padding="max_length" if self.model.config.model_type in PADDED else False,
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
        unknown = unknown_tokens(self.tokenizer)
        return [
            TokenizedText.of(text, part, unknown)
            for text, part in zip(items, batch.encodings, strict=True)
        ]


def open_language(
    spec: str,
    *,
    device: torch.device,
    pooling: Pooling = "auto",
    prompt: Prompt = "none",
    precision: Precision = "auto",
) -> LanguageEncoder:
    """Open `hf:ID` or `hf:ID@REVISION` (from the hub or its cache) or `hf:FOLDER` with config.json,
    model.safetensors and a tokenizer.

    `#text` behind it names the part of CLIP's kind that reads texts. pooling: the mean over a
    text's tokens, their maximum, the last one, or the first (what BERT's kind calls CLS); `auto` is
    what a folder of sentence-transformers says, the last token of CLIP's kind, and else the mean.
    prompt: a name in PROMPTS. precision: see `choose_arithmetic`. A causal model also gives bits. A
    card.json in the folder gives title, family, objective, training and modality (see
    `read_notes`). Raise EncoderError, OfflineError, or UnknownNameError for the modality.
    """
    place, part = split_marks(spec.removeprefix("hf:"))
    source = find_source(place)
    said = read_sentences(source.folder)
    folder = said.folder
    files = find_weights(folder)
    if check_part(folder, part):
        raise EncoderError(f"hf:{source.place}{part} reads images; expected a model of texts")
    tokenizer = load_tokenizer(folder)
    if said.lower:
        backend = tokenizer.backend_tokenizer
        both = [normalizers.Lowercase(), backend.normalizer]
        backend.normalizer = normalizers.Sequence([one for one in both if one])
    model, arithmetic = load_model(folder, precision=precision, device=device, part=part)
    readout = find_readout(model, device)
    limit = min(filter(None, (longest_text(model, tokenizer), said.longest)), default=None)
    is_own = pooling == "auto"
    if is_own and said.unread:
        raise EncoderError(
            f"{source.folder} asks for {said.unread}, which is not done here; choose --pooling"
            " mean, max, first or last for the hidden states alone"
        )
    kind = model.config.model_type
    own = said.pooling or ("last" if kind in (*ENDING, *PADDED) else "mean")
    pooling = own if is_own else pooling
    template = PROMPTS[prompt] if prompt != "none" else (said.prompt if is_own else "") + "{}"
    recipe: Json = {
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
    unusual: dict[str, tuple[Any, bool]] = {  # what most models do otherwise
        "prompt": (template, template != "{}"),
        "part": (part[1:], bool(part)),
        "own pooling": (POOLED[own], own != "mean" or bool(said.pooling)),
        "case": ("lower", said.lower),
        "padding": ("read as tokens, up to the longest text", kind in PADDED),
        "batches": (BATCHES.get(readout.together, ""), readout.together in BATCHES),
        "bits": (
            "of known tokens with one before them, over their own bytes",
            readout.is_causal and not _is_plain(tokenizer),
        ),
    }
    recipe |= {name: value for name, (value, holds) in unusual.items() if holds}
    name, notes = source_name(source, folder), read_notes(source.folder)
    architectures = model.config.architectures or ()
    card = ModelCard(
        name=name + part.replace("#", "-"),
        title=(notes.get("title") or name) + part.replace("#", ", "),
        modality=find_reading(notes.get("modality") or LANGUAGE.name).name,
        spec=f"hf:{source.place}{part}",
        family=notes.get("family") or naming.language_family(kind, source.place),
        objective=notes.get("objective")
        or naming.language_objective(architectures, kind, is_causal=readout.is_causal),
        parameters=count_parameters(model),
        weights=digest_files(files),
        layers=readout.layers,
        training=notes.get("training") or {},
        revision=source.revision,
    )
    return LanguageEncoder(
        card,
        recipe,
        str(device),
        arithmetic,
        readout,
        tokenizer,
        pooling,
        limit,
        template,
    )


def _is_plain(tokenizer: PreTrainedTokenizerFast) -> bool:
    """Return whether the tokenizer puts a special token in front of each text alone, and has no
    unknown character.
    """
    ordinary = max({*tokenizer.get_vocab().values()} - {*tokenizer.all_special_ids}, default=0)
    with refusing("the tokenizer cannot read a token of its own", TOKENIZER):
        marks = tokenizer([tokenizer.decode([ordinary])]).encodings[0].special_tokens_mask
        unknown = unknown_tokens(tokenizer)
        knows = not unknown or unknown.isdisjoint(tokenizer([STRANGE])["input_ids"][0])
    return bool(knows and marks and marks[0] and not marks[-1])


def unknown_tokens(tokenizer: PreTrainedTokenizerFast) -> set[int]:
    name = getattr(tokenizer.backend_tokenizer.model, "unk_token", None)
    return {tokenizer.unk_token_id, name and tokenizer.convert_tokens_to_ids(name)} - {None, ""}


def groups(tokens: Sequence[Sequence[int]], together: Together) -> Iterator[list[int]]:
    """Yield the places of texts of one pass, which has TOKENS at most if they are several."""
    sizes = [len(own) for own in tokens]
    order = range(len(sizes)) if together == "padded" else np.argsort(sizes, kind="stable").tolist()
    group, longest = list[int](), 0
    for place in order:
        longest = max(longest, size := sizes[place])
        alike = together == "padded" or (
            together == "equal" and size in (sizes[each] for each in group[:1])
        )
        if group and not (alike and (len(group) + 1) * longest <= TOKENS):
            yield group
            group, longest = [], size
        group.append(place)
    if group:
        yield group


def longest_text(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int | None:
    """Return how many tokens the model can place, special ones included; None if nothing limits
    them. Position embeddings with a padding row (RoBERTa, I-BERT) count from behind it.
    """
    text = model.config.get_text_config()
    limits = [tokenizer.model_max_length, *(getattr(text, name, None) for name in LIMITS)]
    for name, module in model.named_modules():
        unused = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and unused is not None:
            limits.append(len(module.weight) - unused - 1)
    stated = [
        limit for limit in limits if isinstance(limit, int | float) and 0 < limit < 1 << 24
    ]  # tokenizers write 1e30 for "not known"
    return min(map(int, stated), default=None)


def pad(
    tokens: Sequence[Sequence[int]],
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
    """Pad token ids on the right, where they are never attended to or pooled, by a text's own last
    one; return them and the mask of real tokens.
    """
    length = max(len(own) for own in tokens)
    ids = torch.tensor([[*own, *[own[-1]] * (length - len(own))] for own in tokens])
    mask = torch.tensor([[1] * len(own) + [0] * (length - len(own)) for own in tokens])
    return ids, mask


def pool(
    states: Float[Tensor, "batch length width"], mask: Int[Tensor, "batch length"], *, how: Pooling
) -> Float[Tensor, "batch width"]:
    """Return the mean or the maximum over real tokens, the last real token, or the first, of each
    text.
    """
    if how == "first":
        return states[:, 0]
    if how == "last":
        return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]
    real = mask.bool()[..., None]
    if how == "max":
        return states.masked_fill(~real, -torch.inf).amax(1)
    return states.masked_fill(~real, 0).sum(1) / real.sum(1)
