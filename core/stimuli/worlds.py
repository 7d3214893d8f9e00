"""Worlds: what a dataset may offer next to its stimuli. A world knows the event behind each
stimulus and can draw new ones. A new world is a module with a `WORLD`, and a line of `_MODULES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float64, Int64, UInt8
from PIL.Image import Image

from core.files.texts import Json
from core.modalities import Item
from core.progress import Progress
from core.recipe import Plain

if TYPE_CHECKING:
    from core.stimuli.dataset import Dataset, DatasetCard

_MODULES = {"cave": "core.cave.world"}  # by kind of source; worlds lie above this package
Event = Any  # what is the case; only its own world looks inside
Verdict = Literal["possible", "impossible", "no caption"]
Pictures = dict[str, UInt8[np.ndarray, "_ side side 3"]]  # by style


@dataclass(frozen=True)
class Task:
    """A question with few answers about an event, or about how it is drawn in a style."""

    name: str
    group: str
    classes: tuple[str, ...]
    style: str = "plain"


@dataclass(frozen=True)
class Choice:
    """An exam's item: a text about a test event, and endings, each with the space before it; the
    one at `answer` is right.
    """

    exam: str
    event: int
    context: str
    endings: tuple[str, ...]
    answer: int


@dataclass(frozen=True)
class Judged:
    """The first caption of a text (the whole text if it begins with none), whether any event can be
    so, and why not.
    """

    text: str
    verdict: Verdict
    why: str = ""


@runtime_checkable  # tests check arguments against it
class World(Protocol):
    """A world whose events are known.

    levels: caption levels, the default first. test_size: events that its models never saw.
    trained_on: how many they saw in pictures, and read of. factors: questions about an event, with
    their answers. colors: the words of each color. nouns: for each kind of thing those that mean it
    alone, with their article. exams: how many items each has.
    """

    seed: int
    levels: tuple[str, ...]
    test_size: int
    trained_on: Mapping[Item, int]
    factors: Mapping[str, tuple[str, ...]]
    colors: Mapping[str, tuple[str, ...]]
    nouns: Mapping[str, tuple[str, ...]]
    exams: Mapping[str, int]
    melody_version: int

    def __hash__(self) -> int: ...

    def open(self, source: Plain) -> Dataset:
        """Open the dataset that a card's source describes."""

    def sample(self, split: str, count: int) -> list[Event]:
        """Return the first events of a split: "test", or any other name for events that share
        nothing with it.
        """

    def behind(self, card: DatasetCard, rows: Iterable[int] | None = None) -> list[Event]:
        """Return the events behind stimuli of a dataset, all by default."""

    def render(self, event: Event, *, size: int = 224) -> Image:
        """Draw an event."""

    def caption(self, event: Event, level: str, *, variant: str = "") -> str:
        """Describe an event; another way for each variant."""

    def melody(self, event: Event) -> str:
        """Return an event's melody as text."""

    def roll(self, event: Event, *, ink: str, grid: str) -> tuple[str, str]:
        """Return an event's melody as a piano roll in SVG and in words."""

    def answers(self, event: Event) -> UInt8[np.ndarray, " factors"]:
        """Return the answer to each of `factors`, as the place among its answers."""

    def nuisances(
        self, events: Sequence[Event], modality: str, level: str | None
    ) -> Mapping[str, Sequence[object]]:
        """Return what a model of a modality reads that does not depend on the events."""

    def told(self, event: Event, text: str) -> float:
        """Return the share of an event's facts in a text, 0 to 1."""

    def judge(self, text: str) -> Judged:
        """Return whether an event can be so as the first caption of a text says."""

    def color_law(self, kind: str) -> Float64[np.ndarray, " colors"]:
        """Return the probability of each of `colors` among things of a kind."""

    def probes(self) -> list[Event]:
        """Return the events that tasks are asked about; a style may show some of the first."""

    def tasks(self, reads: str | None) -> Sequence[Task]:
        """Return what is asked of models that read pictures or melodies."""

    def labels(self, task: Task, count: int) -> Int64[np.ndarray, " n"]:
        """Return the classes of a task over the first events of `probes`."""

    def pictures(self, *, jobs: int | None = None, report: Progress | None = None) -> Pictures:
        """Draw the events of `probes` in each style, in so many processes."""

    def items(self, exam: str) -> Sequence[Choice]:
        """Return the items of an exam."""

    def suite(self, reads: str | None) -> Json:
        """Return what models that read this are asked, as plain data: the names of `tasks`, the
        number of `samples` of each style or exam, and the version of the `questions`.
        """


@cache
def find_world(kind: str) -> World | None:
    """Return the world that datasets of a kind are drawn from, None if there is none."""
    return cast(World, import_module(_MODULES[kind]).WORLD) if kind in _MODULES else None


def the_cave() -> World:
    """Return the world that comes with the project, whose tasks and exams measure models."""
    return cast(World, find_world("cave"))
