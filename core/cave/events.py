"""Events Z: the state of the Cave that images, captions and melodies describe.

Kinds depend on the scene, hues on the kind, weather on the scene, so that things co-occur. All is a
pure function of (seed, split, index); no training event has the signature of a test event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float64

SEED = 2024
TEST_SIZE = 1024
DRAWN, DESCRIBED = 40_960, 65_536  # training events in pictures, and in texts, the drawn ones first

SCENES = ("city", "forest", "mountains", "beach", "desert", "farm")
TIMES = ("morning", "noon", "evening", "night")
WEATHERS = ("clear", "cloudy", "rainy", "snowy")
KINDS = (
    *("car", "lamp", "bench", "house", "tree", "mushroom", "tent", "flower"),
    *("boat", "umbrella", "ball", "kite", "cactus", "barrel", "cat", "bird"),
)
# 45 degrees each, red centered at 0
COLORS = ("red", "orange", "yellow", "green", "teal", "blue", "purple", "pink")
SIZES = ("small", "medium", "large")
MAX_OBJECTS = 4

KINDS_OF_SCENE = {
    "city": ("car", "lamp", "bench", "house", "cat"),
    "forest": ("tree", "mushroom", "tent", "flower", "bird"),
    "mountains": ("tent", "kite", "tree", "house", "bench"),
    "beach": ("umbrella", "ball", "boat", "kite", "bird"),
    "desert": ("cactus", "barrel", "car", "tent", "lamp"),
    "farm": ("house", "barrel", "flower", "cat", "ball"),
}
_WEATHER_OF_SCENE = {  # probabilities in the order of WEATHERS
    "city": (0.3, 0.3, 0.3, 0.1),
    "forest": (0.25, 0.25, 0.3, 0.2),
    "mountains": (0.2, 0.2, 0.1, 0.5),
    "beach": (0.5, 0.3, 0.15, 0.05),
    "desert": (0.7, 0.2, 0.05, 0.05),
    "farm": (0.3, 0.3, 0.25, 0.15),
}
_AROUND = (  # kinds around the hue circle: neighbors share colors
    *("ball", "mushroom", "house", "barrel", "lamp", "kite", "cactus", "tree"),
    *("bench", "boat", "bird", "car", "tent", "umbrella", "flower", "cat"),
)
_HUE_OF_KIND = {kind: 22.5 * place for place, kind in enumerate(_AROUND)}  # degrees
_TYPICAL_KIND = 0.8  # probability that an object is one of its scene's own kinds
_COUNT = 0.5 * np.eye(MAX_OBJECTS)
_HUE_KAPPA = 3.0  # concentration of a kind's hues (von Mises): about 36 degrees of spread


@dataclass(frozen=True)
class Thing:
    """One object of an event.

    hue: degrees in [0, 360). size: 0 small … 1 large. x: 0 left … 1 right. depth: 0 near … 1 far.
    facing: "left" or "right".
    """

    kind: str
    hue: float
    size: float
    x: float
    depth: float
    facing: str

    @property
    def color(self) -> str:
        return COLORS[int((self.hue + 22.5) // 45) % len(COLORS)]

    @property
    def size_class(self) -> str:
        return SIZES[min(int(self.size * 3), 2)]


@dataclass(frozen=True)
class Event:
    """What is the case: the common cause of an image and its captions. Things are ordered from left
    to right.
    """

    split: str
    index: int
    scene: str
    time: str
    weather: str
    things: tuple[Thing, ...]

    @property
    def signature(self) -> tuple[object, ...]:
        """Return the categorical content; train and test share none."""
        things = ((t.kind, t.color, t.size_class) for t in self.things)
        return (self.scene, self.time, self.weather, *things)


def event_rng(event: Event, *, purpose: str) -> np.random.Generator:
    """Return the generator of an event's nuisances for one `purpose` (`image`, `caption` …),
    independent of Z and of each other.
    """
    return _rng(event.split, event.index, purpose)


def draw_event(split: str, index: int) -> Event:
    """Draw event `index` of `split` ("test", or any name of a training stream).

    A training event whose signature occurs among the test events is drawn again, so the two are
    disjoint.
    """
    rng = _rng(split, index, "event")
    event = _draw(rng, split, index)
    while split != "test" and event.signature in held_out_signatures():
        event = _draw(rng, split, index)
    return event


def events(split: str, count: int) -> Iterator[Event]:
    return (draw_event(split, index) for index in range(count))


@cache
def held_out_signatures() -> frozenset[tuple[object, ...]]:
    return frozenset(event.signature for event in events("test", TEST_SIZE))


def color_law(kind: str) -> Float64[np.ndarray, " colors"]:
    """Return p(color | kind) in the order of COLORS: the mass of the kind's von Mises law on each
    color's 45 degrees. Of training events, the few that share a test event's signature are drawn
    again, which shifts it a little.
    """
    from scipy.stats import vonmises  # a third of a second, only for those who ask for laws

    edges = np.deg2rad(np.arange(len(COLORS) + 1) * 45 - 22.5 - _HUE_OF_KIND[kind])
    law: np.ndarray = np.diff(vonmises.cdf(edges, _HUE_KAPPA))
    return law


def reality(event: Event) -> Float64[np.ndarray, "146"]:
    """Return Z as a vector: the representation that a model of the world itself would have.

    Blocks: one-hot scene, time and weather; per kind the number of its things and the sums of (cos
    hue, sin hue), and at half weight of x, depth and size in [-1, 1] and of the two facings; last
    the one-hot count at half weight.
    """
    case = (event.scene, SCENES), (event.time, TIMES), (event.weather, WEATHERS)
    place = [float(value == each) for value, values in case for each in values]
    kinds = np.zeros((len(KINDS), 8))
    for thing in event.things:
        angle = np.deg2rad(thing.hue)
        look = [1.0, np.cos(angle), np.sin(angle)]
        spot = [0.5 * (2 * value - 1) for value in (thing.x, thing.depth, thing.size)]
        turn = [0.5 * (thing.facing == "left"), 0.5 * (thing.facing == "right")]
        kinds[KINDS.index(thing.kind)] += [*look, *spot, *turn]
    return np.concatenate([place, kinds.ravel(), _COUNT[len(event.things) - 1]])


def _rng(split: str, index: int, purpose: str) -> np.random.Generator:
    return np.random.default_rng([SEED, index, *split.encode(), 0, *purpose.encode()])


def _draw(rng: np.random.Generator, split: str, index: int) -> Event:
    scene = SCENES[rng.integers(len(SCENES))]
    weather = WEATHERS[rng.choice(len(WEATHERS), p=_WEATHER_OF_SCENE[scene])]
    time = TIMES[rng.integers(len(TIMES))]
    count = int(rng.integers(1, MAX_OBJECTS + 1))
    # one slot each, so that things may touch but never hide one another
    things = []
    for slot in rng.permutation(MAX_OBJECTS)[:count].tolist():
        kinds = KINDS_OF_SCENE[scene] if rng.random() < _TYPICAL_KIND else KINDS
        kind = kinds[rng.integers(len(kinds))]
        hue = (_HUE_OF_KIND[kind] + np.rad2deg(rng.vonmises(0.0, _HUE_KAPPA))) % 360
        x = (slot + 0.5 + rng.uniform(-0.3, 0.3)) / MAX_OBJECTS
        size, depth = float(rng.random()), float(rng.random())
        facing = ("left", "right")[rng.integers(2)]
        things.append(Thing(kind, float(hue), size, float(x), depth, facing))
    things.sort(key=lambda thing: thing.x)
    return Event(split, index, scene, time, weather, tuple(things))
