"""A small world whose models are known: better ones keep more of reality and less noise of their
own.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from core.encoders.encoder import ModelCard
from core.recipe import Recipe
from core.stimuli.dataset import DatasetCard
from core.store import Embedding, add_dataset, write_embedding
from core.store.schema import VERSIONS

LEVELS = ("20", "5", "10", "40")
SCENES, COLORS = ("city", "forest", "beach"), ("crimson", "seagreen", "royalblue", "goldenrod")
NASTY = "<img src=x onerror=alert(1)> **bold** [link](http://example.com) $x^2$ :red[text]"
VISION = (
    ("MAE", "s", 0.5),
    ("MAE", "m", 0.7),
    ("CLIP", "s", 0.7),
    ("CLIP", "m", 0.9),
    ("supervised", "s", 0.6),
    ("untrained", "s", 0.0),
)
LANGUAGE = (
    ("GPT-2", "xs", 0.2),
    ("GPT-2", "s", 0.5),
    ("GPT-2", "m", 0.8),
    ("LLaMA", "s", 0.6),
    ("LLaMA", "m", 0.9),
    ("BLOOM", "s", 0.4),
)
SMALL = {"vision": VISION[1:4], "language": LANGUAGE[:3]}
PARAMETERS = {"xs": 60_000, "s": 250_000, "m": 1_100_000}
MADE: list[Path] = []  # temporary folders, removed when the process has run its last test


class PaintedDataset:
    """Stimulus i is a colored disk in a scene; caption 1 holds markup that must be shown as it
    is.
    """

    def __init__(self, size: int = 60, *, name: str = "cave", title: str = "The Cave") -> None:
        self.size, self.name, self.title = size, name, title
        self._rng = np.random.default_rng(size)
        self.places = self._rng.random((size, 2))

    @property
    def card(self) -> DatasetCard:
        return DatasetCard(
            self.name,
            self.title,
            f"painted-{self.size}",
            {"kind": "cave", "size": self.size},
            LEVELS,
            self.size,
        )

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        scenes = [SCENES[i % 3] for i in range(self.size)]
        colors = [COLORS[i % 4] for i in range(self.size)]
        names = [f"event {i}" for i in range(self.size)]
        return pd.DataFrame(
            {
                "stimulus": names,
                "scene": scenes,
                "thing_color": colors,
                "count": [i % 4 + 1 for i in range(self.size)],
            }
        )

    @property
    def captions(self) -> pd.DataFrame:
        rows = [(i, level, self._caption(i, level)) for i in range(self.size) for level in LEVELS]
        return pd.DataFrame(rows, columns=["index", "level", "text"])

    def _caption(self, index: int, level: str) -> str:
        event = self.stimuli.iloc[index]
        text = (
            f"a {event['thing_color']} disk above the {event['scene']}, event {index}"
            + ", still" * (int(level) // 8)
        )
        return f"{text} {NASTY}" if index == 1 else text

    @property
    def reality(self) -> np.ndarray:
        columns = [
            self.places,
            np.eye(3)[np.arange(self.size) % 3],
            np.eye(4)[np.arange(self.size) % 4],
        ]
        return np.hstack(columns).astype(np.float32)

    def image(self, index: int) -> Image.Image:
        image = Image.new("RGB", (224, 224), ("lightsteelblue", "honeydew", "moccasin")[index % 3])
        x, y = self.places[index] * 140
        draw = ImageDraw.Draw(image)
        draw.rectangle(
            (0, 150, 224, 224), fill=("slategray", "darkolivegreen", "burlywood")[index % 3]
        )
        draw.ellipse((x, y, x + 80, y + 80), fill=COLORS[index % 4])
        return image


def build(
    root: Path,
    dataset: PaintedDataset,
    *,
    vision: Sequence = VISION,
    language: Sequence = LANGUAGE,
    reality: bool = True,
    seeds: int = 1,
) -> Path:
    """Fill a store: the dataset, its models, each trained from so many seeds, and reality.

    What a process has filled once it copies.
    """
    if type(dataset) is not PaintedDataset:
        return _fill(root, dataset, vision, language, reality, seeds)
    given = (dataset.size, dataset.name, dataset.title)
    filled = _filled(given, tuple(vision), tuple(language), reality, seeds)
    shutil.copytree(filled, root, dirs_exist_ok=True)
    return root


@cache
def _filled(given, vision, language, reality, seeds) -> Path:
    size, name, title = given
    root = Path(mkdtemp(prefix="platoscope-world-"))
    MADE.append(root)
    dataset = PaintedDataset(size, name=name, title=title)
    return _fill(root, dataset, vision, language, reality, seeds)


def _fill(root, dataset, vision, language, reality, seeds) -> Path:
    add_dataset(root, dataset)
    for objective, size, skill in vision:
        name, title = f"vit-{objective.lower()}-{size}", f"ViT {size.upper()} · {objective}"
        card = _card(name, title, "vision", "ViT", objective, size)
        _embed_seeds(root, dataset, card, skill, seeds)
    for family, size, skill in language:
        name, title = f"{family.lower()}-{size}", f"{family} {size.upper()}"
        card = _card(name, title, "language", family, "language", size)
        _embed_seeds(root, dataset, card, skill, seeds)
    if reality:
        card = ModelCard(
            "reality",
            "Reality",
            "world",
            "world:reality",
            "world",
            "reality",
            None,
            "w",
            ("factors",),
        )
        _write(root, dataset, card, [dataset.reality], None)
    return root


def add_features(
    root: Path,
    dataset: PaintedDataset,
    features: np.ndarray,
    *,
    title: str,
    name: str = "own",
    modality: str = "vision",
) -> None:
    """Add features of a dataset's stimuli as a model of one layer."""
    card = ModelCard(name, title, modality, f"import:{name}", "own", "own", None, "w", ("0",))
    _write(root, dataset, card, [features], None)


def _card(name, title, modality, family, objective, size) -> ModelCard:
    layers = ("embedding", "block 1", "block 2", "block 3")
    return ModelCard(
        name, title, modality, f"hf:{name}", family, objective, PARAMETERS[size], name, layers
    )


def _embed_seeds(root, dataset, card, skill, seeds) -> None:
    _embed(root, dataset, card, skill)
    for seed in range(1, seeds):
        name = f"{card.name}-seed{seed}"
        config = {"name": name, "seed": seed, "objective": card.objective, "steps": 1}
        training = {"steps": 1, "config": config}
        title = f"{card.title} · seed {seed}"
        _embed(root, dataset, replace(card, name=name, title=title, training=training), skill)


def _embed(root, dataset, card, skill) -> None:
    rng = np.random.default_rng(sum(map(ord, card.name)))
    noise = rng.normal(size=(4, dataset.size, 9)).astype(np.float32) / 3
    layers = [
        dataset.reality * skill * part + noise[i] * (1.02 - skill * part)
        for i, part in enumerate((0.0, 0.5, 1.0, 0.8))
    ]
    bits = (
        np.full(dataset.size, 20.0 * (1.0 - skill / 2))
        if card.modality == "language" and card.family != "RoBERTa"
        else None
    )
    _write(root, dataset, card, layers, bits)


def _write(root, dataset, card, layers, bits) -> None:
    write_embedding(
        root,
        Embedding(
            dataset=dataset.card,
            card=card,
            level=None if card.modality != "language" else LEVELS[0],
            layers=layers,
            bits=bits,
            bytes=None if bits is None else np.full(dataset.size, 40.0),
            recipe=Recipe.of("embedding", version=VERSIONS["embedding"], model=card.weights),
            device="cpu",
            seconds=0.1,
        ),
    )
