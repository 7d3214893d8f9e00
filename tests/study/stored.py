"""Models of random layers, put into a store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core.encoders.encoder import ModelCard
from core.recipe import Recipe
from core.store import Embedding, write_embedding
from core.store.schema import VERSIONS
from tests.store_fakes import CountedDataset

SIZE = 130  # above the neighbors that are kept
MODALITIES = {"ape": "language", "bee": "vision", "cat": "vision", "reality": "world"}


def layers_of(seed: int, widths: tuple[int, ...] = (5, 9), n: int = SIZE) -> list[np.ndarray]:
    shared = np.random.default_rng(99).standard_normal((n, 4))
    rng = np.random.default_rng(seed)
    return [
        (shared @ rng.standard_normal((4, d)) + rng.standard_normal((n, d)) ** 3).astype(np.float32)
        for d in widths
    ]


def put(
    root: Path,
    name: str,
    layers: list[np.ndarray],
    *,
    version: int = 1,
    costs: tuple | None = None,
    n: int = SIZE,
) -> None:
    bits, bytes_ = (np.array(values, dtype=float) for values in costs) if costs else (None, None)
    names = tuple(f"layer {i}" for i in range(len(layers)))
    card = ModelCard(
        name, name.title(), MODALITIES[name], f"import:{name}", "F", "o", None, f"w{version}", names
    )
    recipe = Recipe.of(
        "embedding", version=VERSIONS["embedding"], model=name, weights=f"w{version}"
    )
    write_embedding(
        root,
        Embedding(
            dataset=CountedDataset(n).card,
            card=card,
            level=None,
            layers=layers,
            bits=bits,
            bytes=bytes_,
            recipe=recipe,
            device="cpu",
            seconds=0.0,
        ),
    )
