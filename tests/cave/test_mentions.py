"""How much a caption tells of its event, counted by hand, and by density."""

from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np
import pytest

from core.cave.captions import LEVELS, WORDINGS, describe
from core.cave.events import Event, Thing, events
from core.cave.reading import CONCEPTS, share_told

# between left and middle, and between near and far, so that neither is a fact
CAR = Thing("car", hue=0.0, size=0.9, x=0.35, depth=0.5, facing="left")
TREE = Thing("tree", hue=120.0, size=0.1, x=0.1, depth=0.1, facing="right")


def event(*things: Thing) -> Event:
    return Event("test", 0, "city", "noon", "rainy", things)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Nothing of the kind.", 0),
        ("A car.", 1),
        ("A RED car in the rain.", 3),
        ("A huge scarlet sedan, turned left, in a town at midday in a drizzle.", 7),
        ("One object.", 1),
        ("One finds a car.", 1),  # "one finds" is no count
        ("A blue boat at night.", 0),  # true of other events
    ],
)
def test_facts_of_one_thing_are_counted(text: str, told: int) -> None:
    assert share_told(event(CAR), text) == pytest.approx(
        told / 8
    )  # scene, time, weather, count, kind, color, size, facing


def test_a_wording_that_concepts_share_tells_less() -> None:
    assert share_told(event(CAR), "A vehicle.") == pytest.approx(
        (1 - log(2) / log(16)) / 8
    )  # car or boat, of 16 kinds
    assert share_told(event(CAR), "Outdoors.") == 0  # any scene
    for text in ("A vehicle, a car.", "A car, a vehicle."):
        assert share_told(event(CAR), text) == pytest.approx(1 / 8)  # the most telling counts


def test_a_longer_wording_is_not_taken_for_a_shorter_one_within() -> None:
    left = event(TREE)  # at left, near, facing right
    assert share_told(left, "It is on the left.") == pytest.approx(1 / 10)
    assert share_told(left, "It is on the left of something.") == 0  # a relation tells no place
    assert share_told(left, "Oaks.") == pytest.approx(1 / 10)  # a plural tells the kind


def test_two_things_of_one_kind_are_one_fact() -> None:
    twice = event(CAR, CAR)
    assert share_told(twice, "Two red cars.") == pytest.approx(2 / 8)
    assert share_told(twice, "A couple of items.") == pytest.approx(1 / 8)


def test_every_concept_has_wordings_and_denser_captions_tell_more() -> None:
    assert all(one in WORDINGS for concepts in CONCEPTS.values() for one in concepts)
    some = list(events("test", 60))
    means = [
        np.mean([share_told(one, describe(one, level)) for one in some])
        for level in sorted(LEVELS, key=int)
    ]
    assert means == sorted(means)
    assert means[0] < 0.25
    assert means[-1] > 0.6
    others = np.mean([share_told(one, describe(other, "40")) for one, other in pairwise(some)])
    assert others < means[-1] / 2
