"""The nineteen tasks: three groups, balanced classes, answers that an independent reader of events
and pictures gives too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from core.cave.drawing import Look, draw, draw_look, render
from core.cave.events import Event, draw_event, event_rng, events, held_out_signatures
from core.cave.tasks import SAMPLES, SPLIT, STYLES, TASKS, labels, look_of

pytestmark = pytest.mark.slow

BY_NAME = {task.name: task for task in TASKS}


@pytest.fixture(scope="module")
def seen() -> list[tuple[Event, Look]]:
    return [(event, look_of(event)) for event in events(SPLIT, max(SAMPLES.values()))]


def read(name: str, seen: list[tuple[Event, Look]]) -> list[str]:
    return [BY_NAME[name].classes[label] for label in labels(BY_NAME[name], seen)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_no_class_is_rare_and_none_is_most(task, seen):
    shares = np.bincount(labels(task, seen), minlength=len(task.classes)) / len(seen)
    assert shares.min() > 0.4 / len(task.classes)
    assert shares.max() < 1.8 / len(task.classes)


def test_answers_are_those_of_the_event(seen):
    for name, expected in {
        "scene": [event.scene for event, _ in seen],
        "weather": [event.weather for event, _ in seen],
        "time": [event.time for event, _ in seen],
        "count": [str(len(event.things)) for event, _ in seen],
    }.items():
        assert read(name, seen) == expected


def test_answers_about_the_largest_are_of_no_other(seen):
    for (event, _), kind, color, facing, distance in zip(
        seen,
        *(read(name, seen) for name in ("kind", "color", "orientation", "distance")),
        strict=True,
    ):
        big = sorted(event.things, key=lambda thing: thing.size)[-1]
        assert (big.kind, big.color, big.facing) == (kind, color, facing)
        low, high = {"near": (0, 1 / 3), "between": (1 / 3, 2 / 3), "far": (2 / 3, 1)}[distance]
        assert low <= big.depth <= high


def test_answers_about_the_nearest_are_of_no_other(seen):
    for (event, _), place, size in zip(
        seen, *(read(name, seen) for name in ("position", "size")), strict=True
    ):
        close = sorted(event.things, key=lambda thing: thing.depth)[0]
        low, high = {
            "far left": (0, 0.25),
            "left": (0.25, 0.5),
            "right": (0.5, 0.75),
            "far right": (0.75, 1),
        }[place]
        assert low <= close.x <= high
        assert close.size_class == size


def test_a_span_is_the_distance_between_the_outermost(seen):
    for (event, _), span in zip(seen, read("span", seen), strict=True):
        distance = event.things[-1].x - event.things[0].x
        low, high = {
            "alone": (0, 0),
            "neighbors": (0.1, 0.4),
            "one apart": (0.35, 0.65),
            "two apart": (0.6, 0.9),
        }[span]
        assert low <= distance <= high


@pytest.mark.parametrize("index", range(12))
def test_the_light_is_brightest_where_it_says(index):
    event = draw_event(SPLIT, index)
    lit, unlit = (
        np.asarray(_rendered(event, light), dtype=float) + 1 for light in (None, (0.0, 0.0))
    )
    gain = (lit / unlit).mean(axis=2)
    sides = {"left": gain[:, :16], "right": gain[:, 32:], "top": gain[:16], "bottom": gain[32:]}
    assert read("light", [(event, look_of(event))]) == [
        max(sides, key=lambda side: sides[side].mean())
    ]


def _rendered(event: Event, light: tuple[float, float] | None) -> Image.Image:
    rng = event_rng(event, purpose="image")
    look = replace(draw_look(rng), grain=0.0)
    return render(event, replace(look, light=light) if light else look, rng, size=48)


def test_tilt_and_horizon_are_those_of_the_picture(seen):
    """Read both off where the ends of the horizon fall in the picture, y downward."""
    for (_, look), tilt, horizon in zip(
        seen, *(read(name, seen) for name in ("tilt", "horizon")), strict=True
    ):
        left, right = (look.view @ (x, look.horizon, 1.0) for x in (0.0, 1.0))
        rise = np.rad2deg(np.arctan((right[1] - left[1]) / (right[0] - left[0])))
        low, high = {
            "leftward": (-4.01, -4 / 3),
            "level": (-4 / 3, 4 / 3),
            "rightward": (4 / 3, 4.01),
        }[tilt]
        assert low <= rise <= high
        low, high = {"high": (0.4, 0.517), "middle": (0.517, 0.556), "low": (0.556, 0.7)}[horizon]
        assert low <= (left[1] + right[1]) / 2 <= high


def test_probe_events_are_none_of_the_test_s(seen):
    assert not {event.signature for event, _ in seen[:300]} & held_out_signatures()


@pytest.mark.parametrize("style", STYLES)
def test_a_style_is_a_fixed_transform_that_keeps_the_size(style):
    image = draw(draw_event(SPLIT, 0), size=96)
    drawn = STYLES[style](image)
    assert (drawn.size, drawn.mode) == (image.size, "RGB")
    assert STYLES[style](image.copy()).tobytes() == drawn.tobytes()
