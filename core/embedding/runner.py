"""The resumable runner: a dataset through an encoder into one file of the store.

Each finished batch is on the disk before the next begins. A killed run continues after its last
finished batch, with the same batches, so that the file is the same.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace as change
from pathlib import Path
from typing import Any, Literal

import numpy as np

from core.embedding.reading import Reading, read_dataset
from core.embedding.shards import (
    SavedLayers,
    Shard,
    discard,
    parts_folder,
    read_all,
    resume,
    write_shard,
)
from core.encoders.encoder import Encoder, Encoding, ModelCard, modality_of
from core.errors import (
    DeviceError,
    FeatureError,
    InputError,
    StoreError,
    StoreVersionError,
    UnknownNameError,
)
from core.machine.memory import is_out_of_memory
from core.progress import Progress
from core.recipe import Recipe
from core.stimuli.captions import offered_levels
from core.stimuli.dataset import Dataset, DatasetCard, check_captions, check_images, check_melodies
from core.store import Embedding, Store, add_dataset
from core.store.files import examine_if_usable
from core.store.publishing import locked
from core.store.schema import VERSIONS, dataset_file, embedding_file
from core.store.writer import publish_embedding

# images or texts; a GPU is idle with less, and halving corrects too much
AUTO = {"cpu": 64, "mps": 128, "cuda": 256}


def embed(
    store: Path,
    dataset: Dataset,
    encoder: Encoder,
    *,
    level: str | None = None,
    batch_size: int | Literal["auto"] = "auto",
    name: str | None = None,
    replace: bool = False,
    report: Progress | None = None,
) -> Path:
    """Embed a dataset with a model, and return the published file; return at once if the same
    recipe is published. A dataset that the store does not have is added.

    level: the captions that a language model reads, the dataset's default if None. batch_size:
    halved if a batch does not fit. name: in the store; by default the model's own, with `~level`
    for other captions than the default. replace: whether another recipe of that name is replaced.

    Raise StimuliError for a level that some stimuli lack, FeatureError for vectors that are not
    finite, DeviceError if one item does not fit, StoreError if another recipe has the name,
    StoreBusyError if another process embeds it.
    """
    data, written = dataset.card, dict[str, Recipe]()
    if examine_if_usable(dataset_file(store, data.name)):
        written = Store(store).summaries(data.name)  # caption levels of later than the dataset
    level = _level(data, encoder.card, level, offered_levels(data.levels, tuple(written)))
    if name is None and level not in (None, *data.levels[:1]):
        name = f"{encoder.card.name}~{re.sub('[^A-Za-z0-9._-]', '-', str(level))}"
    card = change(encoder.card, name=name or encoder.card.name)
    # where the weights lie does not count; texts that are not the dataset's own do
    texts, reads = written.get(str(level)), modality_of(card).reads
    recipe = Recipe.of(
        "embedding",
        version=VERSIONS["embedding"],
        dataset=name_data(data),
        modality=card.modality,
        weights=card.weights,
        level=level,
        encoder=dict(encoder.recipe),
        **({"texts": texts.digest} if texts else {}),
        **({"melodies": check_melodies(data).melody_version} if reads == "melody" else {}),
    )
    size = auto_batch_size(encoder.device) if batch_size == "auto" else batch_size
    if size < 1:
        raise InputError(f"a batch holds at least one item, not {size}; use --batch-size auto")
    target = embedding_file(store, data.name, card.name)
    hold_dataset(store, dataset, report)
    if is_published(target, recipe, replace=replace) and not parts_folder(target).exists():
        return target
    reading = read_dataset(store, dataset, encoder, level)
    folder = parts_folder(target) / f"{recipe.digest}{reading.mark}"
    with locked(target):
        if not is_published(target, recipe, replace=replace):
            shards = _encode(folder, dataset, reading, size, report)
            layers = SavedLayers(shards, reading.order, len(card.layers))
            bits, sizes = (read_all(shards, reading.order, cost) for cost in ("bits", "bytes"))
            seconds = sum(shard.seconds for shard in shards)
            made = (data, card, level, layers, bits, sizes, recipe, str(encoder.device), seconds)
            publish_embedding(target, Embedding(*made))
        discard(target)
    return target


def _encode(
    folder: Path, dataset: Dataset, reading: Reading, size: int, report: Progress | None
) -> list[Shard]:
    encoder, n, shards = reading.encoder, dataset.card.size, resume(folder)
    done, limit = (shards[-1].stop, shards[-1].limit) if shards else (0, 0)
    ids = dataset.stimuli["stimulus"].to_numpy()[reading.order].tolist()
    what = f"{encoder.card.name} over {dataset.card.name}"
    if report:
        report(done, n, what)
    began = time.monotonic()
    with closing(reading.batches(range(done, n), size)) as batches:
        for start, items in zip(range(done, n, size), batches, strict=True):
            stop = start + len(items)
            encoding, limit = encode_fitting(encoder, items, limit=limit)
            names, layers, card = ids[start:stop], encoding.layers, encoder.card
            if [*map(len, layers)] != [len(names)] * len(card.layers):
                shapes = ", ".join(str(layer.shape) for layer in layers)
                raise FeatureError(
                    f"{card.name} has {len(card.layers)} layers and was given {len(names)} items,"
                    f" but returned {shapes}"
                )
            for name, layer in zip(card.layers, layers, strict=True):
                check_finite(layer, names, layer=name, model=card.name)
            how = {"start": start, "limit": limit}
            shards.append(write_shard(folder, encoding, **how, seconds=time.monotonic() - began))
            if report:
                report(stop, n, what)
            began = time.monotonic()
    return shards


def _level(
    data: DatasetCard, card: ModelCard, level: str | None, offered: Sequence[str]
) -> str | None:
    reads = modality_of(card).reads
    checks = {"caption": check_captions, "image": check_images, "melody": check_melodies}
    if reads in checks:
        checks[reads](data)
    if level is not None and level not in offered:
        raise UnknownNameError("caption level", level, offered)
    return (level or data.levels[0]) if reads == "caption" else None


def name_data(dataset: DatasetCard) -> dict[str, str]:
    return {"name": dataset.name, "revision": dataset.revision}


def hold_dataset(store: Path, dataset: Dataset, report: Progress | None) -> None:
    """Add a dataset that the store does not have; raises StoreVersionError if it has another
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


def is_published(target: Path, recipe: Recipe, *, replace: bool) -> bool:
    """Return whether this recipe is published; raise StoreError if another one has its name and may
    not be replaced.
    """
    held = examine_if_usable(target)
    if held is None:
        return False
    if held.recipe == recipe:
        return True
    was, wanted = held.recipe.choices, recipe.choices
    if replace or was.get("dataset") != wanted["dataset"]:  # another revision is of no use
        return False
    pairs = {**was, **was.get("encoder", {})}, {**wanted, **wanted.get("encoder", {})}
    changed = [
        key
        for key in sorted({*pairs[0], *pairs[1]} - {"encoder"})
        if pairs[0].get(key) != pairs[1].get(key)
    ]
    raise StoreError(
        f"choose another name with --name: {target.stem!r} is in the store, with other"
        f" {', '.join(changed)}; or delete that one: platoscope model delete --dataset"
        f" {target.parent.name} {target.stem} --yes"
    )


def auto_batch_size(device: object) -> int:
    return AUTO.get(str(device).partition(":")[0], AUTO["cpu"])


def encode_fitting(encoder: Encoder, items: Sequence[Any], *, limit: int) -> tuple[Encoding, int]:
    """Encode a batch in pieces of at most `limit` (0: as one), or of the half, quarter … that fits;
    return that limit too. All pieces of a batch have one size. Raise DeviceError if a single item
    does not fit.
    """
    while True:
        size = limit or len(items)
        try:
            starts = range(0, len(items), size)
            pieces = [encoder.encode(items[start : start + size]) for start in starts]
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        else:
            layers = zip(*(piece.layers for piece in pieces), strict=True)
            bits, sizes = ([getattr(one, cost) for one in pieces] for cost in ("bits", "bytes"))
            whole = Encoding(tuple(map(np.concatenate, layers)), _joined(bits), _joined(sizes))
            return whole, limit
        # Only out here is the failed attempt's memory free: an exception holds every tensor of its
        # frames.
        if size == 1:
            raise DeviceError(
                f"{encoder.card.name} does not fit on {encoder.device} even one item at a time; "
                "choose another device with --device, or free its memory"
            )
        limit = min(size, len(items)) // 2 or 1


def _joined(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    costs = [part for part in parts if part is not None]
    return np.concatenate(costs) if costs else None


def check_finite(space: np.ndarray, ids: Sequence[str], *, layer: str, model: str) -> None:
    """Raise FeatureError that names the first stimuli with NaN or infinity in `space` (n, dims)."""
    wrong = np.flatnonzero(~np.isfinite(space).all(axis=1))
    if len(wrong):
        some = ", ".join(repr(ids[index]) for index in wrong[:3]) + (
            f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        )
        raise FeatureError(
            f"layer {layer!r} of {model} has NaN or infinity for stimulus {some}; a space takes"
            " finite numbers only: compute in a wider float, or leave these stimuli out of the"
            " dataset"
        )
