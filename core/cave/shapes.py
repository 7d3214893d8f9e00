"""Plane figures as polygons: the only thing the Cave draws with, so that every viewpoint is one
matrix.

The sixteen kinds of things as icons: flat parts in a box about one wide and one high, standing
on y = 0 and facing right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float64

Points = Float64[np.ndarray, "_ 2"]  # corners in order, closed; no two lists need be of one length
Figures = list[tuple[Points, str]]  # polygons with the roles of their colors, back to front


def polygon(*corners: tuple[float, float]) -> Points:
    """Return the polygon through `corners`."""
    return np.array(corners, dtype=np.float64)


def box(left: float, bottom: float, right: float, top: float) -> Points:
    """Return an upright rectangle."""
    return polygon((left, bottom), (right, bottom), (right, top), (left, top))


def disc(
    x: float, y: float, rx: float, ry: float | None = None, *, turn: float = 0.0, sides: int = 20
) -> Points:
    """Return an ellipse about (x, y), turned by `turn` degrees."""
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
    """Return `points` moved by (x, y)."""
    moved: np.ndarray = points + np.array((x, y))
    return moved


def rotate(points: Points, degrees: float) -> Points:
    """Return `points` turned about the origin."""
    if degrees == 0.0:
        return points
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    rotated: np.ndarray = points @ np.array([[c, s], [-s, c]])
    return rotated


def stroke(corners: Sequence[tuple[float, float]] | Points, width: float) -> Points:
    """Return the band of `width` along a polyline."""
    path = np.asarray(corners, dtype=np.float64)
    along = np.diff(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = _miter(np.vstack([along[:1], along]), np.vstack([along, along[-1:]])) * (width / 2)
    return np.concatenate([path + side, (path - side)[::-1]])


def grow(points: Points, width: float) -> Points:
    """Return the polygon with every edge moved outward by `width`; no corner may be given twice in
    a row.
    """
    x, y = points.T
    around = (
        points if np.dot(x, np.roll(y, -1)) > np.dot(y, np.roll(x, -1)) else points[::-1]
    )  # counterclockwise
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
    outer: bool = True


def _icon(*parts: Part) -> tuple[Part, ...]:
    """Return the parts with the halos of the silhouette beneath them."""
    return tuple(Part(grow(part.points, _RIM), "halo") for part in parts if part.outer) + parts


def _detail(points: Points, paint: str) -> Part:
    return Part(points, paint, outer=False)


def _main(points: Points) -> Part:
    return Part(points, "main")


def _line(path: Sequence[tuple[float, float]], width: float) -> Part:
    """Return a thin stroke in the halo's own color, which stands out from any ground."""
    return Part(stroke(path, width), "halo", outer=False)


def _car() -> tuple[Part, ...]:
    return _icon(
        _main(
            polygon(
                (-0.56, 0.12),
                (0.56, 0.12),
                (0.58, 0.28),
                (0.52, 0.37),
                (0.26, 0.4),
                (0.1, 0.62),
                (-0.32, 0.62),
                (-0.46, 0.4),
                (-0.56, 0.36),
            )
        ),
        Part(disc(-0.3, 0.13, 0.14), "ink"),
        Part(disc(0.31, 0.13, 0.14), "ink"),
        _detail(disc(-0.3, 0.13, 0.06), "paper"),
        _detail(disc(0.31, 0.13, 0.06), "paper"),
        _detail(polygon((-0.35, 0.39), (-0.26, 0.54), (-0.12, 0.54), (-0.12, 0.39)), "paper"),
        _detail(polygon((-0.06, 0.39), (-0.06, 0.54), (0.06, 0.54), (0.15, 0.39)), "paper"),
        _detail(box(0.46, 0.25, 0.58, 0.33), "paper"),
    )


def _lamp() -> tuple[Part, ...]:
    return _icon(
        Part(
            stroke(
                [(-0.2, 0.05), (-0.2, 0.8), (-0.12, 0.95), (0.05, 1.0), (0.17, 0.95), (0.2, 0.85)],
                0.09,
            ),
            "shade",
        ),
        Part(box(-0.36, 0.0, -0.04, 0.1), "shade"),
        Part(disc(0.2, 0.47, 0.13), "paper"),
        _main(polygon((0.1, 0.86), (0.3, 0.86), (0.48, 0.48), (-0.08, 0.48))),
    )


def _bench() -> tuple[Part, ...]:
    return _icon(
        _line([(-0.4, 0.0), (-0.32, 0.78)], 0.1),
        _line([(0.32, 0.0), (0.4, 0.78)], 0.1),
        _main(polygon((-0.5, 0.57), (0.52, 0.57), (0.54, 0.72), (-0.48, 0.72))),
        _main(polygon((-0.52, 0.39), (0.5, 0.39), (0.52, 0.52), (-0.5, 0.52))),
        _main(polygon((-0.56, 0.33), (0.5, 0.33), (0.6, 0.17), (-0.46, 0.17))),
        _line([(0.42, 0.5), (0.62, 0.5), (0.58, 0.0)], 0.09),
    )


def _house() -> tuple[Part, ...]:
    return _icon(
        Part(box(0.18, 0.55, 0.34, 0.96), "shade"),
        _main(box(-0.4, 0.0, 0.4, 0.55)),
        Part(polygon((-0.54, 0.47), (0.0, 0.93), (0.54, 0.47)), "shade"),
        _detail(box(0.06, 0.0, 0.26, 0.34), "ink"),
        _detail(box(-0.28, 0.18, -0.06, 0.38), "paper"),
        _detail(box(-0.18, 0.18, -0.155, 0.38), "ink"),
    )


def _tree() -> tuple[Part, ...]:
    return _icon(
        Part(polygon((-0.1, 0.0), (0.1, 0.0), (0.06, 0.5), (-0.06, 0.5)), "ink"),
        Part(stroke([(0.0, 0.17), (0.36, 0.36)], 0.05), "ink"),
        _main(disc(-0.2, 0.58, 0.25)),
        _main(disc(0.17, 0.62, 0.24)),
        _main(disc(-0.02, 0.8, 0.24)),
        _main(disc(0.38, 0.4, 0.14)),
        _detail(disc(-0.24, 0.62, 0.1), "shade"),
        _detail(disc(0.16, 0.7, 0.1), "shade"),
    )


def _mushroom() -> tuple[Part, ...]:
    tilt = -8.0
    cap = rotate(
        np.concatenate(
            [
                sector(0.0, 0.0, 0.52, 0.5, arc=(0.0, 180.0)),
                polygon((-0.46, -0.08), (0.46, -0.08)),
            ]
        ),
        tilt,
    )
    spots = [(0.02, 0.33, 0.1), (-0.27, 0.13, 0.085), (0.29, 0.11, 0.085)]
    return _icon(
        Part(polygon((-0.2, 0.0), (0.16, 0.0), (0.14, 0.5), (-0.13, 0.5)), "paper"),
        Part(disc(0.3, 0.07, 0.16, 0.06, turn=25.0), "shade"),
        _main(move(cap, 0.0, 0.45)),
        *(_detail(move(rotate(disc(x, y, r), tilt), 0.0, 0.45), "paper") for x, y, r in spots),
    )


def _tent() -> tuple[Part, ...]:
    return _icon(
        _main(polygon((-0.62, 0.0), (-0.3, 0.6), (0.16, 0.74), (-0.1, 0.0))),
        Part(polygon((-0.1, 0.0), (0.16, 0.74), (0.58, 0.0)), "shade"),
        _detail(polygon((0.08, 0.0), (0.17, 0.5), (0.36, 0.0)), "ink"),
    )


def _flower() -> tuple[Part, ...]:
    petals = [
        disc(0.27 * np.cos(a), 0.27 * np.sin(a), 0.17, 0.13, turn=float(np.rad2deg(a)))
        for a in np.arange(6) * np.pi / 3 + 0.5
    ]
    return _icon(
        _line([(-0.06, 0.0), (0.0, 0.2), (0.0, 0.6)], 0.1),
        Part(disc(0.18, 0.15, 0.16, 0.07, turn=35.0), "shade"),
        *(_main(move(petal, 0.0, 0.66)) for petal in petals),
        _main(disc(0.0, 0.66, 0.2)),
        _detail(disc(0.0, 0.66, 0.13), "paper"),
    )


def _boat() -> tuple[Part, ...]:
    return _icon(
        _line([(-0.02, 0.2), (-0.02, 1.02)], 0.09),
        Part(polygon((0.06, 0.34), (0.06, 0.96), (0.5, 0.34)), "paper"),
        Part(polygon((-0.1, 0.34), (-0.1, 0.82), (-0.4, 0.34)), "shade"),
        _main(polygon((-0.52, 0.28), (0.62, 0.28), (0.36, 0.0), (-0.4, 0.0))),
        _detail(polygon((-0.5, 0.22), (0.565, 0.22), (0.52, 0.17), (-0.48, 0.17)), "paper"),
    )


def _umbrella() -> tuple[Part, ...]:
    dome = sector(0.0, 0.5, 0.54, 0.48, arc=(0.0, 180.0), sides=21)
    scallops = np.concatenate(
        [
            sector(x, 0.5, 0.135, 0.07, arc=(180.0, 0.0), sides=6)[1:]
            for x in (-0.405, -0.135, 0.135, 0.405)
        ]
    )
    strip = sector(0.0, 0.5, 0.2, 0.48, arc=(0.0, 180.0))
    return _icon(
        _line([(0.0, 0.55), (0.0, 0.1), (0.05, 0.04), (0.15, 0.04), (0.2, 0.14)], 0.1),
        _main(np.concatenate([dome, scallops[:-1]])),
        _detail(np.concatenate([strip, polygon((-0.1, 0.46), (0.1, 0.46))]), "paper"),
        _detail(sector(0.0, 0.5, 0.065, 0.48, arc=(0.0, 180.0)), "main"),
    )


def _ball() -> tuple[Part, ...]:
    pole = polygon((0.12, 0.55))
    rims = [
        sector(0.0, 0.4, 0.39, arc=(start, start + 55.0), sides=8) for start in (20.0, 140.0, 260.0)
    ]
    return _icon(
        _main(disc(0.0, 0.4, 0.4, sides=28)),
        *(_detail(np.concatenate([pole, rim]), "paper") for rim in rims),
        _detail(disc(0.12, 0.55, 0.08), "shade"),
    )


def _kite() -> tuple[Part, ...]:
    corners = polygon((0.0, 0.4), (0.36, 0.08), (0.0, -0.4), (-0.36, 0.08), (0.0, 0.08))
    top, right, bottom, left, cross = move(rotate(corners, -24.0), 0.06, 0.64)
    bows = [(-0.24, 0.19), (-0.12, 0.07)]
    return _icon(
        _line([(bottom[0], bottom[1]), *bows, (-0.26, 0.0)], 0.06),
        *(
            _main(
                polygon(
                    (x - 0.09, y + 0.06),
                    (x - 0.09, y - 0.05),
                    (x + 0.09, y + 0.06),
                    (x + 0.09, y - 0.05),
                )
            )
            for x, y in bows
        ),
        _main(np.stack([top, right, bottom, left])),
        _detail(np.stack([top, right, cross]), "shade"),
        _detail(np.stack([bottom, left, cross]), "shade"),
    )


def _cactus() -> tuple[Part, ...]:
    ticks = [(0.0, 0.75), (0.0, 0.52), (0.0, 0.28), (0.34, 0.66), (-0.31, 0.45)]
    return _icon(
        _main(stroke([(0.0, 0.5), (0.34, 0.5), (0.34, 0.78)], 0.19)),
        _main(disc(0.34, 0.78, 0.095)),
        _main(stroke([(0.0, 0.3), (-0.31, 0.3), (-0.31, 0.54)], 0.18)),
        _main(disc(-0.31, 0.54, 0.09)),
        _main(box(-0.14, 0.0, 0.14, 0.86)),
        _main(disc(0.0, 0.86, 0.14)),
        *(_detail(stroke([(x, y - 0.05), (x, y + 0.05)], 0.045), "paper") for x, y in ticks),
    )


def _barrel() -> tuple[Part, ...]:
    height = np.linspace(0.0, 0.82, 9)
    bulge = 0.31 + 0.1 * np.sin(np.pi * height / 0.82)
    side = np.stack([bulge, height], axis=1)
    hoops = [box(-0.375, 0.16, 0.375, 0.24), box(-0.375, 0.56, 0.375, 0.64)]
    return _icon(
        _line([(0.3, 0.34), (0.52, 0.34), (0.52, 0.18)], 0.12),
        _main(np.concatenate([side, (side * (-1, 1))[::-1]])),
        Part(disc(0.0, 0.82, 0.31, 0.09), "shade"),
        *(_detail(hoop, "ink") for hoop in hoops),
        _detail(box(-0.14, 0.26, -0.11, 0.54), "shade"),
        _detail(box(0.1, 0.26, 0.13, 0.54), "shade"),
    )


def _cat() -> tuple[Part, ...]:
    return _icon(
        _main(stroke([(-0.2, 0.07), (-0.46, 0.1), (-0.52, 0.3), (-0.42, 0.48)], 0.11)),
        _main(disc(-0.08, 0.26, 0.3, 0.27)),
        _main(polygon((-0.18, 0.3), (0.24, 0.0), (0.32, 0.0), (0.28, 0.6), (0.0, 0.6))),
        _main(polygon((-0.04, 0.7), (-0.03, 1.0), (0.16, 0.84))),
        _main(polygon((0.2, 0.84), (0.39, 1.0), (0.4, 0.7))),
        _main(disc(0.18, 0.68, 0.25, 0.21)),
        _detail(disc(0.13, 0.71, 0.04, 0.055), "ink"),
        _detail(disc(0.3, 0.71, 0.04, 0.055), "ink"),
        _detail(polygon((0.18, 0.61), (0.28, 0.61), (0.23, 0.55)), "paper"),
        _detail(disc(0.2, 0.3, 0.07, 0.14), "paper"),
    )


def _bird() -> tuple[Part, ...]:
    return _icon(
        _line([(-0.04, 0.3), (-0.02, 0.0)], 0.08),
        _line([(0.12, 0.3), (0.12, 0.0)], 0.08),
        _main(polygon((-0.2, 0.36), (-0.64, 0.62), (-0.56, 0.76), (-0.1, 0.62))),
        Part(polygon((0.4, 0.82), (0.68, 0.68), (0.4, 0.6)), "ink"),
        _main(disc(0.02, 0.45, 0.36, 0.27)),
        _main(disc(0.27, 0.7, 0.21)),
        _detail(disc(-0.1, 0.48, 0.24, 0.14, turn=20.0), "shade"),
        _detail(disc(0.32, 0.75, 0.06), "paper"),
        _detail(disc(0.34, 0.75, 0.03), "ink"),
    )


ICONS: dict[str, tuple[Part, ...]] = {
    "car": _car(),
    "lamp": _lamp(),
    "bench": _bench(),
    "house": _house(),
    "tree": _tree(),
    "mushroom": _mushroom(),
    "tent": _tent(),
    "flower": _flower(),
    "boat": _boat(),
    "umbrella": _umbrella(),
    "ball": _ball(),
    "kite": _kite(),
    "cactus": _cactus(),
    "barrel": _barrel(),
    "cat": _cat(),
    "bird": _bird(),
}
