"""Plane figures as polygons: the only thing the Cave draws with, so that every viewpoint is one
matrix; and the icons of its things, from icons.svg.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element, parse

import numpy as np
from jaxtyping import Float64

Points = Float64[np.ndarray, "_ 2"]  # corners in order, closed; no two lists need be of one length
Figures = list[tuple[Points, str]]  # polygons with the roles of their colors, back to front


@cache
def corners(text: str) -> Points:
    """Return the points that a text gives as SVG does, "x,y x,y"."""
    points = np.array([tuple(map(float, pair.split(","))) for pair in text.split()])
    points.flags.writeable = False
    return points


def box(left: float, bottom: float, right: float, top: float) -> Points:
    return np.array([(left, bottom), (right, bottom), (right, top), (left, top)])


def disc(
    x: float, y: float, rx: float, ry: float | None = None, *, turn: float = 0.0, sides: int = 20
) -> Points:
    return sector(x, y, rx, ry, arc=(0.0, 360.0 * (1 - 1 / sides)), turn=turn, sides=sides)


def sector(
    x: float,
    y: float,
    rx: float,
    ry: float | None = None,
    *,
    arc: tuple[float, float],
    turn: float = 0.0,
    sides: int = 14,
) -> Points:
    """Return the part of an ellipse from one angle to another in degrees, closed by its chord."""
    curve = _arc(*arc, sides) * (rx, rx if ry is None else ry)
    return move(rotate(curve, turn), x, y)


@cache
def _arc(start: float, stop: float, sides: int) -> Points:
    angle = np.deg2rad(np.linspace(start, stop, sides))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def move(points: Points, x: float, y: float) -> Points:
    moved: np.ndarray = points + np.array((x, y))
    return moved


def rotate(points: Points, degrees: float) -> Points:
    if degrees == 0.0:
        return points
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    rotated: np.ndarray = points @ np.array([[c, s], [-s, c]])
    return rotated


def stroke(path: Points, width: float) -> Points:
    """Return the band of `width` along a polyline."""
    along = np.diff(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = _miter(np.vstack([along[:1], along]), np.vstack([along, along[-1:]])) * (width / 2)
    return np.concatenate([path + side, (path - side)[::-1]])


def grow(points: Points, width: float) -> Points:
    """Return the polygon with every edge moved outward by `width`; no corner may be given twice in
    a row.
    """
    x, y = points.T
    counterclockwise = np.dot(x, np.roll(y, -1)) > np.dot(y, np.roll(x, -1))
    around = points if counterclockwise else points[::-1]
    along = np.roll(around, -1, axis=0) - around
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return around - _miter(np.roll(along, 1, axis=0), along) * width


def _miter(before: Points, after: Points) -> Points:
    """Return at each corner the way that moves both of its edges by one to the left, at most two
    long.
    """
    normal = np.stack([-(before + after)[:, 1], (before + after)[:, 0]], axis=1)
    reach = np.maximum(1 + np.sum(before * after, axis=1, keepdims=True), 0.5)
    miter: np.ndarray = normal / reach
    return miter


_RIM = 0.045  # width of the halo that sets a thing off, in icon units


@dataclass(frozen=True)
class Part:
    """One flat piece of an icon: its polygon, the role its color is looked up by, and whether it
    belongs to the silhouette.
    """

    points: Points
    paint: str
    outer: bool


def _read_part(shape: Element) -> Part:
    kind, look = shape.tag.rpartition("}")[2], shape.attrib
    paint, *outer = look["class"].split()
    if kind in ("polygon", "polyline"):
        points = corners(look["points"])
        if kind == "polyline":
            points = stroke(points, float(look["stroke-width"]))
    else:
        x, y = float(look["cx"]), float(look["cy"])
        radii = float(look.get("r") or look["rx"]), float(look.get("r") or look["ry"])
        turn = float(look.get("transform", "rotate(0 ").removeprefix("rotate(").split()[0])
        points = disc(x, y, *radii, turn=turn, sides=int(look.get("data-sides", 20)))
    return Part(points, paint, bool(outer))


def _read_icons() -> dict[str, list[Part]]:
    icons = {}
    for group in parse(Path(__file__).parent / "icons.svg").getroot():
        if kind := group.get("id"):
            parts = [_read_part(shape) for shape in group]
            halos = [Part(grow(one.points, _RIM), "halo", True) for one in parts if one.outer]
            icons[kind] = halos + parts
    return icons


ICONS = _read_icons()
