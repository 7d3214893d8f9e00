"""The Cave behind the interface of worlds, and its stimuli as a dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int64
from PIL import Image

from core.cave import drawing, exams, melodies, tasks
from core.cave.captions import DENSITIES, LEVELS, WORDINGS, describe, frame_of, with_article
from core.cave.events import (
    COLORS,
    DESCRIBED,
    DRAWN,
    KINDS,
    MAX_OBJECTS,
    SEED,
    TEST_SIZE,
    Event,
    color_law,
    draw_event,
    event_rng,
    events,
    reality,
)
from core.cave.exams import own_wordings
from core.cave.reading import judge, share_told
from core.errors import StimuliError
from core.modalities import Item
from core.progress import Progress
from core.stimuli.dataset import DatasetCard
from core.stimuli.worlds import Choice, Pictures, Task, World

_DECIMALS = 6  # of the factors, so that the last bit of a platform's cosine makes no other revision
QUARTER = 90.0  # degrees of the hue circle, of one class of palettes


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
        """One row per event: its factors, and those of its things from left to right (missing if
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
    def reality(self) -> Float32[np.ndarray, "n dims"]:
        return np.stack([reality(event) for event in self._events]).astype(np.float32)

    def image(self, index: int) -> Image.Image:
        """Return a copy of the drawing; it is kept, since drawing costs more than a small model
        that sees it.
        """
        if index not in self._drawn:
            self._drawn[index] = drawing.draw(self._events[index])
        return self._drawn[index].copy()

    def _revision(self) -> str:
        parts = [table.to_csv(index=False).encode() for table in (self.stimuli, self.captions)]
        parts += [np.round(self.reality, _DECIMALS - 1).tobytes()]
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
        words = {"kind": "kind", "color": "color", "size": "size_class", "facing": "facing"}
        for factor, attribute in words.items():
            row[f"{factor}_{slot + 1}"] = getattr(thing, attribute, None)
        for name in ("hue", "x", "depth"):
            row[f"{name}_{slot + 1}"] = round(float(getattr(thing, name, np.nan)), _DECIMALS)
    return row


class Cave:
    """The Cave as a `World`."""

    seed = SEED
    levels: tuple[str, ...] = LEVELS
    test_size = TEST_SIZE
    trained_on: Mapping[Item, int] = {"image": DRAWN, "caption": DESCRIBED}
    factors = tasks.FACTORS
    colors: Mapping[str, tuple[str, ...]] = {color: WORDINGS[color] for color in COLORS}
    nouns: Mapping[str, tuple[str, ...]] = {
        kind: tuple(map(with_article, own_wordings(kind, KINDS))) for kind in KINDS
    }
    exams: Mapping[str, int] = exams.SIZES
    melody_version = melodies.VERSION
    answers = staticmethod(tasks.answers)
    told = staticmethod(share_told)
    judge = staticmethod(judge)
    color_law = staticmethod(color_law)

    def open(self, source: Mapping[str, Any]) -> CaveDataset:
        return CaveDataset(size=source["size"])  # of another seed, the revision tells

    def sample(self, split: str, count: int) -> list[Event]:
        return list(events(split, count))

    def behind(self, card: DatasetCard, rows: Iterable[int] | None = None) -> list[Event]:
        split = str(card.source.get("split", "test"))
        return [draw_event(split, int(row)) for row in (range(card.size) if rows is None else rows)]

    def render(self, event: Event, *, size: int = 224) -> Image.Image:
        return drawing.draw(event, size=size)

    def caption(self, event: Event, level: str, *, variant: str = "") -> str:
        return describe(event, level, rng=event_rng(event, purpose=variant) if variant else None)

    def melody(self, event: Event) -> str:
        return melodies.write(melodies.sing(event))

    def roll(self, event: Event, *, ink: str, grid: str) -> tuple[str, str]:
        melody = melodies.sing(event)
        return melodies.draw_roll(melody, ink=ink, grid=grid), melodies.describe_roll(melody)

    def nuisances(
        self, events: Sequence[Event], modality: str, level: str | None
    ) -> Mapping[str, Sequence[object]]:
        """Of pictures: palette (the quarter of the hue circle that the sky's hue lies in), light
        (the corner from which it falls) and texture. Of captions: wording (the sentence's frame).
        """
        if modality == "vision":
            looks = [tasks.look_of(event) for event in events]
            return {
                "palette": [int(look.palette["sky"][2] % 360 // QUARTER) for look in looks],
                "light": [2 * (look.light[0] > 0) + (look.light[1] > 0) for look in looks],
                "texture": [look.texture for look in looks],
            }
        if modality == "language" and level is not None and level in DENSITIES:
            return {"wording": [frame_of(event, level) for event in events]}
        return {}

    def probes(self) -> list[Event]:
        return self.sample(tasks.SPLIT, max(tasks.SAMPLES.values()))

    def tasks(self, reads: str | None) -> Sequence[Task]:
        return {"image": tasks.TASKS, "melody": tasks.SUNG}.get(str(reads), ())

    def labels(self, task: Task, count: int) -> Int64[np.ndarray, " n"]:
        return tasks.labels(task, _seen(count))

    def pictures(self, *, jobs: int | None = None, report: Progress | None = None) -> Pictures:
        return tasks.draw_pictures(tasks.SAMPLES, jobs=jobs, report=report)

    def items(self, exam: str) -> Sequence[Choice]:
        return exams.items(exam)

    def suite(self, reads: str | None) -> dict[str, Any]:
        if reads not in ("image", "melody"):
            names, samples = ["bits per byte", *exams.SIZES], dict(exams.SIZES)
            return {"tasks": names, "samples": samples, "questions": exams.VERSION}
        names, samples = [task.name for task in self.tasks(reads)], dict(tasks.SAMPLES)
        if reads == "image":
            return {"tasks": names, "samples": samples, "questions": tasks.VERSION}
        versions = {"questions": tasks.VERSION, "melodies": melodies.VERSION}
        return {"tasks": names, "samples": {"plain": samples["plain"]}, **versions}


@cache
def _seen(count: int) -> tuple[tuple[Event, drawing.Look], ...]:
    return tuple((event, tasks.look_of(event)) for event in events(tasks.SPLIT, count))


WORLD: World = Cave()
