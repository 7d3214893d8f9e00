"""What a model reads of a dataset, and in which order: texts of like length together, the longest
first, so that few tokens are padding and the first batch shows whether the others fit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from core.cave.melodies import melody_of
from core.embedding.pictures import Batch, Pictures, load_pictures
from core.embedding.texts import AveragingEncoder, read_texts
from core.encoders.encoder import Encoder, SeeingEncoder, modality_of
from core.stimuli.dataset import Dataset
from core.store import Store

Items = Generator[Sequence[Any], None, None]  # those of one batch after another


@dataclass(frozen=True)
class Reading:
    """How a dataset passes through a model. encoder: reads the items. load: yields those of batches
    of stimuli. order: of the stimuli. mark: of folders for batches in this order.
    """

    encoder: Encoder
    load: Callable[[Sequence[Batch]], Items]
    order: Int64[np.ndarray, "n"]
    mark: str = ""

    def batches(self, places: range, size: int) -> Items:
        """Yield the items of each batch at these places of the order; close it where not all are
        wanted.
        """
        order = self.order[places.start : places.stop]
        return self.load(
            [order[each : each + size].tolist() for each in range(0, len(order), size)]
        )


def read_dataset(store: Path, dataset: Dataset, encoder: Encoder, level: str | None) -> Reading:
    """Return how a dataset passes through a model: its captions at a level, its melodies, or its
    images.

    Raises StimuliError for missing captions.
    """
    if level is None:
        order = np.arange(dataset.card.size)
        if modality_of(encoder.card).reads == "melody":
            return Reading(encoder, partial(load_items, partial(melody_of, dataset.card)), order)
        if not isinstance(encoder, SeeingEncoder):
            return Reading(encoder, partial(load_items, dataset.image), order)
        pictures = Pictures(dataset.image, encoder.prepare)
        return Reading(encoder, partial(load_pictures, pictures, device=str(encoder.device)), order)
    texts = read_texts(Store(store), dataset.card.name, level)
    order = longest_first(texts)
    mark = "-longest-first"
    if any(len(several) > 1 for several in texts):
        load = partial(load_items, texts.__getitem__)
        return Reading(AveragingEncoder(encoder), load, order, mark)
    single = [text for (text,) in texts]
    return Reading(encoder, partial(load_items, single.__getitem__), order, mark)


def load_items(item: Callable[[int], Any], batches: Sequence[Batch]) -> Items:
    """Yield the items of each batch, made when its turn has come."""
    for batch in batches:
        yield [item(index) for index in batch]


def longest_first(texts: Sequence[Sequence[str]]) -> Int64[np.ndarray, "n"]:
    """Return the order of items whose longest texts fall in length; equal ones stay in place."""
    lengths = np.array([max(map(len, several)) for several in texts])
    return np.argsort(-lengths, kind="stable")
