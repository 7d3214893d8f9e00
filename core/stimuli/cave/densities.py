"""How much a caption of the Cave says: four densities, and the frames of their sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LEVELS = ("20", "5", "10", "40")  # about that many words; the default first


@dataclass(frozen=True)
class Density:
    """How much a caption says.

    words: least and most words. aim: range of the length up to which relations and details are
    added. things: most things named. related: probability that two neighbors in a list are bound by
    a relation. again: whether a thing is named a second time. details: what is said of a thing, in
    this order; those of one tuple in any order. frames: sentences whose slots take wordings; each
    is as likely.
    """

    words: tuple[int, int]
    aim: tuple[float, float]
    things: int
    related: float
    again: bool
    details: tuple[tuple[str, ...], ...]
    frames: tuple[str, ...]


DENSITIES: Mapping[str, Density] = {
    "5": Density(
        (3, 7),
        (3.0, 6.0),
        2,
        0.3,
        False,
        (("color",), ("size",)),
        (
            "{things}.",
            "{things} {scene}.",
            "{scene}, {things}.",
            "{things} {time}.",
            "{time}, {things}.",
            "{things} {weather}.",
            "{weather}, {things}.",
            "There {be} {things}.",
            "{see} {things}.",
            "{count} {scene}.",
        ),
    ),
    "10": Density(
        (8, 13),
        (8.0, 11.0),
        3,
        0.3,
        False,
        (("color",), ("size", "facing", "place", "depth")),
        (
            "{things} {wait} {scene}.",
            "{scene}, {see} {things}.",
            "There {be} {things} {scene}.",
            "{scene} {wait} {things}.",
            "{see} {things} {scene}.",
            "{show} {things}.",
            "{scene} there {be} {things}.",
            "{time}, {see} {things}.",
            "{weather}, {things} {wait}.",
            "{count} {wait_all} {scene} {time} {weather}.",
            "{time}, {weather}, {see} {count} {scene}.",
        ),
    ),
    "20": Density(
        (16, 25),
        (18.5, 21.5),
        4,
        0.4,
        False,
        (("color",), ("size", "facing", "place", "depth")),
        (
            "{things} {wait} {scene} {time}.",
            "{scene}, {see} {things} {weather}.",
            "{time}, there {be} {things} {scene}.",
            "{weather}, {scene}, {see} {things}.",
            "{time} {scene} {wait} {things}.",
            "{show} {things} {scene} {weather}.",
            "{see} {things} {time}, {scene}.",
            "{count} {wait_all} {scene} {time}: {things}.",
            "{scene} {weather}, {things} {wait}.",
            "There {be} {things}, and {they} {scene} {time}.",
            "{weather}, {show} {count} {scene}: {things}.",
        ),
    ),
    "40": Density(
        (33, 48),
        (34.5, 38.5),
        4,
        0.85,
        True,
        (("color", "size"), ("facing", "place", "depth")),
        (
            "{show} {count} {scene}. {time}, {weather}, {see} {things}.",
            "{time}, {things} {wait} {scene} {weather}. In all, {see} {count}.",
            "We are {scene} {time}. Everything is {weather}, and {show} {count}: {things}.",
            "There {be} {things}. {they} {scene} {weather}, and {see} {count} {time}.",
            "{see} {count} {weather}: {things}. {they} {scene}, and this happens {time}.",
            "{count} {wait_all} {scene} {weather}. {time}, {see} {things}.",
            "{time}, {show} {things}. {they} {scene} {weather}, {count} in all.",
            "{scene} {wait} {things}. This happens {time} {weather}, and {see} {count}.",
        ),
    ),
}
