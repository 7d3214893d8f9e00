"""A store of the published study's size, made of random features, for timing the dashboard.

    python -m tests.benchmarks.published STORE
    python -m tests.benchmarks.clicks STORE 3000

17 vision models of 25 layers and 12 language models of 33 over 1,024 stimuli. What a page computes
depends on the stimuli, the layers and the neighbors; the vectors are narrow, which only makes the
neighbors faster to find, once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from core.encoders.encoder import ModelCard
from core.recipe import Recipe
from core.store import Embedding, add_dataset, write_embedding
from core.store.versions import VERSIONS
from tests.benchmarks.all_pairs import (
    LANGUAGE_LAYERS,
    LANGUAGE_WIDTHS,
    STIMULI,
    VISION_LAYERS,
    VISION_WIDTHS,
)
from tests.pages.world import LEVELS, PaintedDataset

WIDTH = 64
OBJECTIVES = ("supervised", "MAE", "DINOv2", "CLIP", "CLIP, tuned")
FAMILIES = ("BLOOM", "OpenLLaMA", "LLaMA")


def main(root: Path) -> None:
    """Fill the store; what is there is made anew."""
    dataset = PaintedDataset(STIMULI)
    add_dataset(root, dataset)
    for number, width in enumerate(VISION_WIDTHS):
        objective = OBJECTIVES[number % len(OBJECTIVES)]
        _embed(root, dataset, _card("vision", objective, number, width), VISION_LAYERS)
    for number, width in enumerate(LANGUAGE_WIDTHS):
        family = FAMILIES[number % len(FAMILIES)]
        _embed(root, dataset, _card("language", family, number, width), LANGUAGE_LAYERS)


def _card(modality: str, group: str, number: int, width: int) -> ModelCard:
    depth = VISION_LAYERS if modality == "vision" else LANGUAGE_LAYERS
    family, objective = ("ViT", group) if modality == "vision" else (group, "language")
    return ModelCard(
        f"{modality}-{number}",
        f"{group} {number}",
        modality,
        f"import:{modality}-{number}",
        family,
        objective,
        12 * depth * width**2,
        f"{modality}-{number}",
        tuple(f"layer {layer}" for layer in range(depth)),
    )


def _embed(root: Path, dataset: PaintedDataset, card: ModelCard, depth: int) -> None:
    """Write a model that keeps more of the world the later it comes among its kind."""
    rng = np.random.default_rng(sum(map(ord, card.name)))
    kept = (int(card.name.partition("-")[2]) + 1) / 20
    world = np.pad(dataset.world, ((0, 0), (0, WIDTH - dataset.world.shape[1])))
    noise = rng.normal(size=(depth, STIMULI, WIDTH)).astype(np.float32) / 3
    codes = card.modality == "language"
    write_embedding(
        root,
        Embedding(
            dataset=dataset.card,
            card=card,
            level=LEVELS[0] if codes else None,
            layers=[kept * world + (1 - kept) * layer for layer in noise],
            bits=np.full(STIMULI, 20.0 * (1.0 - kept / 2)) if codes else None,
            bytes=np.full(STIMULI, 40.0) if codes else None,
            recipe=Recipe.of("embedding", version=VERSIONS["embedding"], model=card.name),
            device="cpu",
            seconds=0.1,
        ),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
