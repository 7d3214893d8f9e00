"""Every question's command over a store of imports alone, of which nothing is known and some of
which no metric can compare: each answers, or says why it cannot, and names the models left out.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from core.encoders.encoder import IMPORTED, ModelCard
from core.stimuli.dataset import DatasetCard
from core.store import add_dataset
from tests.pages.world import PaintedDataset, _write

SIZE = 60
GOOD = {"vision": 11, "language": 6}
BAD = ("aa-sparse", "ab-constant", "ac-nan", "ad-zero-row", "ae-tied")


class Texts(PaintedDataset):
    """Stimuli of which there are captions alone, in no world."""

    @property
    def card(self) -> DatasetCard:
        source = {"kind": "folder", "path": "/none"}
        return DatasetCard("mine", "Mine", "mine-1", source, ("0",), SIZE, has_images=False)

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        return pd.DataFrame({"stimulus": [f"p{place:03}" for place in range(SIZE)]})

    @property
    def captions(self) -> pd.DataFrame:
        texts = [self._caption(place) for place in range(SIZE)]
        return pd.DataFrame({"index": range(SIZE), "level": "0", "text": texts})

    def _caption(self, place: int) -> str:
        color, scene = ("red", "blue", "green")[place % 3], ("city", "wood")[place % 2]
        return f"a {color} thing number {place} in the {scene}"


def import_only(root: Path) -> Path:
    dataset = Texts(SIZE)
    add_dataset(root, dataset)
    rng = np.random.default_rng(0)
    reality = rng.normal(size=(SIZE, 8))

    def add(name: str, modality: str, features: np.ndarray) -> None:
        about = (modality, f"import:{name}.npy", IMPORTED, "unknown", None, name, ("layer 0",))
        _write(root, dataset, ModelCard(name, name, *about), [features.astype(np.float32)], None)

    for modality, count in GOOD.items():
        for place in range(count):
            noise = rng.normal(size=reality.shape) * (1 + place / count)
            add(f"m-{modality}-{place}", modality, np.hstack([reality + noise, noise]))
    sparse = np.eye(SIZE, 200) + np.eye(SIZE, 200, 1)
    zero, tied = rng.normal(size=(2, SIZE, 8))
    zero[3] = 0
    nan = rng.normal(size=(SIZE, 8))
    nan[5, 2] = np.nan
    made = (sparse, np.ones((SIZE, 8)), nan, zero, np.repeat(tied[:3], SIZE // 3, axis=0))
    for name, features in zip(BAD, made, strict=True):
        for modality in GOOD:
            add(f"{name}-{modality}", modality, features)
    return root
