"""What is behind the things: skylines of the scene, marks of time and weather in the sky.

Lists of (polygon, role) in picture units, x from 0 left to 1 right and y from 0 top to 1 bottom,
reaching beyond the frame. Roles name colors of the palette.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from jaxtyping import Float64

from core.cave.shapes import Figures, Points, box, corners, disc, move, sector, stroke

Draw = Callable[[float, np.random.Generator], Figures]
_LEFT, _RIGHT, _BOTTOM = -0.25, 1.25, 1.3


def _ground(horizon: float) -> tuple[Points, str]:
    return box(_LEFT, horizon, _RIGHT, _BOTTOM), "ground"


def _steps(low: float, high: float, rng: np.random.Generator) -> list[tuple[float, float]]:
    edges = [_LEFT - rng.uniform(0.0, low)]
    while edges[-1] < _RIGHT:
        edges.append(edges[-1] + rng.uniform(low, high))
    return list(pairwise(edges))


def _band(x: np.ndarray, top: np.ndarray, bottom: np.ndarray | float) -> Points:
    sides = [np.stack([x, np.broadcast_to(line, x.shape)], axis=1) for line in (top, bottom)]
    return np.concatenate([sides[0], sides[1][::-1]])


def _city(horizon: float, rng: np.random.Generator) -> Figures:
    figures: Figures = [
        (box(a, horizon, b, horizon - rng.uniform(0.12, 0.26)), "far")
        for a, b in _steps(0.09, 0.16, rng)
    ]
    for a, b in _steps(0.17, 0.24, rng):
        left, right, height = a + 0.015, b - 0.015, rng.uniform(0.13, 0.28)
        top = horizon - height
        figures.append((box(left, horizon, right, top), "near"))
        if rng.random() < 0.5:
            x = rng.uniform(left + 0.03, right - 0.03)
            figures.append((box(x - 0.008, top, x + 0.008, top - 0.05), "near"))
        columns, rows = int((right - left - 0.02) / 0.055), int((height - 0.02) / 0.06)
        for at in np.linspace(left + 0.045, right - 0.045, columns):
            for row in top + 0.045 + 0.06 * np.arange(rows):
                figures.append((box(at - 0.016, row + 0.018, at + 0.016, row - 0.018), "cap"))
    figures += [_ground(horizon), (box(_LEFT, horizon, _RIGHT, horizon + 0.035), "detail")]
    middle = horizon + rng.uniform(0.2, 0.26)
    start = rng.uniform(0.0, 0.1)
    dash = corners("0,0 0.1,0 0.085,0.025 -0.015,0.025")
    places = np.arange(_LEFT, _RIGHT, 0.2) + start
    return figures + [(move(dash, x, middle), "detail") for x in places]


def _forest(horizon: float, rng: np.random.Generator) -> Figures:
    figures: Figures = []
    for a, b in _steps(0.07, 0.1, rng):
        figures += _conifer((a + b) / 2, horizon + 0.01, 0.13, rng.uniform(0.17, 0.25), "far")
    figures.append(_ground(horizon))
    for a, b in _steps(0.12, 0.18, rng):
        base = horizon + 0.02 + rng.uniform(0.0, 0.02)
        figures += _conifer((a + b) / 2, base, 0.16, rng.uniform(0.17, 0.25), "near")
    tuft = corners("-0.03,0 -0.025,-0.04 0,-0.01 0.008,-0.055 0.02,-0.01 0.04,-0.04 0.035,0")
    for _ in range(9):
        x, y = rng.uniform(0.0, 1.0), rng.uniform(horizon + 0.1, 1.0)
        figures.append((move(tuft, x, y), "detail"))
    return figures


def _conifer(x: float, base: float, width: float, height: float, role: str) -> Figures:
    half, foot = width / 2, base - 0.1 * height
    right = corners("0,-1 0.55,-0.66 0.3,-0.66 0.8,-0.38 0.45,-0.38 1,-0.1")
    tiers = np.concatenate([right, (right[1:] * (-1, 1))[::-1]]) * (half, height)
    return [(move(tiers, x, base), role), (box(x - 0.012, base, x + 0.012, foot), role)]


def _mountains(horizon: float, rng: np.random.Generator) -> Figures:
    figures: Figures = []
    for a, b in _steps(0.26, 0.36, rng):
        figures += _peak((a + b) / 2, horizon, 0.7 * (b - a), rng.uniform(0.16, 0.24), "far")[:2]
    for a, b in _steps(0.34, 0.46, rng):
        half, height = rng.uniform(0.5, 0.62) * (b - a), rng.uniform(0.2, 0.3)
        figures += _peak((a + b) / 2, horizon, half, height, "near")
    figures.append(_ground(horizon))
    stone = corners("-1,0 -0.6,-0.8 0.3,-1 1,0")
    for _ in range(6):
        x, y, r = rng.uniform(0.0, 1.0), rng.uniform(horizon + 0.1, 1.0), rng.uniform(0.025, 0.045)
        figures.append((move(stone * r, x, y), "detail"))
    return figures


def _peak(x: float, base: float, half: float, height: float, role: str) -> Figures:
    def at(places: str) -> Points:
        side, up = corners(places).T
        return np.stack([x + side * half * (1 - up), base - height * up], axis=1)

    cap = "0,1 -1,0.6 -0.55,0.69 -0.2,0.54 0.25,0.68 0.6,0.57 1,0.64"
    shadow = "0,1 0.3,0.62 0.05,0.4 0.35,0 1,0"
    return [(at("-1,0 0,1 1,0"), role), (at(shadow), f"{role} shadow"), (at(cap), "cap")]


def _beach(horizon: float, rng: np.random.Generator) -> Figures:
    x = np.linspace(_LEFT, _RIGHT, 61)
    sea = horizon - 0.07
    shore = horizon + 0.1 + 0.02 * np.sin(2 * np.pi * (0.9 * x + rng.random()))
    figures: Figures = [(box(_LEFT, horizon + 0.2, _RIGHT, sea), "near")]
    for row in (0.035, 0.085, 0.135):
        wave = sea + row + 0.011 * np.sin(2 * np.pi * (7 * x + rng.random()))
        figures.append((_band(x, wave - 0.008, wave + 0.008), "cap"))
    figures.append((_band(x, shore - 0.022, shore + 0.1), "cap"))
    figures.append((_band(x, shore, _BOTTOM), "ground"))
    for _ in range(14):
        place = rng.uniform(0.0, 1.0), rng.uniform(horizon + 0.17, 1.0)
        figures.append((disc(*place, 0.012, 0.008, sides=8), "detail"))
    return figures


def _desert(horizon: float, rng: np.random.Generator) -> Figures:
    x = np.linspace(_LEFT, _RIGHT, 61)
    figures: Figures = []
    for a, b in _steps(0.36, 0.5, rng):
        middle = (a + b) / 2 + rng.uniform(-0.04, 0.04)
        half, height = rng.uniform(0.09, 0.13), rng.uniform(0.15, 0.21)
        top = horizon - height
        ledge = top + 0.4 * height
        heights = np.array([horizon, ledge, top, top, ledge, horizon])
        outline = middle + half * np.array([-1.5, -1.05, -0.85, 0.85, 1.05, 1.5])
        rock = np.stack([outline, heights], axis=1)
        lit = [(middle + 0.3 * half, top), *rock[3:], (middle + 0.5 * half, horizon)]
        ends = middle - 0.97 * half, top + 0.28 * height, middle + 0.97 * half, top + 0.2 * height
        figures += [(rock, "far"), (np.array(lit), "far shadow"), (box(*ends), "near")]
    for role, lift, swing, waves in (("near", 0.045, 0.045, 1.5), ("ground", -0.03, 0.035, 1.1)):
        phase = 2 * np.pi * (waves * rng.uniform(0.85, 1.15) * x + rng.random())
        figures.append((_band(x, horizon - lift - swing * np.sin(phase), _BOTTOM), role))
    for row in (0.14, 0.24, 0.34):
        ripple = horizon + row + 0.022 * np.sin(2 * np.pi * (1.7 * x + rng.random()))
        start = rng.integers(8, 20)
        span = slice(start, start + rng.integers(16, 26))
        swell = 0.009 * np.sin(np.linspace(0.0, np.pi, len(x[span])))
        figures.append((_band(x[span], ripple[span] - swell, ripple[span] + swell), "detail"))
    return figures


def _farm(horizon: float, rng: np.random.Generator) -> Figures:
    x = np.linspace(_LEFT, _RIGHT, 31)
    hill = horizon - 0.05 - 0.02 * np.sin(2 * np.pi * (0.8 * x + rng.random()))
    figures: Figures = [(_band(x, hill, horizon), "far")]
    figures += _barn(rng.uniform(0.15, 0.85), horizon, rng.choice((-1.0, 1.0)))
    figures.append(_ground(horizon))
    vanish, middle = rng.uniform(0.3, 0.7), rng.uniform(-0.1, 0.1)
    for foot in np.arange(-13, 14) * 0.24 + middle:
        near, far = 0.5 + foot, vanish + 0.12 * foot
        xs = far - 0.007, far + 0.007, near + 0.06, near - 0.06
        ys = horizon, horizon, _BOTTOM, _BOTTOM
        figures.append((np.array([*zip(xs, ys, strict=True)]), "detail"))
    top = horizon - 0.045
    for y in (horizon - 0.002, top + 0.018):  # a fence
        figures.append((box(_LEFT, y, _RIGHT, y - 0.014), "cap"))
    for at in np.arange(_LEFT, _RIGHT, 0.1) + rng.uniform(0.0, 0.1):
        figures.append((box(at - 0.011, horizon + 0.03, at + 0.011, top - 0.02), "cap"))
    return figures


def _barn(x: float, horizon: float, side: float) -> Figures:
    wall = corners(
        "-0.12,0 -0.12,-0.13 -0.085,-0.2 0,-0.245 0.085,-0.2 0.12,-0.13 0.12,0",
    )
    dome = sector(0.18 * side, -0.19, 0.045, 0.05, arc=(180.0, 360.0), sides=9)
    feet = np.array([(0.18 * side + 0.045, 0.0), (0.18 * side - 0.045, 0.0)])
    door = [
        stroke(corners("-0.06,0 -0.06,-0.105 0.06,-0.105 0.06,0"), 0.016),
        stroke(corners("-0.055,0 0.055,-0.1"), 0.014),
        stroke(corners("-0.055,-0.1 0.055,0"), 0.014),
    ]
    figures: Figures = [(np.concatenate([dome, feet]), "far"), (wall, "near")]
    figures += [(part, "cap") for part in door]
    return [(move(part, x, horizon), role) for part, role in figures]


# behind the horizon, back to front
SCENES: dict[str, Draw] = {
    "city": _city,
    "forest": _forest,
    "mountains": _mountains,
    "beach": _beach,
    "desert": _desert,
    "farm": _farm,
}


def _morning(x: float, rng: np.random.Generator) -> Figures:
    y, start = 0.25 + rng.uniform(-0.02, 0.02), rng.uniform(0.0, 36.0)
    figures: Figures = [(disc(x, y, 0.07), "mark")]
    for angle in np.deg2rad(np.arange(10) * 36.0 + start):
        way = np.array((np.cos(angle), np.sin(angle)))
        ray = stroke(np.stack([0.095 * way, 0.155 * way]), 0.024)
        figures.append((move(ray, x, y), "mark"))
    return figures


def _evening(x: float, rng: np.random.Generator) -> Figures:
    y = 0.24 + rng.uniform(-0.02, 0.02)
    half = sector(x, y, 0.125, arc=(180.0, 360.0))
    bars = [box(x - w, y + d + 0.023, x + w, y + d) for w, d in ((0.2, 0.024), (0.1, 0.07))]
    return [(part, "mark") for part in (half, *bars)]


def _night(x: float, rng: np.random.Generator) -> Figures:
    y = 0.17 + rng.uniform(-0.02, 0.02)
    outer = sector(0.0, 0.0, 0.115, arc=(-115.0, 115.0), sides=18)
    inner = sector(-0.05, 0.0, 0.104, arc=(100.0, -100.0), sides=18)
    places = [
        (x + dx + rng.uniform(-0.03, 0.03), 0.15 + rng.uniform(-0.06, 0.1))
        for dx in (-0.72, -0.55, -0.38, -0.22, 0.22, 0.38, 0.55, 0.72)
    ]
    corner = np.arange(8)
    angle = corner * np.pi / 4
    stars = []
    for place in places:
        reach = np.where(corner % 2 == 0, r := rng.uniform(0.03, 0.042), 0.35 * r)
        stars.append(
            np.stack([place[0] + reach * np.sin(angle), place[1] - reach * np.cos(angle)], axis=1)
        )
    crescent = move(np.concatenate([outer, inner]), x, y)
    return [(part, "mark") for part in (crescent, *stars)]


def _cloudy(x: float, rng: np.random.Generator) -> Figures:
    figures: Figures = []
    puffs = (-0.085, 0.0, 0.045), (-0.03, -0.03, 0.06), (0.045, -0.02, 0.052), (0.095, 0.005, 0.038)
    for away in (0.32, 0.64, 0.96):
        place = x + away * 1.02 + rng.uniform(-0.04, 0.04)
        inside = (place + 0.1) % 1.2 - 0.1  # the frame's width and a little beyond
        y, scale = rng.uniform(0.1, 0.24), rng.uniform(0.85, 1.15)
        discs = [
            disc(inside + scale * dx, y + scale * dy, scale * r, sides=16) for dx, dy, r in puffs
        ]
        foot = box(inside - 0.09 * scale, y + 0.044 * scale, inside + 0.1 * scale, y - 0.01)
        figures += [(part, "cloud") for part in (*discs, foot)]
    return figures


def _rainy(_sun: float, rng: np.random.Generator) -> Figures:
    lean = rng.uniform(0.2, 0.45) * rng.choice((-1.0, 1.0))
    way = 0.042 * np.array((lean, 1.0)) / np.hypot(lean, 1.0)
    streak = stroke(np.stack([-way, way]), 0.018)
    return [(streak + spot, "fall") for spot in _scatter(7, rng)]


def _scatter(per_side: int, rng: np.random.Generator) -> Float64[np.ndarray, "n 2"]:
    axis = (np.arange(per_side) + 0.5) / per_side
    lattice = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    return np.asarray(lattice + rng.uniform(-0.3, 0.3, lattice.shape) / per_side)


# near x: a low sun with rays, a high disc, half a disc over bars, a crescent with stars
TIMES: dict[str, Draw] = {
    "morning": _morning,
    "noon": lambda x, rng: [(disc(x, 0.16 + rng.uniform(-0.02, 0.02), 0.115, sides=32), "mark")],
    "evening": _evening,
    "night": _night,
}
# the sky near x stays free
WEATHERS: dict[str, Draw] = {
    "clear": lambda _x, _rng: [],
    "cloudy": _cloudy,
    "rainy": _rainy,
    "snowy": lambda _, rng: [
        (disc(x, y, rng.uniform(0.016, 0.024), sides=10), "fall") for x, y in _scatter(7, rng)
    ],
}
