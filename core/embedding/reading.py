"""What a model reads of a dataset, and in which order: texts of like length together, the longest
first, so that few tokens are padding and the first batch shows whether the others fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from core.embedding.texts import AveragingEncoder, read_texts
from core.encoders.encoder import Encoder
from core.stimuli.dataset import Dataset
from core.store import Store


@dataclass(frozen=True)
class Reading:
    """How a dataset passes through a model. encoder: reads the items. item: gives that of a
    stimulus. order: of the stimuli. mark: of folders for batches in this order.
    """

    encoder: Encoder
    item: Callable[[int], Any]
    order: Int64[np.ndarray, "n"]
    mark: str = ""

    def items(self, start: int, stop: int) -> list[Any]:
        """Return the items at these places of the order."""
        return [self.item(index) for index in self.order[start:stop].tolist()]


def read_dataset(store: Path, dataset: Dataset, encoder: Encoder, level: str | None) -> Reading:
    """Return how a dataset passes through a model: its captions at a level, else its images.

    Raises StimuliError for missing captions.
    """
    if level is None:
        return Reading(encoder, dataset.image, np.arange(dataset.card.size))
    texts = read_texts(Store(store), dataset.card.name, level)
    order = longest_first(texts)
    if any(len(several) > 1 for several in texts):
        return Reading(AveragingEncoder(encoder), texts.__getitem__, order, "-longest-first")
    single = [text for (text,) in texts]
    return Reading(encoder, single.__getitem__, order, "-longest-first")


def longest_first(texts: Sequence[Sequence[str]]) -> Int64[np.ndarray, "n"]:
    """Return the order of items whose longest texts fall in length; equal ones stay in place."""
    lengths = np.array([max(map(len, several)) for several in texts])
    return np.argsort(-lengths, kind="stable")
