"""Some stimuli of another dataset, as a dataset of its own: what was measured of these alone is
compared with models over them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float32
from PIL import Image

from core.stimuli.dataset import Dataset, DatasetCard, check_name

SUBSET = "subset"  # in a card's source: {"of": NAME, "revision": of that, "rows": places in it}


def subset_card(whole: DatasetCard, name: str, rows: Sequence[int]) -> DatasetCard:
    """Return the card of some stimuli of a dataset; raises StimuliError for the name."""
    check_name(name)
    chosen = {"of": whole.name, "revision": whole.revision, "rows": [int(row) for row in rows]}
    return replace(
        whole,
        name=name,
        title=f"{whole.title}, {len(rows):,} of {whole.size:,} stimuli",
        revision=hashlib.sha256(repr(chosen).encode()).hexdigest(),
        source={**whole.source, SUBSET: chosen},
        size=len(rows),
    )


def some_captions(captions: pd.DataFrame, rows: Sequence[int]) -> pd.DataFrame:
    """Return the captions of some stimuli, which count anew from 0."""
    places = {row: place for place, row in enumerate(rows)}
    kept = captions[captions["index"].isin(places)]
    return kept.assign(index=kept["index"].map(places)).reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class SubsetDataset:
    """Some stimuli of a dataset that is open."""

    card: DatasetCard
    whole: Dataset

    @property
    def rows(self) -> list[int]:
        rows: list[int] = self.card.source[SUBSET]["rows"]
        return rows

    @property
    def stimuli(self) -> pd.DataFrame:
        return self.whole.stimuli.iloc[self.rows].reset_index(drop=True)

    @property
    def captions(self) -> pd.DataFrame:
        return some_captions(self.whole.captions, self.rows)

    @property
    def world(self) -> Float32[np.ndarray, "n dims"] | None:
        world = self.whole.world
        return None if world is None else world[self.rows]

    def image(self, index: int) -> Image.Image:
        """Return a stimulus's image; see `core.stimuli.dataset.Dataset`."""
        return self.whole.image(self.rows[index])
