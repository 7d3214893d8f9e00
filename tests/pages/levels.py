"""Language models that read further caption levels, for stores of `tests.pages.world`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.recipe import Recipe
from core.store import Embedding, Store, write_embedding
from core.store.schema import VERSIONS
from tests.pages.world import PaintedDataset

KEPT: Mapping[str, float] = {"5": 0.2, "10": 0.5, "40": 4.0}  # of reality


def retell(
    root: Path, dataset: PaintedDataset, names: Sequence[str], *, kept: Mapping[str, float] = KEPT
) -> Path:
    """Embed these language models at further levels, where they hold so much of reality next to
    noise.
    """
    for name in names:
        card = Store(root).model(dataset.name, name).card
        for level, part in kept.items():
            rng = np.random.default_rng(len(name))
            noise = [rng.normal(size=(dataset.size, 9)).astype(np.float32) / 3 for _ in card.layers]
            write_embedding(
                root,
                Embedding(
                    dataset=dataset.card,
                    card=replace(card, name=f"{name}~{level}"),
                    level=level,
                    layers=[dataset.reality * part + one for one in noise],
                    bits=None,
                    bytes=None,
                    recipe=Recipe.of(
                        "embedding", version=VERSIONS["embedding"], model=f"{name}~{level}"
                    ),
                    device="cpu",
                    seconds=0.1,
                ),
            )
    return root
