"""What is asked about events: nineteen tasks by which frozen features are probed, and the factors
that supervised models learn.

The groups and their sizes (7 natural, 4 specialized, 8 structured) are those of the Visual Task
Adaptation Benchmark (Zhai et al. 2019). Texture, light, tilt and horizon are of the picture, all
others of the event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
from jaxtyping import Int64, UInt8
from PIL import Image, ImageChops, ImageFilter, ImageOps

from core.cave.drawing import TEXTURES, Look, draw, draw_look
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
    draw_event,
    event_rng,
)
from core.machine.processes import count_cores, spread
from core.progress import Progress
from core.stimuli.worlds import Pictures, Task

VERSION = 1  # raise it when a task's labels or a style's pictures change
SPLIT = "probe"  # no model is trained on these events, though on some of the same signature
# pictures of each style: the first events of the stream
SAMPLES = {"plain": 2_400, "lines": 1_200, "duotone": 1_200, "relief": 1_200}
SIDE = 48  # pixels, as the Cave's models see them; others bring them to their own size
_DRAWN = 96  # pixels when a style is laid over a picture, whose outlines need some space
_CHUNK = 100  # events that a worker draws at a time

_INKS = (24, 28, 64), (178, 84, 96), (250, 240, 214)  # dark, middle and light of a two-color print
_TONES = 2  # bits: four gray levels
_GAIN = 10  # of differences from the surroundings
_FAINTEST = 14  # gray levels per pixel: grain and texture stay below, outlines above


def _in_lines(image: Image.Image) -> Image.Image:
    """Return the outlines alone, dark on white paper: no color and no area is left."""
    gray = ImageOps.grayscale(image).filter(ImageFilter.GaussianBlur(0.7))
    rise = ImageChops.difference(
        gray.filter(ImageFilter.MaxFilter(3)), gray.filter(ImageFilter.MinFilter(3))
    )
    dark = [255 - min(255, 5 * max(0, value - _FAINTEST)) for value in range(256)]
    return rise.point(dark).convert("RGB")


def _in_duotone(image: Image.Image) -> Image.Image:
    """Return a print in four tones of two inks: hues are gone."""
    tones = ImageOps.posterize(ImageOps.autocontrast(ImageOps.grayscale(image)), _TONES)
    dark, middle, light = _INKS
    return ImageOps.colorize(tones, black=dark, mid=middle, white=light)


def _in_relief(image: Image.Image) -> Image.Image:
    gray = ImageOps.grayscale(image).filter(ImageFilter.GaussianBlur(0.9))
    surroundings = gray.filter(ImageFilter.MedianFilter(9))
    return ImageChops.subtract(gray, surroundings, scale=1 / _GAIN, offset=128).convert("RGB")


# fixed transforms of the ordinary picture; no model of the Cave is trained on any but the plain one
STYLES: Mapping[str, Callable[[Image.Image], Image.Image]] = {
    "plain": lambda image: image,
    "lines": _in_lines,
    "duotone": _in_duotone,
    "relief": _in_relief,
}


def draw_pictures(
    samples: Mapping[str, int], *, jobs: int | None = None, report: Progress | None = None
) -> Pictures:
    """Draw the first probe events in each style, as many as `samples` says.

    jobs: worker processes, one per core by default; 1 draws here. Raises DeviceError if one of them
    was killed.
    """
    starts, parts = range(0, max(samples.values()), _CHUNK), dict[int, Pictures]()
    draw_some = partial(_draw, dict(samples))
    for place, part in spread(draw_some, starts, processes=jobs or count_cores(), light=True):
        parts[place] = part
        if report:
            report(len(parts), len(starts), "drawing the probe pictures, in hundreds")
    ordered = [parts[place] for place in sorted(parts)]
    return {
        style: np.concatenate([part[style] for part in ordered if style in part])
        for style in ordered[0]
    }


def _draw(samples: Mapping[str, int], start: int) -> Pictures:
    stop = min(start + _CHUNK, max(samples.values()))
    plain = [draw(draw_event(SPLIT, index), size=_DRAWN) for index in range(start, stop)]
    wanted = {style: plain[: max(0, count - start)] for style, count in samples.items()}
    return {
        style: np.stack(
            [np.asarray(STYLES[style](image).reduce(_DRAWN // SIDE)) for image in images]
        )
        for style, images in wanted.items()
        if images
    }


COUNTS = tuple(str(count) for count in range(1, MAX_OBJECTS + 1))
THIRDS = ("first", "second", "third")
SIDES = ("left", "right")
DISTANCES = ("near", "between", "far")  # a third of the depth each
PLACES = ("far left", "left", "right", "far right")  # a quarter of the width each
SPANS = ("alone", "neighbors", "one apart", "two apart")
LIGHTS = ("left", "right", "top", "bottom")
TILTS = ("leftward", "level", "rightward")
HORIZONS = ("high", "middle", "low")
_TILT = 4.0 / 3  # degrees: a third of the range on either side of level
_HORIZON = (0.517, 0.556)  # of the height from the top: thirds of all horizons as they are seen


def largest(event: Event) -> Thing:
    return max(event.things, key=lambda thing: thing.size)


def nearest(event: Event) -> Thing:
    return min(event.things, key=lambda thing: thing.depth)


def _third(value: float) -> int:
    return min(int(value * 3), 2)


def _slot(thing: Thing) -> int:
    return min(int(thing.x * MAX_OBJECTS), MAX_OBJECTS - 1)


def _light(_: Event, look: Look) -> str:
    x, y = look.light  # growth of the light to the right and downward
    if abs(x) > abs(y):
        return "right" if x > 0 else "left"
    return "bottom" if y > 0 else "top"


def _tilt(_: Event, look: Look) -> str:
    # clockwise on a screen, whose y points down
    degrees = np.rad2deg(np.arctan2(look.view[1, 0], look.view[0, 0]))
    return TILTS[int(degrees > -_TILT) + int(degrees > _TILT)]


Read = Callable[[Event, Look], str]
_OF_THE_LOOK = ("texture", "light", "tilt", "horizon")
_SCENE: Read = lambda event, _: event.scene  # noqa: E731
_KIND: Read = lambda event, _: largest(event).kind  # noqa: E731
_TASKS: tuple[tuple[str, str, tuple[str, ...], str, Read], ...] = (
    ("scene", "natural", SCENES, "plain", _SCENE),
    ("kind", "natural", KINDS, "plain", _KIND),
    ("color", "natural", COLORS, "plain", lambda event, _: largest(event).color),
    ("scene in lines", "natural", SCENES, "lines", _SCENE),
    ("kind in lines", "natural", KINDS, "lines", _KIND),
    ("scene in duotone", "natural", SCENES, "duotone", _SCENE),
    ("kind in duotone", "natural", KINDS, "duotone", _KIND),
    ("texture", "specialized", TEXTURES, "relief", lambda _, look: look.texture),
    ("weather", "specialized", WEATHERS, "plain", lambda event, _: event.weather),
    ("time", "specialized", TIMES, "plain", lambda event, _: event.time),
    ("light", "specialized", LIGHTS, "plain", _light),
    ("count", "structured", COUNTS, "plain", lambda event, _: str(len(event.things))),
    ("position", "structured", PLACES, "plain", lambda event, _: PLACES[_slot(nearest(event))]),
    ("size", "structured", SIZES, "plain", lambda event, _: nearest(event).size_class),
    (
        "distance",
        "structured",
        DISTANCES,
        "plain",
        lambda event, _: DISTANCES[_third(largest(event).depth)],
    ),
    ("orientation", "structured", SIDES, "plain", lambda event, _: largest(event).facing),
    (
        "span",
        "structured",
        SPANS,
        "plain",
        lambda event, _: SPANS[_slot(event.things[-1]) - _slot(event.things[0])],
    ),
    ("tilt", "structured", TILTS, "plain", _tilt),
    (
        "horizon",
        "structured",
        HORIZONS,
        "plain",
        lambda _, look: HORIZONS[
            int(np.searchsorted(_HORIZON, look.view[1] @ (0.5, look.horizon, 1.0)))
        ],
    ),
)
_READ = {name: read for name, _, _, _, read in _TASKS}
TASKS = tuple(Task(name, group, classes, style) for name, group, classes, style, _ in _TASKS)
# what a melody tells, too: tasks about the event itself
SUNG = tuple(task for task in TASKS if task.style == "plain" and task.name not in _OF_THE_LOOK)


def look_of(event: Event) -> Look:
    return draw_look(event_rng(event, purpose="image"))


def labels(task: Task, seen: Iterable[tuple[Event, Look]]) -> Int64[np.ndarray, "n"]:
    read = _READ[task.name]
    return np.array([task.classes.index(read(event, look)) for event, look in seen], dtype=np.int64)


def _presence(kind: str, event: Event) -> str:
    return "yes" if any(thing.kind == kind for thing in event.things) else "no"


_FACTORS: Mapping[str, tuple[tuple[str, ...], Callable[[Event], str]]] = {
    "scene": (SCENES, lambda event: event.scene),
    "largest kind": (KINDS, lambda event: largest(event).kind),
    "time": (TIMES, lambda event: event.time),
    "largest color": (COLORS, lambda event: largest(event).color),
    "count": (COUNTS, lambda event: str(len(event.things))),
    "weather": (WEATHERS, lambda event: event.weather),
    "nearest kind": (KINDS, lambda event: nearest(event).kind),
    "nearest color": (COLORS, lambda event: nearest(event).color),
    "leftmost kind": (KINDS, lambda event: event.things[0].kind),
    "leftmost color": (COLORS, lambda event: event.things[0].color),
    "rightmost kind": (KINDS, lambda event: event.things[-1].kind),
    "rightmost color": (COLORS, lambda event: event.things[-1].color),
    "largest facing": (SIDES, lambda event: largest(event).facing),
    "nearest size": (SIZES, lambda event: nearest(event).size_class),
    "largest place": (THIRDS, lambda event: THIRDS[_third(largest(event).x)]),
    "leftmost distance": (THIRDS, lambda event: THIRDS[_third(event.things[0].depth)]),
    **{f"has {kind}": (("no", "yes"), partial(_presence, kind)) for kind in KINDS},
}
FACTORS: Mapping[str, tuple[str, ...]] = {name: classes for name, (classes, _) in _FACTORS.items()}


def answers(event: Event) -> UInt8[np.ndarray, " factors"]:
    """Return the place of each factor's value among its values, in the order of FACTORS."""
    return np.array(
        [values.index(read(event)) for values, read in _FACTORS.values()], dtype=np.uint8
    )
