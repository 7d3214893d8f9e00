"""What kinds of models there are: a modality says what its models read and how they are drawn.

A further modality is one more record in MODALITIES; `platoscope import` takes it from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.errors import UnknownNameError

Item = Literal["image", "caption", "melody"]  # what an encoder reads of a stimulus
Grouping = Literal["objective", "family", "size", "own"]


@dataclass(frozen=True)
class Modality:
    """A kind of model.

    name: in the store and on the command line. title, plural: for people. symbol: Plotly's marker.
    reads: what its encoders read of a stimulus, None where features can only be imported. grouping:
    which models share a hue: those of one objective, of one family, or none (each has its own).
    codes_text: whether its models may code captions, so that they have bits per byte. is_reality:
    known factors rather than a model. example: the spec of a usual model, for hints.
    """

    name: str
    title: str
    plural: str
    symbol: str
    reads: Item | None = None
    grouping: Grouping = "own"
    codes_text: bool = False
    is_reality: bool = False
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

# in the order in which people are shown them
MODALITIES: dict[str, Modality] = {one.name: one for one in (VISION, LANGUAGE, MUSIC, WORLD)}


def find_modality(name: str) -> Modality:
    """Return a modality by its name; raises UnknownNameError."""
    if name not in MODALITIES:
        raise UnknownNameError("modality", name, MODALITIES)
    return MODALITIES[name]


def reader_of(item: Item) -> Modality:
    """Return the first modality whose models read this of a stimulus."""
    return next(one for one in MODALITIES.values() if one.reads == item)
