"""Events: seeded, disjoint between splits, within their ranges, and distributed as stated."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from core.cave import events as world
from core.cave.events import (
    COLORS,
    KINDS,
    SCENES,
    TIMES,
    WEATHERS,
    Event,
    events,
    reality,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def many() -> list[Event]:
    return list(events("train", 6000))


def test_no_training_event_has_the_signature_of_a_test_event(many):
    held_out = {event.signature for event in events("test", world.TEST_SIZE)}
    assert held_out == world.held_out_signatures()
    assert not held_out & {event.signature for event in many}


def test_kinds_depend_on_the_scene_as_stated(many):
    for scene in SCENES:
        counts = Counter(
            thing.kind for event in many if event.scene == scene for thing in event.things
        )
        for kind in KINDS:
            stated = 0.8 / 5 * (kind in world.KINDS_OF_SCENE[scene]) + 0.2 / len(KINDS)
            assert counts[kind] / counts.total() == pytest.approx(stated, abs=0.035)


def test_weather_depends_on_the_scene_and_time_does_not(many):
    for scene in SCENES:
        here = [event for event in many if event.scene == scene]
        weathers, times = (
            Counter(event.weather for event in here),
            Counter(event.time for event in here),
        )
        assert [weathers[weather] / len(here) for weather in WEATHERS] == pytest.approx(
            world._WEATHER_OF_SCENE[scene], abs=0.07
        )
        assert [times[time] / len(here) for time in TIMES] == pytest.approx([0.25] * 4, abs=0.07)


def test_hues_gather_around_the_kind_as_stated(many):
    stated = np.i0(
        3.0
    )  # the mean resultant length of a von Mises distribution is I1(kappa) / I0(kappa)
    first_order = np.mean(
        np.cos(np.linspace(0, np.pi, 10001)) * np.exp(3.0 * np.cos(np.linspace(0, np.pi, 10001)))
    )
    for kind in KINDS:
        hues = np.deg2rad(
            [thing.hue for event in many for thing in event.things if thing.kind == kind]
        )
        mean = np.exp(1j * hues).mean()
        turn = np.rad2deg(np.angle(mean * np.exp(-1j * np.deg2rad(world._HUE_OF_KIND[kind]))))
        assert abs(turn) < 6
        assert abs(mean) == pytest.approx(first_order / stated, abs=0.04)


def test_a_color_is_the_hue_class_around_its_center(many):
    for event in many[:500]:
        for thing in event.things:
            distance = (thing.hue - 45 * COLORS.index(thing.color) + 180) % 360 - 180
            assert -22.5 <= distance <= 22.5


def test_a_linear_probe_reads_every_category_off_reality(many):
    space = np.stack([reality(event) for event in many])
    targets = {
        "scene": np.array([[event.scene == value for value in SCENES] for event in many]),
        "time": np.array([[event.time == value for value in TIMES] for event in many]),
        "weather": np.array([[event.weather == value for value in WEATHERS] for event in many]),
        "count": np.array(
            [[len(event.things) == value for value in (1, 2, 3, 4)] for event in many]
        ),
    }
    present = np.array(
        [[kind in {thing.kind for thing in event.things} for kind in KINDS] for event in many]
    )
    design = np.column_stack([space, np.ones(len(space))])
    for truth in targets.values():
        assert (predict(design, truth).argmax(axis=1) == truth[4000:].argmax(axis=1)).all()
    assert ((predict(design, present) > 0.5) == present[4000:]).all()


def predict(design: np.ndarray, truth: np.ndarray) -> np.ndarray:
    weights, *_ = np.linalg.lstsq(design[:4000], truth[:4000].astype(float), rcond=None)
    return design[4000:] @ weights
