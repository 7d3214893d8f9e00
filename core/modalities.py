"""What kinds of models there are: a modality says what its models read and how they are drawn.

Any further name is a modality too: one of models whose features are made elsewhere. A record in
MODALITIES gives it words, a symbol and a grouping of its own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal

from core.errors import InputError, UnknownNameError

Item = Literal["image", "caption", "melody"]  # what an encoder reads of a stimulus
Grouping = Literal["objective", "family", "size", "own"]


@dataclass(frozen=True)
class Modality:
    """A kind of model.

    symbol: Plotly's marker. reads: what its encoders read of a stimulus, None if features can only
    be imported. grouping: which models share a hue. codes_text: whether its models may have bits
    per byte. is_reality: known factors rather than a model. is_measured: brains and people, which
    compete with no model. example: the spec of a usual model, for hints.
    """

    name: str
    title: str
    plural: str
    symbol: str
    reads: Item | None = None
    grouping: Grouping = "own"
    codes_text: bool = False
    is_reality: bool = False
    is_measured: bool = False
    example: str = ""


VISION = Modality(
    "vision",
    "vision model",
    "vision models",
    "square",
    reads="image",
    grouping="objective",
    example="timm:vit_small_patch16_224",
)
LANGUAGE = Modality(
    "language",
    "language model",
    "language models",
    "circle",
    reads="caption",
    grouping="family",
    codes_text=True,
    example="hf:gpt2",
)
MUSIC = Modality(
    "music",
    "music model",
    "music models",
    "triangle-up",
    reads="melody",
    grouping="objective",
    example="hf:data/cave/note-gpt2-s",
)
WORLD = Modality("world", "world model", "world models", "star", is_reality=True)

BRAIN = Modality("brain", "brain", "brains", "diamond", is_measured=True)
PEOPLE = Modality("people", "group of people", "groups of people", "hexagon", is_measured=True)

# in the order in which people are shown them
MODALITIES: dict[str, Modality] = {
    one.name: one for one in (VISION, LANGUAGE, MUSIC, WORLD, BRAIN, PEOPLE)
}
FURTHER = (
    "pentagon",
    "triangle-down",
    "cross",
    "hexagram",
)  # symbols of modalities without a record
NAME = re.compile(r"[a-z][a-z0-9 -]{0,29}")
CLOSE = 0.8  # of two spellings, from 0 to 1, so that the one is taken for a slip of the other


def find_modality(name: str) -> Modality:
    """Return a modality by its name: its record, or if it has none, what its name says."""
    return MODALITIES.get(name) or _named(name)


@lru_cache(maxsize=64)
def _named(name: str) -> Modality:
    symbol = FURTHER[zlib.crc32(name.encode()) % len(FURTHER)]
    return Modality(name, f"{name} model", f"{name} models", symbol)


def find_reading(name: str) -> Modality:
    """Return a modality with encoders by its name; raise UnknownNameError."""
    reading = {one.name: one for one in MODALITIES.values() if one.reads}
    if name not in reading:
        raise UnknownNameError("modality", name, list(reading))
    return reading[name]


def check_modality(name: str) -> None:
    """Refuse what cannot be the modality of imported features.

    Raises UnknownNameError for reality and for a slip of a known name, InputError for other
    characters than lower-case letters, digits, spaces and hyphens.
    """
    names = [one.name for one in MODALITIES.values() if not one.is_reality]
    if name in names:
        return
    if name in MODALITIES or get_close_matches(name, names, 1, CLOSE):
        raise UnknownNameError("modality", name, names)
    if not NAME.fullmatch(name):
        raise InputError(
            f"expected a modality of 1 to 30 lower-case letters, digits, spaces or hyphens, such as"
            f" brain or audio; got {name!r}"
        )


def known_first(names: Iterable[str]) -> list[str]:
    """Return the names of modalities, each once: those with a record in its order, then the others
    by name.
    """
    order = list(MODALITIES)
    return sorted(
        set(names), key=lambda name: (order.index(name) if name in order else len(order), name)
    )


def reader_of(item: Item) -> Modality:
    """Return the first modality with models that read this of a stimulus."""
    return next(one for one in MODALITIES.values() if one.reads == item)
