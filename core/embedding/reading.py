"""What a model reads of a dataset, and in which order: texts of similar length together, the
longest first, so that little is padding and the first batch shows whether the others fit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int64

from core.encoders.encoder import Encoder, Encoding, ModelCard, SeeingEncoder, modality_of
from core.errors import UnknownNameError
from core.recipe import Plain
from core.stimuli.captions import Texts, offered_levels, texts_at
from core.stimuli.dataset import Dataset, check_melodies
from core.store import Store

if TYPE_CHECKING:
    from core.embedding.images import Batch

Items = Generator[Sequence[Any], None, None]  # those of one batch after another


@dataclass(frozen=True)
class Reading:
    """How a dataset passes through a model. load: yields the items of batches of stimuli. mark: of
    folders for batches in this order.
    """

    encoder: Encoder
    load: Callable[[Sequence[Batch]], Items]
    order: Int64[np.ndarray, "n"]
    mark: str = ""

    def batches(self, places: range, size: int) -> Items:
        """Yield the items of each batch at these places of the order; close it if not all are
        needed.
        """
        order = self.order[places.start : places.stop]
        return self.load(
            [order[each : each + size].tolist() for each in range(0, len(order), size)]
        )


def read_dataset(store: Path, dataset: Dataset, encoder: Encoder, level: str | None) -> Reading:
    """Return how a dataset passes through a model: its captions at a level, its melodies, or its
    images. Raise StimuliError for missing captions.
    """
    if level is None:
        order = np.arange(dataset.card.size)
        if modality_of(encoder.card).reads == "melody":
            card, world = dataset.card, check_melodies(dataset.card)
            heard = lambda index: world.melody(*world.behind(card, [index]))  # noqa: E731
            return Reading(encoder, partial(load_items, heard), order)
        if not isinstance(encoder, SeeingEncoder):
            return Reading(encoder, partial(load_items, dataset.image), order)
        from core.embedding.images import Images, load_images  # torch takes seconds

        images = Images(dataset.image, encoder.prepare)
        return Reading(encoder, partial(load_images, images, device=str(encoder.device)), order)
    texts = read_texts(Store(store), dataset.card.name, level)
    order = longest_first(texts)
    mark = "-longest-first"
    if any(len(several) > 1 for several in texts):
        load = partial(load_items, texts.__getitem__)
        averaging = AveragingEncoder(encoder, encoder.card, encoder.device, encoder.recipe)
        return Reading(averaging, load, order, mark)
    single = [text for (text,) in texts]
    return Reading(encoder, partial(load_items, single.__getitem__), order, mark)


def load_items(item: Callable[[int], Any], batches: Sequence[Batch]) -> Items:
    for batch in batches:
        yield [item(index) for index in batch]


def longest_first(texts: Sequence[Sequence[str]]) -> Int64[np.ndarray, "n"]:
    lengths = np.array([max(map(len, several)) for several in texts])
    return np.argsort(-lengths, kind="stable")


def read_texts(store: Store, dataset: str, level: str) -> Texts:
    """Return what is read of each stimulus at a level; raise UnknownNameError for the level,
    StimuliError for stimuli without a caption of it.
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
    card: ModelCard
    device: object
    recipe: Plain

    def encode(self, items: Sequence[tuple[str, ...]]) -> Encoding:
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
