"""Bits per byte of texts of any length: each token is coded once, in a window with its context.

bits per byte = Σ −log₂ p(token | its window up to it) / Σ UTF-8 bytes

A window begins with the special tokens that the tokenizer puts in front of a text, which cost
nothing, and every further one with the second half of the one before. See also `coded_part`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.special import stdtrit

from core.competence.language import predicts_text
from core.competence.opened import entries_to_measure, precision_name, reopen
from core.competence.records import BITS, Row, joined, keep_rows, kept_rows, measured_name
from core.competence.suite import bits_per_byte
from core.competence.texts import Texts
from core.encoders.language.encoder import LanguageEncoder, coded_part, unknown_tokens
from core.errors import EncoderError, InputError
from core.progress import Progress
from core.recipe import Recipe
from core.store import Store
from core.store.schema import VERSIONS

TOKENS = 4_000_000  # as many of OpenWebText the published study takes
CONTEXT = 1_024  # tokens of a window, where the model can read so many
_TOGETHER = 64  # windows from one report of progress to the next
_LOGITS = 1 << 28  # values at most that a batch may return: 1 GB


@dataclass(frozen=True)
class Extent:
    """How much of texts is coded: see `code_texts`."""

    tokens: int = TOKENS
    context: int | None = None


@dataclass(frozen=True)
class Piece:
    """A text as tokens. front: special tokens before it. coded: places in `ids`, and bytes: the
    UTF-8 bytes of these.
    """

    front: list[int]
    ids: list[int]
    coded: Set[int]
    bytes: int


@dataclass(frozen=True)
class Window:
    """Tokens of text number `text`, of which those at some places are coded."""

    text: int
    ids: list[int]
    places: list[int]


def code_texts(
    encoder: LanguageEncoder,
    texts: Iterable[str],
    *,
    tokens: int,
    context: int | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Return `bits`, `bytes` and `tokens` of each text that is not empty, up to `tokens` in all.

    Bits are NaN for a text without a token that is coded. tokens: without special ones. context:
    tokens of a window with them; None for CONTEXT, or the longest text that the model can read.
    Raise EncoderError for a context that the model cannot read, InputError for fewer than two
    tokens of text in a window.
    """
    length = context or min(CONTEXT, encoder.limit or CONTEXT)
    if encoder.limit is not None and length > encoder.limit:
        raise EncoderError(
            f"{encoder.card.name} reads at most {encoder.limit} tokens, not {length}; use a"
            " shorter --context"
        )
    pieces = list(read_pieces(encoder, texts, tokens=tokens))
    bits = [0.0 if piece.coded else np.nan for piece in pieces]
    together = _TOGETHER
    if not encoder.readout.blocks:  # which returns the logits of all tokens
        together = _LOGITS // (length * encoder.model.get_input_embeddings().weight.shape[0]) or 1
    windows = (
        window
        for place, piece in enumerate(pieces)
        for window in cut_windows(piece, length, text=place)
    )
    done, total = 0, sum(len(piece.coded) for piece in pieces)
    while batch := list(islice(windows, together)):
        costs = encoder.code([window.ids for window in batch], [window.places for window in batch])
        for window, cost in zip(batch, costs.tolist(), strict=True):
            bits[window.text] += cost if window.places else 0.0
            done += len(window.places)
        if report:
            report(done, total, f"tokens by {encoder.card.name}")
    rows = [(cost, one.bytes, len(one.ids)) for cost, one in zip(bits, pieces, strict=True)]
    return pd.DataFrame(rows, columns=["bits", "bytes", "tokens"], dtype=float)


def read_pieces(encoder: LanguageEncoder, texts: Iterable[str], *, tokens: int) -> Iterator[Piece]:
    """Yield texts as tokens until there are `tokens`; texts without any are left out."""
    size = encoder.model.get_input_embeddings().weight.shape[0]
    for text in texts:
        piece = _tokenize(encoder, text, tokens)
        if not piece.ids:
            continue
        if max(piece.ids) >= size:
            raise EncoderError(
                f"token {max(piece.ids)} is not among the {size} of {encoder.card.name}; use its"
                " own tokenizer"
            )
        yield piece
        tokens -= len(piece.ids)
        if tokens <= 0:
            return


def cut_windows(piece: Piece, length: int, *, text: int = 0) -> Iterator[Window]:
    """Yield windows of at most `length` tokens that code each token once; raise InputError if they
    can hold no context.
    """
    front, room = len(piece.front), length - len(piece.front)
    if room < 2:
        raise InputError(
            f"a window of {length} tokens leaves {room} for text next to {front} special ones; use"
            " a longer --context"
        )
    begin, coded = 0, 0 if front else 1
    while coded < len(piece.ids):
        end = min(begin + room, len(piece.ids))
        places = [front + at - begin for at in range(coded, end) if at in piece.coded]
        yield Window(text, piece.front + piece.ids[begin:end], places)
        begin, coded = begin + room // 2, end


def _tokenize(encoder: LanguageEncoder, text: str, most: int) -> Piece:
    """Return the first tokens of a text, `most` or a few more to the end of a character."""
    read = encoder.tokenizer([text], verbose=False).encodings[0]
    ids, spans = read.ids, read.offsets  # lists that are made again at each access
    own = [place for place, special in enumerate(read.special_tokens_mask) if not special]
    if not own:
        return Piece([], [], frozenset(), 0)
    kept, end = own[:most], max(spans[place][1] for place in own[:most])
    for place in own[most:]:
        if spans[place][0] >= end:
            text = text[:end]
            break
        kept.append(place)
    coded, size = coded_part(text, read, unknown_tokens(encoder.tokenizer))
    front = own[0]
    here = frozenset(place - front for place in coded if place <= kept[-1])
    return Piece(ids[:front], [ids[place] for place in kept], here, size)


def code_models(
    store: Path,
    dataset: str,
    models: Sequence[str],
    texts: Texts,
    extent: Extent,
    *,
    device: torch.device,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Let models code texts, keep the rows in the store and return them, two for each model.

    models: names of language models, all of the dataset if empty. What is kept by the same recipe
    is not measured again. Raise UnknownNameError, InputError for models that read no text,
    EncoderError if weights are no longer those embedded.
    """
    held, tables = Store(store), []
    for entry in entries_to_measure(held, dataset, models, "caption"):
        name = measured_name("texts", entry.card.name)
        recipe = Recipe.of(
            "bits per byte",
            version=VERSIONS["bits per byte"],
            weights=entry.card.weights,
            texts={"name": texts.name, **texts.source},  # the task is called by it
            tokens=extent.tokens,
            context=extent.context or f"{CONTEXT}, or as many as the model reads",
            precision=precision_name(entry, device),
        )
        kept = kept_rows(held, dataset, name, entry, recipe)
        if kept is None:
            encoder, costs = reopen(entry, device), None
            if predicts_text(encoder):
                costs = code_texts(encoder, texts.read(), **vars(extent), report=report)
            kept = keep_rows(held, dataset, name, entry, recipe, text_rows(costs, texts.name))
        tables.append(kept)
    return joined(tables)


def text_rows(costs: pd.DataFrame | None, name: str) -> list[Row]:
    """Return two rows: total bits / total bytes, and the mean over texts of bits / bytes, as the
    released code takes it.

    costs: `bits`, `bytes` and `tokens` of each text, None for a model that codes none. Intervals:
    95%, t(.975, n − 1) standard errors over texts; in simulations of 16 texts they held the mean in
    95% and the total in 91% of draws. NaN with a reason for a single text, or without a second
    token.
    """
    coded = pd.DataFrame() if costs is None else costs.dropna()
    rows = bits_per_byte(costs, float(stdtrit(max(1, len(coded) - 1), 0.975)))
    for row in rows:
        row["task"] = row["task"].replace(BITS, f"{BITS} of {name}", 1)
        if len(coded):
            row["split"] = f"{coded['tokens'].sum():,.0f} tokens"
        if len(coded) == 1:
            value = float((coded["bits"] / coded["bytes"]).iloc[0])
            row |= {"value": value, "n": 1, "reason": "a single text has no interval"}
        elif costs is not None and not len(coded):
            row["reason"] = "no text has a token that follows another one"
    return rows
