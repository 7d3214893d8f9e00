"""A dataset of some stimuli of another: every embedding comes along, without embedding again, since
the vector of a stimulus does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.embedding.holdings import is_published, name_data
from core.errors import NotEmbeddedError
from core.recipe import Recipe
from core.stimuli.dataset import DatasetCard
from core.stimuli.levels import offered_levels
from core.stimuli.subset import subset_card
from core.store import Embedding, ModelEntry, Store, write_embedding
from core.store.schema import embedding_file
from core.store.writer import add_subset


def hold_subset(root: Path, whole: DatasetCard, name: str, rows: Sequence[int]) -> DatasetCard:
    """Publish some stimuli of a dataset as the dataset `name`, with what is embedded of these, and
    return its card; what is there already stays.

    Captions that were written after the dataset was added stay behind, with what read them. Raises
    StimuliError for the name, StoreError where another dataset has it.
    """
    card, store = subset_card(whole, name, rows), Store(root)
    add_subset(root, card)
    for entry in store.embeddings(whole.name):
        level = entry.level in (None, *offered_levels(whole.levels))
        choices = {**entry.recipe.choices, "dataset": name_data(card)}
        if entry.card.spec.startswith("import:"):  # of a file with rows for all of that
            choices["options"] = {"dataset": whole.name} | choices.get("options", {})
        recipe = Recipe.of(entry.recipe.kind, **choices)
        target = embedding_file(root, name, entry.card.name)
        if not level or is_published(target, recipe, replace=True):
            continue
        try:
            write_embedding(root, _sliced(store, whole.name, entry, card, recipe, np.array(rows)))
        except NotEmbeddedError:  # it can be embedded over the subset
            continue
    return card


def _sliced(
    store: Store, whole: str, entry: ModelEntry, card: DatasetCard, recipe: Recipe, rows: np.ndarray
) -> Embedding:
    model, places = entry.card.name, range(len(entry.dims))
    layers = [store.space(whole, model, place)[rows] for place in places]
    if entry.card.geometry == "dissimilarities":
        layers = [layer[:, rows] for layer in layers]
    costs = store.text_costs(whole, model)
    bits, texts = (
        (costs[column].to_numpy(np.float64)[rows] if costs is not None else None)
        for column in ("bits", "bytes")
    )
    repeated = places if entry.card.over else ()
    repeats = [store.repeats(whole, model, place)[:, rows] for place in repeated]
    return Embedding(
        card,
        entry.card,
        entry.level,
        layers,
        bits,
        texts,
        recipe,
        entry.device,
        entry.seconds,
        repeats,
    )
