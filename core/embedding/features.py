"""Vectors that need no encoder: a dataset's known factors, and features made elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from core.embedding.batches import check_finite
from core.embedding.holdings import hold_dataset, is_published, name_data
from core.encoders.encoder import IMPORTED, REALITY, ModelCard
from core.errors import FeatureError, StimuliError
from core.modalities import WORLD, find_modality
from core.recipe import Recipe
from core.stimuli.dataset import Dataset, DatasetCard
from core.store import Embedding, Store, write_embedding
from core.store.schema import embedding_file


def embed_world(store: Path, dataset: Dataset) -> Path:
    """Publish the dataset's known factors as the model `reality`; raises StimuliError
    where it knows none.
    """
    world = dataset.world
    if world is None:
        raise StimuliError(
            f"dataset {dataset.card.name!r} has no factors as vectors; only a procedural one does"
        )
    hold_dataset(store, dataset, None)
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
    file: str = "",
    replace: bool = False,
) -> Path:
    """Publish features that were made elsewhere as the model `name`.

    layers: one (n, dims) matrix per layer, in the dataset's order. modality: a name in
    `core.modalities`. file: the name of the file that held them, if any. Raises UnknownNameError
    for any other modality, FeatureError for a wrong number of rows, NaN or infinity, StoreError
    where the name is taken by other features and `replace` is not set.
    """
    find_modality(modality)
    names = tuple(f"layer {index}" for index in range(len(layers)))
    card = ModelCard(
        name,
        name,
        modality,
        f"import:{file or name}",
        IMPORTED,
        "unknown",
        None,
        _digest(layers),
        names,
    )
    return _publish_ready(store, dataset, layers, card, replace=replace)


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
        "features", dataset=name_data(dataset), modality=card.modality, weights=card.weights
    )
    target = embedding_file(store, dataset.name, card.name)
    _check_ready(store, dataset, layers, card.name)
    if is_published(target, recipe, replace=replace):
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


def _digest(layers: Sequence[np.ndarray]) -> str:
    """Return a name for the vectors themselves, which stand for weights where none are named."""
    state = hashlib.sha256()
    for layer in layers:
        state.update(f"{layer.shape}".encode() + np.ascontiguousarray(layer).tobytes())
    return state.hexdigest()[:16]
