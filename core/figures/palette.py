"""Which color a group of models has: a hue for each modality, with shades for its objectives or
families, the same in the light and the dark theme.

Within a dataset groups take shades in the order in which they came, so that a further model changes
no color; beyond the shades the marks change, too. Shades have contrast 3 or more with both papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from zlib import crc32

SHADES: Mapping[str, tuple[str, ...]] = {
    "vision": ("#BF4F04", "#AE8A0D", "#C24643", "#915C08", "#DC692E", "#E0615C"),
    "language": ("#2B64C3", "#138DB1", "#877DEB", "#0E7492", "#528DEF", "#6356BF"),
    "music": ("#9F75E1", "#CD63AD", "#865BC4", "#BA457B", "#B36DD1", "#9853B5"),
}
FURTHER = ("#118B65", "#088690", "#31983D", "#007C59", "#0F919C", "#097F23")  # other modalities
UNTRAINED = "#7C828A"
CATEGORIES = tuple(  # ten colors of what is no group of models
    shade for rank in zip(*SHADES.values(), FURTHER, strict=True) for shade in rank
)[:10]
_MARKS = ("", "-dot", "-open-dot")  # what a symbol becomes each time the shades are used up
_GRAY = ("untrained", "random")
REALITY = ("reality", "world")  # has the color of ink


@dataclass(frozen=True)
class Look:
    """How a group is drawn: its color, and what its mark has besides the modality's symbol."""

    hue: str
    mark: str = ""


_SHOWN: ContextVar[Mapping[str, Look]] = ContextVar("looks", default={})  # noqa: B039 - never changed


def show(looks: Mapping[str, Look]) -> None:
    """Draw the groups of a dataset so, in this thread, until another dataset is shown."""
    _SHOWN.set(looks)


def shown() -> Mapping[str, Look]:
    """Return the looks of the dataset that is shown in this thread."""
    return _SHOWN.get()


def look_of(name: str) -> Look:
    """Return how an objective, family or modality is drawn: as its dataset has it; outside of any
    dataset in a fixed color.
    """
    key = _key(name)
    if _is_gray(key) or key in SHADES:
        return Look(UNTRAINED if _is_gray(key) else modality_hue(key))
    every = [*(shade for shades in SHADES.values() for shade in shades), *FURTHER]
    return shown().get(key) or Look(every[crc32(key.encode()) % len(every)])


def assign(groups: Iterable[tuple[str, str, str]]) -> dict[str, Look]:
    """Give each group of a dataset a look of its own.

    groups: name, modality, and what its models have in common, such as "objective", in the order in
    which they came; those of a modality that have the same in common share its shades.
    """
    looks: dict[str, Look] = {}
    counts: dict[tuple[str, str], int] = {}
    for name, modality, kind in groups:
        key = _key(name)
        if key in looks or _is_gray(key) or key in REALITY:
            continue
        shades, count = SHADES.get(modality, FURTHER), counts.get((modality, kind), 0)
        turn, place = divmod(count, len(shades))
        looks[key] = Look(shades[place], _MARKS[min(turn, len(_MARKS) - 1)])
        counts[modality, kind] = count + 1
    return looks


def _is_gray(key: str) -> bool:
    return any(word in key for word in _GRAY)


def _key(name: str) -> str:
    """Return the name without what follows a comma: a part of a group has the group's look."""
    return name.partition(",")[0].lower()


def modality_hue(name: str) -> str:
    """Return the color of a modality; all without one of their own share the fourth."""
    return SHADES.get(name, FURTHER)[0]
