"""Draws an event: the event decides which shapes there are, and nothing else; how it is seen is
drawn independently.

Colors are in OKLCH: truly named hues for things, harmonious random palettes for everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64
from PIL import Image, ImageDraw

from core.cave import scenery
from core.cave.events import Event, event_rng
from core.cave.shapes import ICONS, Points

VERSION = 1  # raise it when pictures change; the Cave then has another revision
TEXTURES = ("plain", "stripes", "dots", "weave")
_GRAIN_CELLS = 112  # lattice of the grain: two pixels of a 224-px picture
_OVERSAMPLING = 4
_TEXTURE_DEPTH = np.float32(0.03)
Lch = tuple[float, float, float]  # lightness 0 … 1, chroma 0 … about 0.3, hue in degrees
Rgb = tuple[int, int, int]

# the named hues of the world at 0, 45 … 360 degrees, as seen: OKLCH hue, lightness and chroma of a
# good example of each name
_SEEN = np.array(
    [
        *[(25.0, 0.59, 0.21), (57.0, 0.73, 0.17), (98.0, 0.87, 0.17), (144.0, 0.65, 0.17)],
        *[(190.0, 0.70, 0.11), (256.0, 0.57, 0.17), (303.0, 0.55, 0.19), (353.0, 0.73, 0.15)],
        (385.0, 0.59, 0.21),
    ]
)
_WORLD = np.arange(9) * 45.0
_LAB_TO_LMS = np.array(
    [
        [1.0, 1.0, 1.0],
        [0.3963377774, -0.1055613458, -0.0894841775],
        [0.2158037573, -0.0638541728, -1.2914855480],
    ]
)
_LMS_TO_RGB = np.array(
    [
        [4.0767416621, -1.2684380046, -0.0041960863],
        [-3.3077115913, 2.6097574011, -0.7034186147],
        [0.2309699292, -0.3413193965, 1.7076147010],
    ]
)


def seen_color(hue: float) -> Lch:
    """Return the OKLCH color that shows a hue of the world (degrees, red 0, yellow 90, teal 180,
    purple 270).
    """
    seen, lightness, chroma = (float(np.interp(hue % 360, _WORLD, column)) for column in _SEEN.T)
    return lightness, chroma, seen % 360


def to_rgb(colors: Sequence[Lch]) -> list[Rgb]:
    """Return OKLCH colors as 8-bit sRGB, clipped to the gamut.

    Source: Björn Ottosson, A perceptual color space for image processing (2020).
    """
    lightness, chroma, hue = np.array(colors, dtype=np.float64).T
    angle = np.deg2rad(hue)
    lab = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=1)
    linear = ((lab @ _LAB_TO_LMS) ** 3 @ _LMS_TO_RGB).clip(0.0, 1.0)
    coded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return [(r, g, b) for r, g, b in (255 * coded + 0.5).astype(int).tolist()]


def draw_palette(rng: np.random.Generator) -> dict[str, Lch]:
    """Draw the colors of everything but the things, independent of what is the case.

    Two or three hues in a classical harmony, low in chroma so that things stand out, on a ramp of
    lightness from sky to ground that runs either way.
    """
    sky = rng.uniform(0.0, 360.0)
    turn = rng.choice((-1.0, 1.0)) * rng.choice((25.0, 50.0, 120.0, 150.0, 180.0))
    chroma = rng.uniform(0.04, 0.1)
    ends = [rng.uniform(0.36, 0.56), rng.uniform(0.8, 0.93)]
    top, bottom = ends if rng.random() < 0.5 else ends[::-1]
    places = {
        "sky": 0.0,
        "far": rng.uniform(0.22, 0.32),
        "near": rng.uniform(0.5, 0.7),
        "ground": 1.0,
    }
    layers = {
        name: _tone(top + (bottom - top) * at, chroma * rng.uniform(0.8, 1.2), sky + turn * at)
        for name, at in places.items()
    }
    accent = (sky + turn / 2 + 180) % 360
    dark_sky, dark_ground = top < bottom, bottom < top
    ink, paper = (0.27, 0.03, sky), (0.97, 0.015, accent)
    return {
        **layers,
        "far shadow": _beside(layers["far"], 0.06, up=dark_sky),
        "near shadow": _beside(layers["near"], 0.07, up=dark_sky),
        "detail": _beside(layers["ground"], rng.uniform(0.09, 0.13), up=dark_ground),
        "cap": (0.94, 0.02, accent) if layers["near"][0] < 0.68 else (0.42, 0.05, accent),
        "mark": (0.92, 0.07, accent) if dark_sky else (0.58, 0.11, accent),
        "cloud": _cloud(layers["sky"], rng, dark=dark_sky),
        "fall": _beside(layers["sky"], rng.uniform(0.28, 0.4), up=dark_sky),
        "ink": ink,
        "paper": paper,
        "halo": ink if dark_sky else paper,
    }


def _tone(lightness: float, chroma: float, hue: float) -> Lch:
    lift = 0.1 * max(0.0, float(np.cos(np.deg2rad(hue - 85)))) if lightness < 0.6 else 0.0
    return lightness + lift, chroma * (1.2 - 0.5 * lightness), hue % 360


def _cloud(sky: Lch, rng: np.random.Generator, *, dark: bool) -> Lch:
    if dark:
        return _beside(sky, rng.uniform(0.16, 0.32), up=True)
    if rng.random() < 0.4:
        return 0.99, 0.01, sky[2]
    return _beside(sky, rng.uniform(0.13, 0.25), up=False)


def _beside(color: Lch, step: float, *, up: bool) -> Lch:
    lightness, chroma, hue = color
    return min(lightness + step if up else lightness - step, 0.99), chroma * 0.9, hue


@dataclass(frozen=True)
class Look:
    """How an event is seen: every nuisance that is one choice per picture.

    palette: role → color. horizon: its height from the top, 0 … 1. view: the affine viewpoint, rows
    x and y. light: direction and strength of the light's fall across the picture. texture: one of
    TEXTURES, with its frequency in cycles per picture and its angle in degrees. grain: standard
    deviation in 8-bit levels.
    """

    palette: dict[str, Lch]
    horizon: float
    view: Float64[np.ndarray, "2 3"]
    light: tuple[float, float]
    texture: str
    frequency: float
    angle: float
    grain: float


def draw_look(rng: np.random.Generator) -> Look:
    palette, horizon = draw_palette(rng), rng.uniform(0.47, 0.6)
    # a small zoom, tilt and shift about the center of the picture
    zoom, tilt = rng.uniform(0.94, 1.1), np.deg2rad(rng.uniform(-4.0, 4.0))
    turn = zoom * np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
    shift = 0.5 - turn @ (0.5, 0.5) + rng.uniform(-0.04, 0.04, 2)
    return Look(
        palette=palette,
        horizon=horizon,
        view=np.column_stack([turn, shift]),
        light=(rng.uniform(-0.33, 0.33), rng.uniform(-0.33, 0.33)),
        texture=TEXTURES[rng.integers(len(TEXTURES))],
        frequency=rng.uniform(8.0, 13.0),
        angle=rng.uniform(0.0, 180.0),
        grain=rng.uniform(3.0, 8.0),
    )


def draw(event: Event, *, size: int = 224) -> Image.Image:
    """Draw an event as an RGB picture of `size` × `size` pixels; any size shows the same
    picture.
    """
    rng = event_rng(event, purpose="image")
    return render(event, draw_look(rng), rng, size=size)


def render(event: Event, look: Look, rng: np.random.Generator, *, size: int) -> Image.Image:
    """Draw an event as seen in `look`; `rng` lays out what the event leaves open (blocks, trees,
    stars, grain).
    """
    grain = Image.fromarray(rng.standard_normal((_GRAIN_CELLS, _GRAIN_CELLS), dtype=np.float32))
    side, figures = size * _OVERSAMPLING, _compose(event, look, rng)
    image = Image.new("RGB", (side, side), to_rgb([look.palette["sky"]])[0])
    pen = ImageDraw.Draw(image)
    every = np.concatenate([points for points, _ in figures])
    seen = (every @ look.view[:, :2].T + look.view[:, 2]) * side
    flat, start = seen.ravel().tolist(), 0
    for points, color in figures:
        stop = start + points.size
        pen.polygon(flat[start:stop], fill=color)
        start = stop
    drawn = np.asarray(image.reduce(_OVERSAMPLING), dtype=np.float32)
    noise = np.asarray(grain.resize((size, size), Image.Resampling.BICUBIC))
    pixels = drawn * _shade(look, size)[:, :, None] + look.grain * noise[:, :, None]
    return Image.fromarray(pixels.clip(0.0, 255.0).astype(np.uint8))


def _compose(event: Event, look: Look, rng: np.random.Generator) -> list[tuple[Points, Rgb]]:
    sun = rng.uniform(0.18, 0.82)
    backdrop = [
        *scenery.TIMES[event.time](sun, rng),
        *scenery.SCENES[event.scene](look.horizon, rng),
        *scenery.WEATHERS[event.weather](sun, rng),
    ]
    ink = dict(zip(look.palette, to_rgb(list(look.palette.values())), strict=True))
    figures = [(points, ink[role]) for points, role in backdrop]
    for thing in sorted(event.things, key=lambda thing: -thing.depth):
        # the hue is the event's; lightness and chroma vary within what its name allows
        lightness, chroma, seen = seen_color(thing.hue)
        lightness, chroma = lightness + rng.uniform(-0.03, 0.03), chroma * rng.uniform(0.88, 1.0)
        shade = lightness * 0.84, chroma * 0.9, seen
        paints = {"main": (lightness, chroma, seen), "shade": shade}
        colors = ink | dict(zip(paints, to_rgb(list(paints.values())), strict=True))
        # near things stand lower and are larger, far ones are close to the horizon and smaller
        width = (0.27 + 0.13 * thing.size) * (1.08 - 0.28 * thing.depth)
        foot = 0.92 + thing.depth * (look.horizon + 0.11 - 0.92)
        scale = np.array((width if thing.facing == "right" else -width, -width))
        at = 0.13 + 0.74 * thing.x, foot
        figures += [(one.points * scale + at, colors[one.paint]) for one in ICONS[thing.kind]]
    return figures


def _shade(look: Look, size: int) -> Float32[np.ndarray, "size size"]:
    x = ((np.arange(size, dtype=np.float32) + 0.5) / size - 0.5)[None, :]
    y = x.T
    light = 1 + np.float32(look.light[0]) * x + np.float32(look.light[1]) * y
    if look.texture == "plain":
        return light
    turn, pitch = np.deg2rad(look.angle), 2 * np.pi * look.frequency
    along = np.sin(np.float32(pitch * np.cos(turn)) * x + np.float32(pitch * np.sin(turn)) * y)
    if look.texture == "stripes":
        return light + _TEXTURE_DEPTH * along
    across = np.sin(np.float32(pitch * np.sin(turn)) * x - np.float32(pitch * np.cos(turn)) * y)
    pattern = along * across if look.texture == "dots" else np.maximum(along, across)
    return light + _TEXTURE_DEPTH * pattern
