"""What a supervised model is asked about an image: facts of its event, each as one class among a
few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from core.stimuli.cave.events import (
    COLORS,
    KINDS,
    MAX_OBJECTS,
    SCENES,
    SIZES,
    TIMES,
    WEATHERS,
    Event,
    Thing,
)

THIRDS = ("first", "second", "third")
TURNS = ("left", "right")
COUNTS = tuple(str(count) for count in range(1, MAX_OBJECTS + 1))


@dataclass(frozen=True)
class Attribute:
    """One question about an event: its classes and how the answer is read off."""

    name: str
    classes: tuple[str, ...]
    read: Callable[[Event], str]


def leftmost(event: Event) -> Thing:
    """Return the thing with the smallest x."""
    return event.things[0]


def rightmost(event: Event) -> Thing:
    """Return the thing with the largest x."""
    return event.things[-1]


def nearest(event: Event) -> Thing:
    """Return the thing with the smallest depth."""
    return min(event.things, key=lambda thing: thing.depth)


def largest(event: Event) -> Thing:
    """Return the thing of the largest size."""
    return max(event.things, key=lambda thing: thing.size)


def _third(value: float) -> str:
    return THIRDS[min(int(value * 3), 2)]


def _presence(kind: str) -> Attribute:
    return Attribute(
        f"has {kind}",
        ("no", "yes"),
        lambda event: "yes" if any(t.kind == kind for t in event.things) else "no",
    )


ATTRIBUTES = (
    Attribute("scene", SCENES, lambda event: event.scene),
    Attribute("largest kind", KINDS, lambda event: largest(event).kind),
    Attribute("time", TIMES, lambda event: event.time),
    Attribute("largest color", COLORS, lambda event: largest(event).color),
    Attribute("count", COUNTS, lambda event: str(len(event.things))),
    Attribute("weather", WEATHERS, lambda event: event.weather),
    Attribute("nearest kind", KINDS, lambda event: nearest(event).kind),
    Attribute("nearest color", COLORS, lambda event: nearest(event).color),
    Attribute("leftmost kind", KINDS, lambda event: leftmost(event).kind),
    Attribute("leftmost color", COLORS, lambda event: leftmost(event).color),
    Attribute("rightmost kind", KINDS, lambda event: rightmost(event).kind),
    Attribute("rightmost color", COLORS, lambda event: rightmost(event).color),
    Attribute("largest facing", TURNS, lambda event: largest(event).facing),
    Attribute("nearest size", SIZES, lambda event: nearest(event).size_class),
    Attribute("largest place", THIRDS, lambda event: _third(largest(event).x)),
    Attribute("leftmost distance", THIRDS, lambda event: _third(leftmost(event).depth)),
    *(_presence(kind) for kind in KINDS),
)


def answers(event: Event) -> UInt8[np.ndarray, "tasks"]:
    """Return the class of every attribute, in order."""
    return np.array([each.classes.index(each.read(event)) for each in ATTRIBUTES], dtype=np.uint8)
