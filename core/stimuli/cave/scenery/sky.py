"""Marks in the sky: what shows the time of day and the weather."""

from __future__ import annotations

import numpy as np

from core.stimuli.cave.shapes import Figures, Points, box, disc, move, sector, stroke


def draw_time(time: str, x: float, rng: np.random.Generator) -> Figures:
    """Return the mark of a time of day near `x`: low sun with rays, high disc, half disc over bars,
    crescent with stars.
    """
    return _TIMES[time](x, rng)


def draw_weather(weather: str, x: float, rng: np.random.Generator) -> Figures:
    """Return the marks of a weather, leaving the sky near `x` free: clouds, streaks, flakes or
    none.
    """
    return _WEATHERS[weather](x, rng)


def _morning(x: float, rng: np.random.Generator) -> Figures:
    y, start = 0.25 + rng.uniform(-0.02, 0.02), rng.uniform(0.0, 36.0)
    rays = []
    for angle in np.deg2rad(np.arange(10) * 36.0 + start):
        way = np.array((np.cos(angle), np.sin(angle)))
        rays.append(move(stroke(np.stack([0.095 * way, 0.155 * way]), 0.024), x, y))
    return [(disc(x, y, 0.07), "mark"), *((ray, "mark") for ray in rays)]


def _noon(x: float, rng: np.random.Generator) -> Figures:
    y = 0.16 + rng.uniform(-0.02, 0.02)
    return [(disc(x, y, 0.115, sides=32), "mark")]


def _evening(x: float, rng: np.random.Generator) -> Figures:
    y = 0.24 + rng.uniform(-0.02, 0.02)
    half = sector(x, y, 0.125, arc=(180.0, 360.0))
    bars = [box(x - w, y + d + 0.023, x + w, y + d) for w, d in ((0.2, 0.024), (0.1, 0.07))]
    return [(half, "mark"), *((bar, "mark") for bar in bars)]


def _night(x: float, rng: np.random.Generator) -> Figures:
    y = 0.17 + rng.uniform(-0.02, 0.02)
    outer = sector(0.0, 0.0, 0.115, arc=(-115.0, 115.0), sides=18)
    inner = sector(-0.05, 0.0, 0.104, arc=(100.0, -100.0), sides=18)
    crescent = np.concatenate([outer, inner])
    stars = [
        (x + dx + rng.uniform(-0.03, 0.03), 0.15 + rng.uniform(-0.06, 0.1))
        for dx in (-0.72, -0.55, -0.38, -0.22, 0.22, 0.38, 0.55, 0.72)
    ]
    return [
        (move(crescent, x, y), "mark"),
        *((_star(*star, rng.uniform(0.03, 0.042)), "mark") for star in stars),
    ]


def _star(x: float, y: float, r: float) -> Points:
    angle = np.arange(8) * np.pi / 4
    radius = np.where(np.arange(8) % 2 == 0, r, 0.35 * r)
    return np.stack([x + radius * np.sin(angle), y - radius * np.cos(angle)], axis=1)


def _clear(_sun: float, _rng: np.random.Generator) -> Figures:
    return []


def _cloudy(x: float, rng: np.random.Generator) -> Figures:
    figures: Figures = []
    for away in (0.32, 0.64, 0.96):
        figures += _cloud(
            _wrap(x + away * 1.02 + rng.uniform(-0.04, 0.04)),
            rng.uniform(0.1, 0.24),
            rng.uniform(0.85, 1.15),
        )
    return figures


def _cloud(x: float, y: float, scale: float) -> Figures:
    puffs = [
        (-0.085, 0.0, 0.045),
        (-0.03, -0.03, 0.06),
        (0.045, -0.02, 0.052),
        (0.095, 0.005, 0.038),
    ]
    figures: Figures = [
        (disc(x + scale * dx, y + scale * dy, scale * r, sides=16), "cloud") for dx, dy, r in puffs
    ]
    return [
        *figures,
        (box(x - 0.09 * scale, y + 0.044 * scale, x + 0.1 * scale, y - 0.01), "cloud"),
    ]


def _wrap(x: float) -> float:
    """Return a place within the frame's width and a little beyond."""
    return (x + 0.1) % 1.2 - 0.1


def _rainy(_sun: float, rng: np.random.Generator) -> Figures:
    lean = rng.uniform(0.2, 0.45) * rng.choice((-1.0, 1.0))
    way = 0.042 * np.array((lean, 1.0)) / np.hypot(lean, 1.0)
    streak = stroke(np.stack([-way, way]), 0.018)
    return [(streak + spot, "fall") for spot in _scatter(7, rng)]


def _snowy(_sun: float, rng: np.random.Generator) -> Figures:
    return [(disc(x, y, rng.uniform(0.016, 0.024), sides=10), "fall") for x, y in _scatter(7, rng)]


def _scatter(per_side: int, rng: np.random.Generator) -> Points:
    """Return a jittered lattice of places over the picture."""
    axis = (np.arange(per_side) + 0.5) / per_side
    lattice = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    return np.asarray(lattice + rng.uniform(-0.3, 0.3, lattice.shape) / per_side)


_TIMES = {"morning": _morning, "noon": _noon, "evening": _evening, "night": _night}
_WEATHERS = {"clear": _clear, "cloudy": _cloudy, "rainy": _rainy, "snowy": _snowy}
