"""What a language model reads at a caption level, and the mean of its vectors where it reads
several captions of a stimulus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.encoders.encoder import Encoder, Encoding, ModelCard
from core.errors import UnknownNameError
from core.stimuli.levels import Texts, offered_levels, texts_at
from core.store import Store


def read_texts(store: Store, dataset: str, level: str) -> Texts:
    """Return what is read of each stimulus at a level: of the dataset, derived from its captions,
    or written since.

    Raises UnknownNameError for the level, StimuliError for stimuli without a caption of it.
    """
    own, written = store.dataset(dataset).levels, store.summaries(dataset)
    stimuli = store.stimuli(dataset)["stimulus"].tolist()
    if level in written and level not in own:
        return texts_at(store.summary(dataset, level), level, own=(level,), stimuli=stimuli)
    if level not in offered_levels(own):
        raise UnknownNameError("caption level", level, offered_levels(own, tuple(written)))
    return texts_at(store.captions(dataset), level, own=own, stimuli=stimuli)


@dataclass(frozen=True)
class AveragingEncoder:
    """An encoder of several texts per item: the mean of their vectors, the sum of their bits and
    bytes.
    """

    encoder: Encoder

    @property
    def card(self) -> ModelCard:
        return self.encoder.card

    @property
    def device(self) -> object:
        return self.encoder.device

    @property
    def recipe(self) -> Mapping[str, Any]:
        return self.encoder.recipe

    def encode(self, items: Sequence[tuple[str, ...]]) -> Encoding:
        """Encode every text of a batch and put those of an item together."""
        encoding = self.encoder.encode([text for texts in items for text in texts])
        starts = np.cumsum([0, *map(len, items[:-1])])
        counts = np.array(list(map(len, items)), dtype=np.float32)[:, None]
        layers = tuple(
            (np.add.reduceat(layer, starts, axis=0) / counts).astype(np.float32)
            for layer in encoding.layers
        )
        if encoding.bits is None or encoding.bytes is None:
            return Encoding(layers)
        bits = np.add.reduceat(np.nan_to_num(encoding.bits), starts)
        sizes = np.add.reduceat(encoding.bytes, starts)
        return Encoding(layers, np.where(sizes, bits, np.nan), sizes)
