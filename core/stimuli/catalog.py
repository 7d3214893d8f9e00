"""Opens a dataset again from its card, and checks that it is the same one; a subset of a dataset is
a dataset of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float32
from PIL import Image

from core.errors import StimuliError, UnknownNameError
from core.stimuli.dataset import Dataset, DatasetCard, check_name
from core.stimuli.worlds import find_world

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
    """Return the captions of some stimuli, which count again from 0."""
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
    def reality(self) -> Float32[np.ndarray, "n dims"] | None:
        reality = self.whole.reality
        return None if reality is None else reality[self.rows]

    def image(self, index: int) -> Image.Image:
        return self.whole.image(self.rows[index])


def open_dataset(card: DatasetCard) -> Dataset:
    """Open the dataset that a card describes; raise UnknownNameError for an unknown kind of source,
    and StimuliError if its captions, factors or images have changed.
    """
    if chosen := card.source.get(SUBSET):
        rest = {key: value for key, value in card.source.items() if key != SUBSET}
        of = replace(card, name=chosen["of"], source=rest, revision=chosen["revision"])
        return SubsetDataset(card, open_dataset(of))
    choices = dict(card.source)
    kind = str(choices.pop("kind", None))
    dataset: Dataset
    if world := find_world(kind):
        dataset = world.open(card.source)
    elif kind == "folder":
        from core.stimuli.folder import open_folder

        choices.pop("split", None)  # of an older store
        folder = Path(choices.pop("folder"))
        dataset = open_folder(folder, name=card.name, **choices)
    elif kind == "hub":
        from core.stimuli.hub import open_hub

        dataset = open_hub(name=card.name, **choices)
    else:
        raise UnknownNameError("kind of dataset", kind, ("folder", "hub"))
    if dataset.card.revision != card.revision:
        raise StimuliError(
            f"dataset {card.name!r} has changed: its revision was {card.revision[:12]} and is now"
            f" {dataset.card.revision[:12]}; put the old captions and images back, or add what"
            " there is now under a new name"
        )
    return dataset
