"""Vectors that need no encoder: a dataset's known factors, features made elsewhere, and subsets of
a dataset.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.embedding.runner import check_finite, hold_dataset, is_published, name_data
from core.encoders.encoder import IMPORTED, REALITY, UNKNOWN, ModelCard, with_facts
from core.encoders.measured import (
    SIMULATED,
    SUBJECTS,
    Content,
    check_rows,
    describe_subject,
    from_repeats,
    measure_subject,
)
from core.encoders.requests import Facts
from core.errors import FeatureError, NotEmbeddedError, StimuliError
from core.modalities import BRAIN, WORLD, check_modality
from core.recipe import Recipe
from core.stimuli.captions import offered_levels
from core.stimuli.catalog import subset_card
from core.stimuli.dataset import Dataset, DatasetCard
from core.store import Embedding, Store, check_facts, set_facts, write_embedding
from core.store.files import examine_if_usable
from core.store.schema import embedding_file
from core.store.writer import add_subset

Option = str | tuple[str, ...]  # of a command


def embed_world(store: Path, dataset: Dataset) -> Path:
    """Publish the dataset's known factors as the model `reality`; raise StimuliError if it knows
    none.
    """
    reality = dataset.reality
    if reality is None:
        raise StimuliError(
            f"dataset {dataset.card.name!r} has no factors as vectors; only a procedural one does"
        )
    hold_dataset(store, dataset, None)
    spec = f"world:{dataset.card.name}"
    card = ModelCard(
        REALITY,
        "Reality",
        WORLD.name,
        spec,
        "world",
        REALITY,
        None,
        _digest([reality]),
        ("factors",),
    )
    return _publish_ready(store, dataset.card, Content([reality]), card, replace=True)


def embed_cortex(store: Path, dataset: Dataset) -> None:
    """Publish the subjects of a simulated cortex, after `embed_world`."""
    assert dataset.reality is not None  # as there
    for name in SUBJECTS:
        content = from_repeats([measure_subject(name, dataset.reality)], "trials")
        card = ModelCard(
            name,
            name.replace("cortex-", "Simulated cortex "),
            BRAIN.name,
            f"{SIMULATED}{name}",
            "simulated cortex",
            "measured",
            None,
            _digest((*content.layers, *content.repeats)),
            ("voxels",),
            describe_subject(name),
            over=content.over,
        )
        _publish_ready(store, dataset.card, content, card, replace=True)


def import_features(
    store: Path,
    dataset: DatasetCard,
    content: Content,
    *,
    name: str,
    modality: str,
    facts: Facts | None = None,
    title: str = "",
    level: str = "",
    file: str = "",
    options: Mapping[str, Option] | None = None,
    replace: bool = False,
) -> Path:
    """Publish features that were made elsewhere as the model `name`.

    level: of the captions that it read. file: the name of their file. options: by which it was
    read. Raise UnknownNameError for the caption level, InputError for facts, FeatureError for a
    wrong number of rows, NaN or infinity, StoreError if other features have the name.
    """
    check_modality(modality)
    facts, said = facts or Facts(), {"title": title, "level": level}
    check_facts(Store(store), dataset.name, facts, **said)
    card = ModelCard(
        name,
        name.partition("~")[0],
        modality,
        f"import:{file or name}",
        IMPORTED,
        UNKNOWN,
        None,
        _digest((*content.layers, *content.repeats)),
        content.names or tuple(f"layer {index}" for index in range(len(content.layers))),
        {},
        geometry=content.geometry,
        over=content.over,
    )
    card = with_facts(card, facts, title)
    read = {"options": dict(options)} if options else {}
    path = _publish_ready(
        store, dataset, content, card, replace=replace, level=level or None, **read
    )
    set_facts(store, dataset.name, name, facts, **said)  # also of one that was there
    return path


def _publish_ready(
    store: Path,
    dataset: DatasetCard,
    content: Content,
    card: ModelCard,
    *,
    replace: bool,
    level: str | None = None,
    **other: Any,
) -> Path:
    other |= {} if card.geometry == "vectors" else {"geometry": card.geometry}
    recipe = Recipe.of(
        "features",
        dataset=name_data(dataset),
        modality=card.modality,
        weights=card.weights,
        **other,
    )
    target = embedding_file(store, dataset.name, card.name)
    check_ready(content.layers, list(Store(store).stimuli(dataset.name)["stimulus"]), card.name)
    held = examine_if_usable(target)  # other options that gave the same are no other embedding
    if held and {**held.recipe.choices, "options": {}} == {**recipe.choices, "options": {}}:
        return target
    if is_published(target, recipe, replace=replace):
        return target
    layers, repeats = content.layers, content.repeats
    made = Embedding(dataset, card, level, layers, None, None, recipe, "cpu", 0.0, repeats)
    return write_embedding(store, made)


def check_ready(layers: Sequence[np.ndarray], ids: Sequence[str], name: str) -> None:
    """Raise FeatureError unless each layer has a finite row for each stimulus. name: of what holds
    them.
    """
    if not layers:
        raise FeatureError(f"{name} has no layers; give one (n, dims) matrix per layer")
    check_rows(layers, ids, name)
    for index, layer in enumerate(layers):
        check_finite(layer, ids, layer=f"layer {index}", model=name)


def _digest(layers: Sequence[np.ndarray]) -> str:
    state = hashlib.sha256()
    for layer in layers:
        state.update(f"{layer.shape}".encode() + np.ascontiguousarray(layer).tobytes())
    return state.hexdigest()[:16]


def hold_subset(root: Path, whole: DatasetCard, name: str, rows: Sequence[int]) -> DatasetCard:
    """Publish some stimuli of a dataset as the dataset `name`, with what is embedded of these, and
    return its card. Captions that were written after the dataset was added are left out, with what
    read them. Raise StimuliError for the name, StoreError if another dataset has it.
    """
    card, store, some = subset_card(whole, name, rows), Store(root), np.array(rows)
    add_subset(root, card)
    for entry in store.embeddings(whole.name):
        choices = {**entry.recipe.choices, "dataset": name_data(card)}
        if entry.card.spec.startswith("import:"):  # of a file with rows for all of that
            choices["options"] = {"dataset": whole.name} | choices.get("options", {})
        recipe = Recipe.of(entry.recipe.kind, **choices)
        target = embedding_file(root, name, entry.card.name)
        is_offered = entry.level in (None, *offered_levels(whole.levels))
        if not is_offered or is_published(target, recipe, replace=True):
            continue
        model, places = entry.card.name, range(len(entry.dims))
        try:
            layers = [store.space(whole.name, model, place)[some] for place in places]
            if entry.card.geometry == "dissimilarities":
                layers = [layer[:, some] for layer in layers]
            costs = store.text_costs(whole.name, model)
            bits, sizes = (
                None if costs is None else costs[column].to_numpy(np.float64)[some]
                for column in ("bits", "bytes")
            )
            repeated = places if entry.card.over else ()
            repeats = [store.repeats(whole.name, model, place)[:, some] for place in repeated]
        except NotEmbeddedError:  # it can be embedded over the subset
            continue
        held = (card, entry.card, entry.level, layers, bits, sizes, recipe)
        write_embedding(root, Embedding(*held, entry.device, entry.seconds, repeats))
    return card
