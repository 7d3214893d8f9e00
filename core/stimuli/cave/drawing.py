"""Draw an event: what is the case decides which shapes there are, and nothing else; how it is seen
is drawn independently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64
from PIL import Image, ImageDraw

from core.stimuli.cave.events import SEED, Event, Thing, event_rng
from core.stimuli.cave.palette import Lch, Rgb, draw_paints, draw_palette, to_rgb
from core.stimuli.cave.scenery.scenes import draw_scene
from core.stimuli.cave.scenery.sky import draw_time, draw_weather
from core.stimuli.cave.shapes import Figures, Points
from core.stimuli.cave.things import ICONS

VERSION = 1  # raise it when pictures change; the Cave then has another revision
TEXTURES = ("plain", "stripes", "dots", "weave")
_GRAIN_CELLS = 112  # lattice of the grain: two pixels of a 224-px picture
_OVERSAMPLING = 4
_TEXTURE_DEPTH = np.float32(0.03)


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
    """Draw the nuisances of a picture, independent of what is the case."""
    return Look(
        palette=draw_palette(rng),
        horizon=rng.uniform(0.47, 0.6),
        view=_viewpoint(rng),
        light=(rng.uniform(-0.33, 0.33), rng.uniform(-0.33, 0.33)),
        texture=TEXTURES[rng.integers(len(TEXTURES))],
        frequency=rng.uniform(8.0, 13.0),
        angle=rng.uniform(0.0, 180.0),
        grain=rng.uniform(3.0, 8.0),
    )


def draw(event: Event, *, size: int = 224, seed: int = SEED) -> Image.Image:
    """Draw an event as an RGB picture of `size` × `size` pixels; any size shows the same
    picture.
    """
    rng = event_rng(event, purpose="image", seed=seed)
    return render(event, draw_look(rng), rng, size=size)


def render(event: Event, look: Look, rng: np.random.Generator, *, size: int) -> Image.Image:
    """Draw an event as seen in `look`; `rng` lays out what the event leaves open (blocks, trees,
    stars, grain).
    """
    grain = rng.standard_normal((_GRAIN_CELLS, _GRAIN_CELLS), dtype=np.float32)
    figures = _compose(event, look, rng)
    return _finish(_rasterize(figures, look, size), look, grain)


def _compose(event: Event, look: Look, rng: np.random.Generator) -> list[tuple[Points, Rgb]]:
    """Return every polygon of the picture with its color, back to front."""
    sun = rng.uniform(0.18, 0.82)
    backdrop = [
        *draw_time(event.time, sun, rng),
        *draw_scene(event.scene, look.horizon, rng),
        *draw_weather(event.weather, sun, rng),
    ]
    ink = dict(zip(look.palette, to_rgb(list(look.palette.values())), strict=True))
    figures = [(points, ink[role]) for points, role in backdrop]
    for thing in sorted(event.things, key=lambda thing: -thing.depth):
        paints = draw_paints(thing.hue, rng)
        colors = ink | dict(zip(paints, to_rgb(list(paints.values())), strict=True))
        figures += [(points, colors[role]) for points, role in place_thing(thing, look.horizon)]
    return figures


def place_thing(thing: Thing, horizon: float) -> Figures:
    """Return a thing's icon where it stands: near ones lower and larger, far ones close to the
    horizon and smaller.
    """
    width = (0.27 + 0.13 * thing.size) * (1.08 - 0.28 * thing.depth)
    x = 0.13 + 0.74 * thing.x
    foot = 0.92 + thing.depth * (horizon + 0.11 - 0.92)
    scale = np.array((width if thing.facing == "right" else -width, -width))
    return [(part.points * scale + (x, foot), part.paint) for part in ICONS[thing.kind]]


def _viewpoint(rng: np.random.Generator) -> Float64[np.ndarray, "2 3"]:
    """Draw a small zoom, tilt and shift about the center of the picture."""
    zoom, tilt = rng.uniform(0.94, 1.1), np.deg2rad(rng.uniform(-4.0, 4.0))
    turn = zoom * np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
    shift = 0.5 - turn @ (0.5, 0.5) + rng.uniform(-0.04, 0.04, 2)
    return np.column_stack([turn, shift])


def _rasterize(figures: list[tuple[Points, Rgb]], look: Look, size: int) -> Image.Image:
    """Fill polygons in order at four times the size, then average."""
    image = Image.new(
        "RGB", (size * _OVERSAMPLING, size * _OVERSAMPLING), to_rgb([look.palette["sky"]])[0]
    )
    pen = ImageDraw.Draw(image)
    every = np.concatenate([points for points, _ in figures])
    seen = (every @ look.view[:, :2].T + look.view[:, 2]) * (size * _OVERSAMPLING)
    flat, start = seen.ravel().tolist(), 0
    for points, color in figures:
        stop = start + points.size
        pen.polygon(flat[start:stop], fill=color)
        start = stop
    return image.reduce(_OVERSAMPLING)


def _finish(image: Image.Image, look: Look, grain: Float32[np.ndarray, "c c"]) -> Image.Image:
    """Lay light, texture and grain over a picture."""
    size = image.width
    noise = np.asarray(Image.fromarray(grain).resize((size, size), Image.Resampling.BICUBIC))
    pixels = (
        np.asarray(image, dtype=np.float32) * _shade(look, size)[:, :, None]
        + look.grain * noise[:, :, None]
    )
    return Image.fromarray(pixels.clip(0.0, 255.0).astype(np.uint8))


def _shade(look: Look, size: int) -> Float32[np.ndarray, "size size"]:
    """Return the factor of light and texture at each pixel, about one."""
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
