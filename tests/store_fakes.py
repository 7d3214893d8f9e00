"""A dataset and an encoder whose every value can be worked out from a stimulus's index."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from PIL import Image

from core.encoders.encoder import Encoding, ModelCard
from core.stimuli.dataset import DatasetCard

LEVELS = ("20", "5")


@dataclass
class CountedDataset:
    """Stimulus i is a plain image of gray i mod 256 with the captions `event i, 20 words` and
    `event i, 5 words`.
    """

    size: int = 20
    name: str = "counted"
    revision: str = "r1"

    @property
    def card(self) -> DatasetCard:
        return DatasetCard(
            self.name,
            "Counted",
            self.revision,
            {"kind": "counted", "size": self.size},
            LEVELS,
            self.size,
        )

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        rows = range(self.size)
        scene, weight = (
            [["sea", None, "hill"][i % 3] for i in rows],
            [float("nan") if i == 4 else i / 2 for i in rows],
        )
        return pd.DataFrame(
            {
                "stimulus": [f"s{i}" for i in rows],
                "scene": scene,
                "count": list(rows),
                "weight": weight,
            }
        )

    @cached_property
    def captions(self) -> pd.DataFrame:
        rows = [
            (i, level, f"event {i}, {level} words") for i in range(self.size) for level in LEVELS
        ]
        return pd.DataFrame(rows, columns=["index", "level", "text"])

    @property
    def reality(self) -> np.ndarray | None:
        return vectors(range(self.size), layer=9)

    def image(self, index: int) -> Image.Image:
        return Image.new("RGB", (320, 160), (index % 256,) * 3)


def vectors(indices: Sequence[int], *, layer: int, dims: int = 8) -> np.ndarray:
    """Return the vectors of stimuli in a layer: a value of each index, layer and dimension that
    float32 holds exactly.
    """
    return (np.asarray(indices)[:, None] * 64 + layer * 16 + np.arange(dims)).astype(np.float32)


def contents(path: Path) -> dict[str, Any]:
    """Return every table of a file, but for when it was made, how long that took and its name."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        ]
        tables = {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
            for name in names
        }
    meta = {
        key: json.loads(value)
        for key, value in tables["meta"]
        if key not in ("name", "seconds", "made_at")
    }
    return tables | {"meta": meta | {"card": meta["card"] | {"name": ""}}}


@dataclass
class CountingEncoder:
    """Finds the index in each item and gives `vectors`; layer 1 also depends on the batch's size,
    as rounding does on a device.
    """

    modality: str = "language"
    name: str = "counting"
    weights: str = "w1"
    layers: int = 3
    delay: float = 0.0
    largest: int = 10_000
    device: str = "cpu"
    pooling: str = "mean"
    prompt: str = ""

    @property
    def card(self) -> ModelCard:
        names = tuple(f"layer {i}" for i in range(self.layers))
        return ModelCard(
            self.name,
            "Counting",
            self.modality,
            f"hf:{self.name}",
            "Count",
            "language",
            7,
            self.weights,
            names,
        )

    @property
    def recipe(self) -> Mapping[str, object]:
        return {"pooling": self.pooling} | ({"prompt": self.prompt} if self.prompt else {})

    def encode(self, items: Sequence[Image.Image] | Sequence[str]) -> Encoding:
        time.sleep(self.delay)
        if len(items) > self.largest:
            raise RuntimeError(f"CUDA out of memory. Tried to allocate {len(items)} items")
        indices = [
            item.getpixel((0, 0))[0] if isinstance(item, Image.Image) else int(item.split()[1][:-1])
            for item in items
        ]
        layers = [vectors(indices, layer=layer, dims=8 + layer) for layer in range(self.layers)]
        layers[-1][:, 0] += np.float32(len(items) / 1024)
        if self.modality == "vision":
            return Encoding(tuple(layers))
        return Encoding(
            tuple(layers), np.array(indices) * 1.5, np.array([float(len(item)) for item in items])
        )
