"""A store of random features under the ids of published models and datasets: what is published of
them is next to their values.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.encoders.encoder import ModelCard
from core.recipe import Recipe
from core.stimuli.dataset import DatasetCard
from core.store import Embedding, add_dataset, write_embedding
from core.store.schema import VERSIONS
from tests.pages.world import LEVELS, PaintedDataset

COCO, WIT = "coco_val2017", "wit"
WIT_SOURCE = {"kind": "hub", "hub_id": "minhuh/prh", "revision": "wit_1024"}
PAIRED = {  # of the replication's pairs, by modality
    "hf:bigscience/bloomz-560m": "language",
    "hf:bigscience/bloomz-1b1": "language",
    "hf:Qwen/Qwen2-7B": "language",  # these two in their last layers
    "hf:Qwen/Qwen2.5-7B": "language",
    "timm:vit_small_patch14_dinov2.lvd142m": "vision",
    "timm:vit_small_patch16_224.augreg_in21k": "vision",
}
DISPERSED = {  # whose consensus the work on dispersion takes, by objective
    "timm:vit_huge_patch14_224.mae": "MAE",
    "timm:vit_giant_patch14_dinov2.lvd142m": "DINOv2",
    "timm:vit_huge_patch14_clip_224.laion2b": "CLIP",
    "timm:vit_huge_patch14_clip_224.laion2b_ft_in12k": "CLIP fine-tuned",
}


class HubDataset(PaintedDataset):
    """Painted stimuli under the published dataset's id."""

    @property
    def card(self) -> DatasetCard:
        return replace(super().card, source=WIT_SOURCE)


class PlainDataset(PaintedDataset):
    """Painted stimuli of a folder."""

    @property
    def card(self) -> DatasetCard:
        return replace(super().card, source={"kind": "folder", "folder": "/nowhere"})


def coco(size: int) -> PlainDataset:
    return PlainDataset(size, name=COCO, title="COCO")


def wit(size: int) -> HubDataset:
    return HubDataset(size, name=WIT, title="WIT")


def build_published(root: Path, *, size: int = 60) -> Path:
    """Fill a store with both datasets, so many stimuli each, and their models."""
    for dataset in (coco(size), wit(size)):
        add_dataset(root, dataset)
    for spec, modality in PAIRED.items():
        embed(root, coco(size), spec, modality, "supervised")
    for spec, objective in DISPERSED.items():
        embed(root, wit(size), spec, "vision", objective)
    return root


def embed(
    root: Path,
    dataset: PaintedDataset,
    spec: str,
    modality: str,
    objective: str,
    *,
    name: str = "",
    **encoder: str,
) -> None:
    """Add an embedding of a spec, named otherwise or with choices of its encoder where given."""
    name = name or spec.partition(":")[2].rpartition("/")[2]
    seed = sum(map(ord, spec))
    rng = np.random.default_rng(seed)
    reads = modality == "language"
    family, objective = ("BLOOMZ", "language") if reads else ("ViT", objective)
    card = ModelCard(
        name, name, modality, spec, family, objective, 10**7 + seed, name, ("block 1", "block 2")
    )
    layers = [
        dataset.reality + rng.normal(size=dataset.reality.shape).astype(np.float32) / 3
        for _ in card.layers
    ]
    version = VERSIONS["embedding"]
    recipe = Recipe.of("embedding", version=version, model=name, encoder=encoder)
    write_embedding(
        root,
        Embedding(
            dataset=dataset.card,
            card=card,
            level=LEVELS[0] if reads else None,
            layers=layers,
            bits=np.full(dataset.size, seed / 300) if reads else None,
            bytes=np.full(dataset.size, 40.0) if reads else None,
            recipe=recipe,
            device="cpu",
            seconds=0.1,
        ),
    )
