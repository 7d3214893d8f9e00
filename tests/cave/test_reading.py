"""Captions read back: what the grammar says can be so, and what it never says is told apart."""

from __future__ import annotations

import numpy as np
import pytest

from core.cave.captions import LEVELS, describe
from core.cave.events import COLORS, KINDS, color_law, events
from core.cave.reading import contradiction, readings

TOLD = "There is a red car. It is in a city in the rain, and I spot a single item at noon. The {}."


def reasons(text: str) -> set[str]:
    return {contradiction(one) for one in readings(text)}


@pytest.mark.parametrize("level", LEVELS)
def test_every_caption_of_the_grammar_is_read_and_possible(level: str) -> None:
    assert all("" in reasons(describe(event, level)) for event in events("test", 100))


def test_a_reading_has_what_was_said() -> None:
    (reading,) = readings("We see a large car painted red to the left of two boats.")
    car, boats = reading.phrases
    assert (car.number, car.kinds, car.relation) == (1, {"car"}, "left of")
    assert car.told == {"size": "large", "color": "red"}
    assert (boats.number, boats.kinds) == (2, {"boat"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Three cars, two boats.", None),
        ("Three cars and two boats.", "number"),
        ("This picture shows three things in a city at dawn: a red car.", None),
        ("Three things rest in a city at dawn: a red car.", "number"),
        ("One thing rests in a city at dawn: a red car.", ""),
        ("A car on the left and a boat on the left.", "place"),
        ("Two cars on the left.", "place"),
        ("A car in the middle and a boat in the middle.", ""),
        ("A car right of a boat on the right.", "place"),
        (TOLD.format("car is red"), ""),
        (TOLD.format("car is blue"), "named again"),
        (TOLD.format("boat is red"), "named again"),
        ("There is two cars.", None),
        ("There are a car.", None),
        ("An car.", None),
        ("a car.", None),
        ("A dog.", None),
        ("", None),
    ],
)
def test_contradictions(text: str, reason: str | None) -> None:
    assert reasons(text) == (set() if reason is None else {reason})


def test_shared_nouns_may_mean_either_kind() -> None:
    (reading,) = readings("There is a vehicle.")
    assert reading.phrases[0].kinds == {"car", "boat"}


@pytest.mark.slow
def test_the_law_of_colors_is_that_of_the_events() -> None:
    things = [thing for event in events("law", 3000) for thing in event.things]
    for kind in KINDS[:4]:
        colors = [thing.color for thing in things if thing.kind == kind]
        seen = np.array([colors.count(color) for color in COLORS]) / len(colors)
        law = color_law(kind)
        assert law.sum() == pytest.approx(1)
        assert np.abs(seen - law).max() < 4 * np.sqrt(0.25 / len(colors))
