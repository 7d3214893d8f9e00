"""The resumable runner: a dataset through an encoder into one file of the store.

Each finished batch is on the disk before the next begins; all of them become the file in one bulk
write. A run that was killed at any moment goes on after its last finished batch, with the same
batches as if it had never stopped, so that the file is the same. Several processes can encode a
part of a large dataset each; the last of them writes the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from dataclasses import replace as change
from functools import partial
from pathlib import Path
from typing import Any, Literal

from core.cave import melodies
from core.cave.melodies import check_melodies
from core.embedding.batches import auto_batch_size
from core.embedding.holdings import hold_dataset, is_published, name_data
from core.embedding.parts import EVERY, Part, encode, parts_of, within
from core.embedding.reading import read_dataset
from core.embedding.shards import (
    SavedBatches,
    SavedLayers,
    discard,
    finished,
    parts_folder,
)
from core.encoders.encoder import Encoder, ModelCard, modality_of
from core.errors import (
    InputError,
    UnknownNameError,
)
from core.progress import Progress
from core.recipe import Recipe
from core.stimuli.dataset import Dataset, DatasetCard, check_captions, check_images
from core.stimuli.levels import offered_levels
from core.store import Embedding, Store
from core.store.files import examine_if_usable
from core.store.publishing import locked
from core.store.schema import VERSIONS, dataset_file, embedding_file
from core.store.writer import publish_embedding

JOINING = 3600.0  # seconds to wait for another process that writes the file of all parts


@dataclass(frozen=True)
class Slot:
    """Where in the store an embedding goes.

    name: what the store calls the model; None for its own name, with `~level` for captions that
    are not the default. replace: whether another recipe of that name gives way.
    """

    name: str | None = None
    replace: bool = False


OWN_SLOT = Slot()


@dataclass(frozen=True)
class Task:
    """A dataset that a model is to embed.

    level: the captions that a language model reads (see `core.embedding.texts.read_texts`), the
    dataset's default where None; other models read no captions. batch_size: items at a time, `auto`
    as in `auto_batch_size`; halved where they do not fit.
    """

    store: Path
    dataset: Dataset
    encoder: Encoder
    level: str | None = None
    batch_size: int | Literal["auto"] = "auto"
    slot: Slot = OWN_SLOT


def embed(
    store: Path,
    dataset: Dataset,
    encoder: Encoder,
    *,
    level: str | None = None,
    batch_size: int | Literal["auto"] = "auto",
    slot: Slot = OWN_SLOT,
    report: Progress | None = None,
) -> Path:
    """Embed a dataset with a model, as `Task` says, and return the published file; returns at once
    where the same recipe is published. A dataset that the store does not have is added.

    Raises StimuliError for a level that some stimuli lack, FeatureError for vectors that are not
    finite, DeviceError where one item does not fit, StoreError where the name is taken by another
    recipe, StoreBusyError where another process embeds it.
    """
    task = Task(store, dataset, encoder, level, batch_size, slot)
    return embed_part(task, EVERY, report=report)


def embed_part(task: Task, part: Part, *, report: Progress | None = None) -> Path:
    """Encode a part of a dataset, while other processes encode the others, and return the file that
    who finishes the last part publishes; raises as `embed`.
    """
    store, dataset, encoder, slot = task.store, task.dataset, task.encoder, task.slot
    written = _written(store, dataset.card)
    level = _level(dataset.card, written, encoder.card, task.level)
    card = _named(encoder.card, dataset.card, level, slot.name)
    recipe = _recipe(dataset.card, card, level, encoder.recipe, texts=written.get(str(level)))
    size = _batch_size(task.batch_size, encoder)
    target = embedding_file(store, dataset.card.name, card.name)
    is_done = partial(is_published, target, recipe, replace=slot.replace)
    hold_dataset(store, dataset, report)
    if is_done() and not parts_folder(target).exists():
        return target
    reading = read_dataset(store, dataset, encoder, level)
    folder = parts_folder(target) / f"{recipe.digest}{reading.mark}"
    run = partial(encode, target, folder, dataset, reading, size=size, report=report)
    parts = parts_of(dataset.card.size)
    if part is not EVERY and not is_done():
        run(parts[part], report=within(parts[part], report))
    with locked(target, patience=0.0 if part is EVERY else JOINING):
        if not is_done():
            for each in parts if part is EVERY else ():
                run(each)
            shards = finished(folder, dataset.card.size)
            if not shards:  # others are still at their parts
                return target
            saved, device = SavedBatches(shards, reading.order), str(encoder.device)
            publish_embedding(target, _assemble(saved, dataset.card, card, level, recipe, device))
        discard(target)
    return target


def _assemble(
    saved: SavedBatches,
    dataset: DatasetCard,
    card: ModelCard,
    level: str | None,
    recipe: Recipe,
    device: str,
) -> Embedding:
    layers, seconds = (
        SavedLayers(saved, len(card.layers)),
        sum(shard.seconds for shard in saved.shards),
    )
    bits, texts = saved.costs("bits"), saved.costs("bytes")
    return Embedding(dataset, card, level, layers, bits, texts, recipe, device, seconds)


def _recipe(
    dataset: DatasetCard,
    card: ModelCard,
    level: str | None,
    choices: Any,
    *,
    texts: Recipe | None = None,
) -> Recipe:
    """Return what the vectors depend on: also how captions were written that are not the dataset's
    own, and how melodies are, which no revision holds.

    Where the weights lie does not count, so the spec stays on the card.
    """
    written = {"texts": texts.digest} if texts else {}
    sung = {"melodies": melodies.VERSION} if modality_of(card).reads == "melody" else {}
    return Recipe.of(
        "embedding",
        version=VERSIONS["embedding"],
        dataset=name_data(dataset),
        modality=card.modality,
        weights=card.weights,
        level=level,
        encoder=dict(choices),
        **written,
        **sung,
    )


def _written(store: Path, dataset: DatasetCard) -> dict[str, Recipe]:
    """Return the caption levels that were written since the dataset was added, if it was."""
    return (
        Store(store).summaries(dataset.name)
        if examine_if_usable(dataset_file(store, dataset.name))
        else {}
    )


def _level(
    dataset: DatasetCard, written: Collection[str], card: ModelCard, level: str | None
) -> str | None:
    if modality_of(card).reads == "caption":
        check_captions(dataset)
    if modality_of(card).reads == "image":
        check_images(dataset)
    if modality_of(card).reads == "melody":
        check_melodies(dataset)
    offered = offered_levels(dataset.levels, tuple(written))
    if level is not None and level not in offered:
        raise UnknownNameError("caption level", level, offered)
    return (level or dataset.levels[0]) if modality_of(card).reads == "caption" else None


def _named(card: ModelCard, dataset: DatasetCard, level: str | None, name: str | None) -> ModelCard:
    if name is None and level not in (None, *dataset.levels[:1]):
        name = f"{card.name}~{re.sub('[^A-Za-z0-9._-]', '-', str(level))}"
    return change(card, name=name or card.name)


def _batch_size(size: int | Literal["auto"], encoder: Encoder) -> int:
    if size == "auto":
        return auto_batch_size(encoder.device)
    if size < 1:
        raise InputError(f"a batch holds at least one item, not {size}; use --batch-size auto")
    return size
