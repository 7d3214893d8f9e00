"""The Cave as a dataset: held-out events with pictures, captions at four densities, all factors,
and reality itself.
"""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float32
from PIL import Image

from core.cave import drawing
from core.cave.captions import LEVELS, describe
from core.cave.events import MAX_OBJECTS, SEED, TEST_SIZE, Event, Thing, events, reality
from core.errors import StimuliError
from core.stimuli.dataset import DatasetCard

_WORDS = {
    "kind": "kind",
    "color": "color",
    "size": "size_class",
    "facing": "facing",
}  # factor → attribute of a thing
_DECIMALS = 6  # of the factors, so that the last bit of a platform's cosine makes no other revision


class CaveDataset:
    """The first `size` events of a split, by default the held-out ones that no model of the Cave
    has met.
    """

    def __init__(self, size: int = TEST_SIZE, split: str = "test") -> None:
        """Raise StimuliError for a size below 1, or above the number of held-out events, as more
        could occur in training.
        """
        if size < 1 or (split == "test" and size > TEST_SIZE):
            raise StimuliError(
                f"the Cave has 1 to {TEST_SIZE} held-out events, not {size}; choose a size in this"
                " range"
            )
        self._split = split
        self._events = tuple(events(split, size))
        self._drawn: dict[int, Image.Image] = {}

    @cached_property
    def card(self) -> DatasetCard:
        size = len(self._events)
        source = {"kind": "cave", "size": size, "split": self._split, "seed": SEED}
        return DatasetCard("cave", "The Cave", self._revision(), source, LEVELS, size)

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        """One row per event: its factors, and those of its things from left to right (missing where
        there are fewer).
        """
        return pd.DataFrame([_row(event) for event in self._events])

    @cached_property
    def captions(self) -> pd.DataFrame:
        rows = [
            (event.index, level, describe(event, level))
            for event in self._events
            for level in LEVELS
        ]
        return pd.DataFrame(rows, columns=["index", "level", "text"])

    @cached_property
    def world(self) -> Float32[np.ndarray, "n dims"]:
        return np.stack([reality(event) for event in self._events]).astype(np.float32)

    def image(self, index: int) -> Image.Image:
        """Return a copy of the drawing; it is kept, since drawing costs more than a small model
        that sees it.
        """
        if index not in self._drawn:
            self._drawn[index] = drawing.draw(self._events[index])
        return self._drawn[index].copy()

    def _revision(self) -> str:
        """Digest factors, captions, reality and, in place of the pictures, the drawing's version:
        drawing all of them would take longer than all else.
        """
        parts = [table.to_csv(index=False).encode() for table in (self.stimuli, self.captions)]
        parts += [np.round(self.world, _DECIMALS - 1).tobytes()]
        parts += [f"drawing {drawing.VERSION}".encode()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _row(event: Event) -> dict[str, str | float | None]:
    row: dict[str, str | float | None] = {
        "stimulus": f"cave-{event.index:04d}",
        "scene": event.scene,
        "time": event.time,
        "weather": event.weather,
        "count": len(event.things),
    }
    for slot in range(MAX_OBJECTS):
        thing = event.things[slot] if slot < len(event.things) else None
        row |= {f"{factor}_{slot + 1}": value for factor, value in _factors(thing).items()}
    return row


def _factors(thing: Thing | None) -> dict[str, str | float | None]:
    words = {name: getattr(thing, attribute, None) for name, attribute in _WORDS.items()}
    numbers = {
        name: round(float(getattr(thing, name, np.nan)), _DECIMALS)
        for name in ("hue", "x", "depth")
    }
    return words | numbers
