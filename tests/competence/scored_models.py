"""A store of small made-up models, some of which bear the specs of published ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.recipe import Recipe
from core.store import Embedding, add_dataset, write_embedding
from core.store.schema import VERSIONS
from tests.store_fakes import CountedDataset, CountingEncoder, vectors

SPECS = {  # name in the store → spec, modality
    "bloomz": ("hf:BigScience/BLOOMZ-560m", "language"),
    "again": ("hf:bigscience/bloomz-560m", "language"),
    "llama": ("hf:meta-llama/Meta-Llama-3-8B", "language"),
    "mae": ("timm:vit_base_patch16_224.mae", "vision"),
    "untold": ("timm:vit_base_patch16_224", "vision"),
    "own-weights": ("timm:vit_base_patch16_224.mae@weights.safetensors", "vision"),
    "tuned": ("timm:vit_tiny_patch16_224.augreg_in21k_ft_in1k", "vision"),
}


def write_model(root: Path, name: str, spec: str, modality: str, *, weights: str = "w1") -> None:
    """Embed a model whose captions cost 1, 2, 3 … bits, 8 bytes each."""
    card = replace(
        CountingEncoder(modality=modality, layers=1, weights=weights).card, name=name, spec=spec
    )
    codes = modality == "language"
    write_embedding(
        root,
        Embedding(
            dataset=CountedDataset().card,
            card=card,
            level="20",
            layers=[vectors(range(20), layer=0)],
            bits=np.arange(1.0, 21.0) if codes else None,
            bytes=np.full(20, 8.0) if codes else None,
            recipe=Recipe.of(
                "embedding", version=VERSIONS["embedding"], name=name, weights=weights
            ),
            device="cpu",
            seconds=0.0,
        ),
    )


def make_store(root: Path) -> Path:
    """Publish the dataset `counted` and all models of SPECS over it."""
    add_dataset(root, CountedDataset())
    for name, (spec, modality) in SPECS.items():
        write_model(root, name, spec, modality)
    return root
