"""Nineteen questions about a picture, in the three groups of VTAB: what a probe on frozen features
must answer.

Natural: what is there, also in drawing styles outside the training. Specialized: surface,
weather, time, light. Structured: how many, where, how far, how large, which way. Most answers are
Z's; texture, light, tilt and horizon are of how the event is seen.

Source: the groups and their sizes (7, 4, 8) are those of the Visual Task Adaptation Benchmark (Zhai
et al. 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int64

from core.stimuli.cave.drawing import TEXTURES, Look, draw_look
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
    event_rng,
)

VERSION = 1  # raise it when a task's labels change, or a style's pictures (styles.py)
Group = Literal["natural", "specialized", "structured"]
SPLIT = "probe"  # no model is trained on these events, though on some of the same signature
# pictures of each style: the first events of the stream
SAMPLES = {"plain": 2_400, "lines": 1_200, "duotone": 1_200, "relief": 1_200}
COUNTS = tuple(str(count) for count in range(1, MAX_OBJECTS + 1))
PLACES = ("far left", "left", "right", "far right")  # a quarter of the width each
DISTANCES = ("near", "between", "far")  # a third of the depth each
SIDES = ("left", "right")
LIGHTS = ("left", "right", "top", "bottom")
SPANS = ("alone", "neighbors", "one apart", "two apart")
TILTS = ("leftward", "level", "rightward")
HORIZONS = ("high", "middle", "low")
_TILT = 4.0 / 3  # degrees: a third of the range on either side of level
_HORIZON = (0.517, 0.556)  # of the height from the top: thirds of all horizons as they are seen


@dataclass(frozen=True)
class Task:
    """One question: its classes, how the answer is read off an event and its look, and the style of
    the pictures.
    """

    name: str
    group: Group
    question: str
    classes: tuple[str, ...]
    read: Callable[[Event, Look], str]
    style: str = "plain"


def look_of(event: Event) -> Look:
    """Return how the picture of an event is seen, without drawing it."""
    return draw_look(event_rng(event, purpose="image"))


def labels(task: Task, seen: Iterable[tuple[Event, Look]]) -> Int64[np.ndarray, "n"]:
    """Return the class of each picture, given its event and its look."""
    return np.array(
        [task.classes.index(task.read(event, look)) for event, look in seen], dtype=np.int64
    )


def largest(event: Event) -> Thing:
    """Return the thing of the largest size."""
    return max(event.things, key=lambda thing: thing.size)


def nearest(event: Event) -> Thing:
    """Return the thing with the smallest depth."""
    return min(event.things, key=lambda thing: thing.depth)


def _scene(event: Event, _: Look) -> str:
    return event.scene


def _kind(event: Event, _: Look) -> str:
    return largest(event).kind


def _slot(thing: Thing) -> int:
    """Return which quarter of the width a thing stands in; each quarter holds at most one."""
    return min(int(thing.x * MAX_OBJECTS), MAX_OBJECTS - 1)


def _distance(event: Event, _: Look) -> str:
    return DISTANCES[min(int(largest(event).depth * 3), 2)]


def _span(event: Event, _: Look) -> str:
    return SPANS[_slot(event.things[-1]) - _slot(event.things[0])]


def _light(_: Event, look: Look) -> str:
    x, y = look.light  # growth of the light to the right and downward
    if abs(x) > abs(y):
        return "right" if x > 0 else "left"
    return "bottom" if y > 0 else "top"


def _tilt(_: Event, look: Look) -> str:
    degrees = np.rad2deg(
        np.arctan2(look.view[1, 0], look.view[0, 0])
    )  # clockwise on a screen, whose y points down
    return TILTS[int(degrees > -_TILT) + int(degrees > _TILT)]


def _horizon(_: Event, look: Look) -> str:
    seen = look.view[1] @ (0.5, look.horizon, 1.0)
    return HORIZONS[int(np.searchsorted(_HORIZON, seen))]


TASKS = (
    Task("scene", "natural", "Where is this?", SCENES, _scene),
    Task("kind", "natural", "What is the largest thing?", KINDS, _kind),
    Task(
        "color",
        "natural",
        "What color is the largest thing?",
        COLORS,
        lambda event, _: largest(event).color,
    ),
    Task("scene in lines", "natural", "Where is this, in outlines alone?", SCENES, _scene, "lines"),
    Task(
        "kind in lines",
        "natural",
        "What is the largest thing, in outlines alone?",
        KINDS,
        _kind,
        "lines",
    ),
    Task(
        "scene in duotone",
        "natural",
        "Where is this, printed in two inks?",
        SCENES,
        _scene,
        "duotone",
    ),
    Task(
        "kind in duotone",
        "natural",
        "What is the largest thing, printed in two inks?",
        KINDS,
        _kind,
        "duotone",
    ),
    Task(
        "texture",
        "specialized",
        "What texture has the surface, in relief?",
        TEXTURES,
        lambda _, look: look.texture,
        "relief",
    ),
    Task(
        "weather", "specialized", "What is the weather?", WEATHERS, lambda event, _: event.weather
    ),
    Task("time", "specialized", "What time of day is it?", TIMES, lambda event, _: event.time),
    Task("light", "specialized", "Which side is brightest?", LIGHTS, _light),
    Task(
        "count",
        "structured",
        "How many things are there?",
        COUNTS,
        lambda event, _: str(len(event.things)),
    ),
    Task(
        "position",
        "structured",
        "In which quarter stands the nearest?",
        PLACES,
        lambda event, _: PLACES[_slot(nearest(event))],
    ),
    Task(
        "size",
        "structured",
        "How large is the nearest thing?",
        SIZES,
        lambda event, _: nearest(event).size_class,
    ),
    Task("distance", "structured", "How far away is the largest thing?", DISTANCES, _distance),
    Task(
        "orientation",
        "structured",
        "Which way faces the largest thing?",
        SIDES,
        lambda event, _: largest(event).facing,
    ),
    Task("span", "structured", "How far apart are the outermost things?", SPANS, _span),
    Task("tilt", "structured", "Which way is the picture tilted?", TILTS, _tilt),
    Task("horizon", "structured", "How high is the horizon?", HORIZONS, _horizon),
)
# what a melody tells, too: tasks about the event itself
SUNG = tuple(
    task for task in TASKS if task.style == "plain" and task.read not in (_light, _tilt, _horizon)
)
