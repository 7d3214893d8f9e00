"""The resumable runner: a dataset through an encoder into one file of the store.

Each finished batch is on the disk before the next begins; all of them become the file in one bulk
write. A run that was killed at any moment goes on after its last finished batch, with the same
batches as if it had never stopped, so that the file is the same.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from dataclasses import replace as change
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32

from core.embedding.batches import auto_batch_size, check_encoding, check_finite, encode_fitting
from core.embedding.shards import (
    SavedLayers,
    Shard,
    discard,
    parts_folder,
    resume,
    saved_costs,
    write_shard,
)
from core.embedding.texts import AveragingEncoder, read_texts
from core.encoders.encoder import IMPORTED, REALITY, Encoder, ModelCard, modality_of
from core.errors import (
    FeatureError,
    InputError,
    StimuliError,
    StoreError,
    StoreVersionError,
    UnknownNameError,
)
from core.modalities import WORLD, find_modality
from core.progress import Progress
from core.recipe import Recipe
from core.stimuli.dataset import Dataset, DatasetCard
from core.stimuli.levels import offered_levels
from core.store import Embedding, Store, add_dataset, write_embedding
from core.store.examine import examine_if_usable
from core.store.publishing import locked
from core.store.schema import dataset_file, embedding_file
from core.store.versions import VERSIONS
from core.store.writer import publish_embedding

Items = Callable[[int, int], Sequence[Any]]  # gives those of the stimuli start … stop − 1


@dataclass(frozen=True)
class Slot:
    """Where in the store an embedding goes.

    name: what the store calls the model; None for its own name, with `~level` for captions that
    are not the default. replace: whether another recipe of that name gives way.
    """

    name: str | None = None
    replace: bool = False


OWN_SLOT = Slot()


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
    """Embed a dataset with a model and return the published file; returns at once where the same
    recipe is published.

    level: the captions that a language model reads (see `core.embedding.texts.read_texts`), the
    dataset's default where None; other models read no captions. batch_size: items at a time, `auto`
    as in `auto_batch_size`; halved where they do not fit. A dataset that the store does not have is
    added.

    Raises StimuliError for a level that some stimuli lack, FeatureError for vectors that are not
    finite, DeviceError where one item does not fit, StoreError where the name is taken by another
    recipe, StoreBusyError where another process embeds it.
    """
    written = _written(store, dataset.card)
    level = _level(dataset.card, written, encoder.card, level)
    card = _named(encoder.card, dataset.card, level, slot.name)
    recipe = _recipe(dataset.card, card, level, encoder.recipe, texts=written.get(str(level)))
    size = _batch_size(batch_size, encoder)
    target = embedding_file(store, dataset.card.name, card.name)
    _hold_dataset(store, dataset, report)
    if _is_published(target, recipe, replace=slot.replace) and not parts_folder(target).exists():
        return target
    with locked(target):
        if not _is_published(target, recipe, replace=slot.replace):
            reader, items = _reading(store, dataset, encoder, level)
            shards = _run(
                parts_folder(target) / recipe.digest,
                dataset,
                reader,
                items,
                size=size,
                report=report,
            )
            publish_embedding(
                target, _assemble(shards, dataset.card, card, level, recipe, str(encoder.device))
            )
        discard(target)
    return target


def embed_world(store: Path, dataset: Dataset) -> Path:
    """Publish the dataset's known factors as the model `reality` ; raises
    StimuliError where it knows none.
    """
    world = dataset.world
    if world is None:
        raise StimuliError(
            f"dataset {dataset.card.name!r} does not know its factors as vectors; only a procedural"
            " one does"
        )
    _hold_dataset(store, dataset, None)
    spec = f"world:{dataset.card.name}"
    card = ModelCard(
        REALITY, "Reality", WORLD.name, spec, "world", REALITY, None, _digest([world]), ("factors",)
    )
    return _publish_ready(store, dataset.card, [world], card, replace=True)


def import_features(
    store: Path,
    dataset: DatasetCard,
    layers: Sequence[Float32[np.ndarray, "n _"]],
    *,
    name: str,
    modality: str,
    replace: bool = False,
) -> Path:
    """Publish features that were made elsewhere as the model `name`.

    layers: one (n, dims) matrix per layer, in the dataset's order. modality: a name in
    `core.modalities`. Raises UnknownNameError for any other, FeatureError for a wrong number of
    rows, NaN or infinity, StoreError where the name is taken by other features and `replace` is not
    set.
    """
    find_modality(modality)
    names = tuple(f"layer {index}" for index in range(len(layers)))
    card = ModelCard(
        name, name, modality, f"import:{name}", IMPORTED, "unknown", None, _digest(layers), names
    )
    return _publish_ready(store, dataset, layers, card, replace=replace)


def _run(
    folder: Path,
    dataset: Dataset,
    encoder: Encoder,
    take: Items,
    *,
    size: int,
    report: Progress | None,
) -> list[Shard]:
    """Encode what no shard holds yet, batch by batch, and return all shards."""
    ids, n = list(dataset.stimuli["stimulus"]), dataset.card.size
    shards = resume(folder)
    done, limit = (shards[-1].stop, shards[-1].limit) if shards else (0, 0)
    what = f"{encoder.card.name} over {dataset.card.name}"
    if report:
        report(done, n, what)
    for start in range(done, n, size):
        stop, began = min(start + size, n), time.monotonic()
        encoding, limit = encode_fitting(encoder, take(start, stop), limit=limit)
        check_encoding(encoder, encoding, ids[start:stop])
        shards.append(
            write_shard(
                folder, encoding, start=start, limit=limit, seconds=time.monotonic() - began
            )
        )
        if report:
            report(stop, n, what)
    return shards


def _reading(
    store: Path, dataset: Dataset, encoder: Encoder, level: str | None
) -> tuple[Encoder, Items]:
    """Return what reads the items, and what gives those of stimuli start … stop − 1; raises
    StimuliError for missing captions.
    """
    if level is None:
        return encoder, lambda start, stop: [dataset.image(index) for index in range(start, stop)]
    texts = read_texts(Store(store), dataset.card.name, level)
    if any(len(several) > 1 for several in texts):
        return AveragingEncoder(encoder), lambda start, stop: texts[start:stop]
    single = [text for (text,) in texts]
    return encoder, lambda start, stop: single[start:stop]


def _assemble(
    shards: Sequence[Shard],
    dataset: DatasetCard,
    card: ModelCard,
    level: str | None,
    recipe: Recipe,
    device: str,
) -> Embedding:
    layers, seconds = SavedLayers(shards, len(card.layers)), sum(shard.seconds for shard in shards)
    bits, texts = saved_costs(shards, "bits"), saved_costs(shards, "bytes")
    return Embedding(dataset, card, level, layers, bits, texts, recipe, device, seconds)


def _publish_ready(
    store: Path,
    dataset: DatasetCard,
    layers: Sequence[Float32[np.ndarray, "n _"]],
    card: ModelCard,
    *,
    replace: bool,
) -> Path:
    """Publish vectors that need no encoder; returns at once where they are published."""
    recipe = Recipe.of(
        "features", dataset=_data(dataset), modality=card.modality, weights=card.weights
    )
    target = embedding_file(store, dataset.name, card.name)
    _check_ready(store, dataset, layers, card.name)
    if _is_published(target, recipe, replace=replace):
        return target
    return write_embedding(
        store,
        Embedding(
            dataset=dataset,
            card=card,
            level=None,
            layers=layers,
            bits=None,
            bytes=None,
            recipe=recipe,
            device="cpu",
            seconds=0.0,
        ),
    )


def _check_ready(
    store: Path, dataset: DatasetCard, layers: Sequence[np.ndarray], name: str
) -> None:
    if not layers:
        raise FeatureError(f"{name} has no layers; give one (n, dims) matrix per layer")
    ids = list(Store(store).stimuli(dataset.name)["stimulus"])
    for index, layer in enumerate(layers):
        if len(layer) != len(ids):
            raise FeatureError(
                f"layer {index} of {name} has {len(layer)} rows, but {dataset.name!r} has"
                f" {len(ids)} stimuli; give one row per stimulus, in the dataset's order"
            )
        check_finite(layer, ids, layer=f"layer {index}", model=name)


def _hold_dataset(store: Path, dataset: Dataset, report: Progress | None) -> None:
    """Add a dataset that the store does not have; raises StoreVersionError where it has another
    revision.
    """
    card = dataset.card
    held = examine_if_usable(dataset_file(store, card.name))
    if held is None:
        add_dataset(store, dataset, report=report)
    elif held.revision != card.revision:
        raise StoreVersionError(
            f"the store has revision {held.revision} of {card.name!r}, this is {card.revision}; add"
            " the dataset again, after which its models are embedded again, or give this one"
            " another name"
        )


def _is_published(target: Path, recipe: Recipe, *, replace: bool) -> bool:
    """Tell whether this recipe is published; raises StoreError where another one has its name and
    may not be replaced.
    """
    held = examine_if_usable(target)
    if held is None:
        return False
    if held.recipe == recipe:
        return True
    was, wanted = held.recipe.choices, recipe.choices
    if (
        replace or was.get("dataset") != wanted["dataset"]
    ):  # over another revision it is of no use to anybody
        return False
    changed = [
        f"{key} {was.get(key)!r} there, {wanted.get(key)!r} here"
        for key in sorted({*was, *wanted})
        if was.get(key) != wanted.get(key)
    ]
    raise StoreError(
        f"{target.stem!r} is in the store by another recipe ({'; '.join(changed)}); name this one"
        f" with --name, or delete {target}"
    )


def _recipe(
    dataset: DatasetCard,
    card: ModelCard,
    level: str | None,
    choices: Any,
    *,
    texts: Recipe | None = None,
) -> Recipe:
    """Return what the vectors depend on: also how captions were written that are not the dataset's
    own.

    Where the weights lie does not count, so the spec stays on the card.
    """
    written = {"texts": texts.digest} if texts else {}
    return Recipe.of(
        "embedding",
        version=VERSIONS["embedding"],
        dataset=_data(dataset),
        modality=card.modality,
        weights=card.weights,
        level=level,
        encoder=dict(choices),
        **written,
    )


def _data(dataset: DatasetCard) -> dict[str, str]:
    return {"name": dataset.name, "revision": dataset.revision}


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
    offered = offered_levels(dataset.levels, tuple(written))
    if level is not None and level not in offered:
        raise UnknownNameError("caption level", level, offered)
    return (level or dataset.levels[0]) if modality_of(card).reads == "caption" else None


def _named(card: ModelCard, dataset: DatasetCard, level: str | None, name: str | None) -> ModelCard:
    if name is None and level not in (None, dataset.levels[0]):
        name = f"{card.name}~{re.sub('[^A-Za-z0-9._-]', '-', str(level))}"
    return change(card, name=name or card.name)


def _batch_size(size: int | Literal["auto"], encoder: Encoder) -> int:
    if size == "auto":
        return auto_batch_size(encoder.device)
    if size < 1:
        raise InputError(f"a batch holds at least one item, not {size}; use --batch-size auto")
    return size


def _digest(layers: Sequence[np.ndarray]) -> str:
    """Return a name for the vectors themselves, which stand for weights where nobody gave any."""
    state = hashlib.sha256()
    for layer in layers:
        state.update(f"{layer.shape}".encode() + np.ascontiguousarray(layer).tobytes())
    return state.hexdigest()[:16]
