"""A store of the published study's size, made of random features, for timing the dashboard.

    python -m tests.benchmarks.published STORE [WIDEST]
    python -m tests.benchmarks.page_times STORE
    python -m tests.benchmarks.clicks STORE 3000

The 17 vision models and the 12 language models of Huh et al. 2024 over 1,024 stimuli, each as deep
and as wide as it is published: 10.4 GB. WIDEST: of all layers, for those who have less room; what a
page computes depends on the stimuli, the layers and the neighbors, and narrow vectors only make the
neighbors faster to find, once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from core.competence.published import published_models
from core.encoders.encoder import ModelCard
from core.recipe import Recipe
from core.store import Embedding, add_dataset, write_embedding
from core.store.versions import VERSIONS
from tests.benchmarks.all_pairs import STIMULI
from tests.pages.world import LEVELS, PaintedDataset

LANGUAGE = ("BLOOMZ", "OpenLLaMA", "LLaMA")  # families of figure 3


def main(root: Path, widest: int = sys.maxsize) -> None:
    """Fill the store; what is there is made anew."""
    dataset = PaintedDataset(STIMULI)
    add_dataset(root, dataset)
    models = published_models()
    seeing, reading = models["modality"] == "vision", models["family"].isin(LANGUAGE)
    for kind in (models[seeing], models[reading]):
        ordered = kind.sort_values("parameters").to_dict("records")
        for number, model in enumerate(ordered, start=1):
            kept = number / (len(ordered) + 3)
            _embed(root, dataset, _card(model), min(widest, model["width"]), kept)


def _card(model: dict[str, Any]) -> ModelCard:
    """Return what is known of a model; language models have an embedding layer beside the
    blocks.
    """
    sees = model["modality"] == "vision"
    name = model["model"].partition(":")[2].rpartition("/")[2]
    return ModelCard(
        name,
        name,
        model["modality"],
        f"import:{name}",
        "ViT" if sees else model["family"],
        model["family"] if sees else "language",
        int(model["parameters"]),
        name,
        tuple(f"layer {layer}" for layer in range(int(model["depth"]) + (not sees))),
    )


def _embed(root: Path, dataset: PaintedDataset, card: ModelCard, width: int, kept: float) -> None:
    """Write a model that keeps more of the world the larger it is among its kind."""
    rng = np.random.default_rng(sum(map(ord, card.name)))
    world = dataset.world - dataset.world.mean(axis=0)

    def draw_layer() -> np.ndarray:
        seen = world @ rng.standard_normal((world.shape[1], width), dtype=np.float32)
        return kept * seen + (1 - kept) * rng.standard_normal((STIMULI, width), dtype=np.float32)

    codes = card.modality == "language"
    write_embedding(
        root,
        Embedding(
            dataset=dataset.card,
            card=card,
            level=LEVELS[0] if codes else None,
            layers=[draw_layer() for _ in card.layers],
            bits=np.full(STIMULI, 20.0 * (1.0 - kept / 2)) if codes else None,
            bytes=np.full(STIMULI, 40.0) if codes else None,
            recipe=Recipe.of("embedding", version=VERSIONS["embedding"], model=card.name),
            device="cpu",
            seconds=0.1,
        ),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
