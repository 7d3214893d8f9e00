"""Whether what a model writes behind an image is in the image: things that a caption names, among
those of the event.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from core.cave.reading import judge, readings


class Named(NamedTuple):
    """Noun phrases of a caption; there: those that an event has a thing of."""

    phrases: int
    there: int


def count_named(caption: str, kinds: Collection[str]) -> Named:
    """Return how many noun phrases a caption of the Cave has, and how many name a kind of thing
    that is among `kinds`; none of a text that is no caption.
    """
    first = next(readings(caption), None)
    if first is None:
        return Named(0, 0)
    there = sum(not phrase.kinds.isdisjoint(kinds) for phrase in first.phrases)
    return Named(len(first.phrases), there)


def first_caption(text: str) -> str:
    """Return the first caption of the Cave in a text, the whole text where it begins with none."""
    return judge(text.strip()).text
