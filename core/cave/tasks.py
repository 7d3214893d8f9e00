"""Drawing styles that no model of the Cave is trained on: each is a fixed transform of the ordinary
picture.

Nineteen questions about a picture, in the three groups of VTAB: what a probe on frozen features
must answer.

Natural: what is there, also in drawing styles outside the training. Specialized: surface,
weather, time, light. Structured: how many, where, how far, how large, which way. Most answers are
Z's; texture, light, tilt and horizon are of how the event is seen.

Source: the groups and their sizes (7, 4, 8) are those of the Visual Task Adaptation Benchmark (Zhai
et al. 2019).

What a supervised model is asked about an image: facts of its event, each as one class among a
few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from jaxtyping import Int64, UInt8
from PIL import Image, ImageChops, ImageFilter, ImageOps

from core.cave.drawing import TEXTURES, Look, draw_look
from core.cave.events import (
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

_INKS = (24, 28, 64), (178, 84, 96), (250, 240, 214)  # dark, middle and light of a two-color print
_TONES = 2  # bits: four gray levels
_GAIN = 10  # of differences from the surroundings
_FAINTEST = 14  # gray levels per pixel: grain and texture stay below, outlines above


def as_drawn(image: Image.Image) -> Image.Image:
    """Return the picture itself."""
    return image


def in_lines(image: Image.Image) -> Image.Image:
    """Return the outlines alone, dark on white paper: no color and no area is left."""
    gray = ImageOps.grayscale(image).filter(ImageFilter.GaussianBlur(0.7))
    rise = ImageChops.difference(
        gray.filter(ImageFilter.MaxFilter(3)), gray.filter(ImageFilter.MinFilter(3))
    )
    return rise.point(
        [255 - min(255, 5 * max(0, value - _FAINTEST)) for value in range(256)]
    ).convert("RGB")


def in_duotone(image: Image.Image) -> Image.Image:
    """Return the picture as a print in four tones of two inks: hues are gone, and every brightness
    falls into one of four.
    """
    tones = ImageOps.posterize(ImageOps.autocontrast(ImageOps.grayscale(image)), _TONES)
    dark, middle, light = _INKS
    return ImageOps.colorize(tones, black=dark, mid=middle, white=light)


def in_relief(image: Image.Image) -> Image.Image:
    """Return how much brighter each place is than its surroundings, tenfold, as an instrument for
    surfaces would show it.
    """
    gray = ImageOps.grayscale(image).filter(ImageFilter.GaussianBlur(0.9))
    surroundings = gray.filter(ImageFilter.MedianFilter(9))
    return ImageChops.subtract(gray, surroundings, scale=1 / _GAIN, offset=128).convert("RGB")


STYLES: Mapping[str, Callable[[Image.Image], Image.Image]] = MappingProxyType(
    {"plain": as_drawn, "lines": in_lines, "duotone": in_duotone, "relief": in_relief}
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


THIRDS = ("first", "second", "third")
TURNS = ("left", "right")


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
