"""Color words as a language model represents them: sentences about a color, averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from core.encoders.encoder import Encoder, ModelCard, find_layer
from core.errors import InputError, quoted
from core.questions.color.geometry.defaults import SENTENCES, SLOT

if TYPE_CHECKING:
    from core.encoders.requests import Pooling

LAST, LAST_FOUR = "last", "last 4"


@dataclass(frozen=True)
class Preset:
    """A published model and how it was read out."""

    spec: str
    pooling: Pooling
    layer: str


PRESETS: Mapping[
    str, Preset
] = {  # Huh et al. 2024, appendix D; SimCSE's own reading without training is its first token
    "simcse": Preset("hf:princeton-nlp/unsup-simcse-roberta-large", "first", LAST),
    "roberta": Preset("hf:FacebookAI/roberta-large", "mean", LAST_FOUR),
}


def represent(
    encoder: Encoder,
    words: Sequence[str],
    *,
    sentences: Sequence[str] = SENTENCES,
    layer: str | int = LAST,
) -> Float64[np.ndarray, "words dims"]:
    """Return each word's mean vector over the sentences that have the word in place of <col>.

    layer: "last", "last 4" (the last four side by side, as wide as all of them), or a layer's name
    or number. Raises InputError for no words or sentences, and for a sentence without <col>;
    UnknownNameError for another layer. Source: Huh et al. 2024, appendix D (three sentences; the
    layers).
    """
    check_sentences(sentences)
    if not words:
        raise InputError("expected at least one color word; got none")
    chosen = read_layers(encoder.card, layer)
    layers = encoder.encode(
        [sentence.replace(SLOT, word) for word in words for sentence in sentences]
    ).layers
    beside = np.concatenate([layers[number].astype(np.float64) for number in chosen], axis=1)
    means: np.ndarray = beside.reshape(len(words), len(sentences), -1).mean(axis=1)
    return means


def check_sentences(sentences: Sequence[str]) -> None:
    """Refuse an empty list of sentences, and one that has no place for the color."""
    if wrong := [sentence for sentence in sentences if SLOT not in sentence]:
        raise InputError(f"a sentence has {SLOT} where the color stands; got {quoted(wrong[0])}")
    if not sentences:
        raise InputError(f"at least one sentence expected, such as {SENTENCES[0]!r}; got none")


def read_layers(card: ModelCard, layer: str | int) -> list[int]:
    """Return the numbers of the layers that `layer` means; raises UnknownNameError, and InputError
    for four of fewer.
    """
    depth = len(card.layers)
    if layer == LAST:
        return [depth - 1]
    if layer != LAST_FOUR:
        return [find_layer(card, layer)]
    if depth < 4:
        raise InputError(f"{card.name} has {depth} layers; choose {LAST!r} or one of them")
    return list(range(depth - 4, depth))
