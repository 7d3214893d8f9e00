"""Names of dots, none over another or over a dot, and off the lines of the plot if they can."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from core.figures.drawing import Tree
from core.figures.grammar import Mark, Panel, Size
from core.figures.texts import Template, fill
from core.figures.theme import INK, Mode, clear, legible

# Widths and heights of the plot in pixels: on a phone, and in windows from 800 pixels on.
PHONE: tuple[tuple[float, float], ...] = ((262, 365),)
DESK: tuple[tuple[float, float], ...] = ((330, 370), (480, 420), (700, 440), (1000, 440))
TEXT = 12  # pixels
LETTER, LINE = 0.56 * TEXT, 1.3 * TEXT  # of a name, on average
CAPITALS = 1.25  # times as wide
SIDES = {"middle right": (1, 0), "middle left": (-1, 0), "top center": (0, 1)}
SIDES |= {"bottom center": (0, -1)}
GAP, END = 2.0, 4.0  # pixels from a dot to its name; of the end of a line
DISTANCES, DIRECTIONS = (22.0, 32.0, 44.0, 58.0, 74.0, 92.0), 16
NEAR, MISTAKEN = 9.0, 6.0  # pixels to a dot whose name it seems to be; the cost of that
PASSES = 4  # in which each name moves to where the others leave room
STEPS = np.linspace(0.0, 1.0, 60)  # along a line of the plot
LINK = np.linspace(0.0, 1.0, 11)  # along a line to a name

Points = Float64[np.ndarray, "... 2"]
Boxes = Float64[np.ndarray, "... 4"]  # left, low, right, high


@dataclass(frozen=True)
class Spot:
    """Where a name stands: at a side of its dot, or of the end of a line from it that is (x, y)
    of the plot's width and height long.
    """

    side: str
    x: float = 0.0
    y: float = 0.0

    @property
    def is_far(self) -> bool:
        return bool(self.x or self.y)


@dataclass(frozen=True, eq=False)
class Labels(Mark):
    """The name of each dot, at the end of a thin line if there is no room next to it, and left out
    if there is none at all. Both axes need a range. A dot with an empty text is not covered either.

    size: a column, or as of the dots. low, high: ends of their intervals. lines: x and y of other
    lines that names avoid, by `line`. hued: whether names have the colors of the dots. head: a
    column that is true for bold names of places without a dot. reach: of thin lines, in pixels.
    desk: as `DESK`.
    """

    x: str
    y: str
    text: Template
    size: str | Size
    low: str = ""
    high: str = ""
    lines: pd.DataFrame | None = None
    hued: bool = False
    head: str = ""
    reach: float = DISTANCES[-1]
    desk: Sequence[tuple[float, float]] = DESK

    def prepared(self, table: pd.DataFrame, mode: Mode) -> pd.DataFrame:
        rows = super().prepared(table, mode)
        head = rows[self.head].astype(bool) if self.head else pd.Series(False, rows.index)
        given = rows[self.size] if isinstance(self.size, str) else self.size.diameters(rows)
        sizes, keys = given.mask(head, 0.0), rows["_key"].mask(head, "")
        return rows.assign(_size=sizes, _head=head, _key=keys)

    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        frame = _Frame(panel)
        dots = frame.shares(rows[self.x], rows[self.y])
        lines = []
        if self.lines is not None:
            lines += [frame.shares(one["x"], one["y"]) for _, one in self.lines.groupby("line")]
        if self.low:
            sides = [frame.shares(rows[self.x], rows[end]) for end in (self.low, self.high)]
            lines += list(np.stack(sides, axis=1))
        texts = [fill(self.text, row, escape=False) for row in rows.to_dict("records")]
        spots = place(
            texts,
            dots,
            rows["_size"].to_numpy(float),
            lines,
            [frame.within(area) for area in (PHONE if panel.narrow else self.desk)],
            self.reach,
        )
        kept = np.array([spot is not None for spot in spots])
        there = [spot for spot in spots if spot]
        ends = frame.values(dots[kept] + np.array([(one.x, one.y) for one in there]).reshape(-1, 2))
        rows = rows[kept]
        texts = [fill(self.text, row) for row in rows.to_dict("records")]
        rows = rows.assign(
            _text=[
                f"<b>{text}</b>" if head else text
                for text, head in zip(texts, rows["_head"], strict=True)
            ],
            _side=[one.side for one in there],
            _far=[one.is_far for one in there],
            _end_x=ends[:, 0],
            _end_y=ends[:, 1],
        )
        ink = INK[panel.mode]
        for group, color, part in self._groups(rows):
            far = part[part["_far"] & ~part["_head"]]
            silent = {"type": "scatter", "hoverinfo": "skip", **group}
            if len(far):
                pairs = (far[[self.x, "_end_x"]], far[[self.y, "_end_y"]])
                x, y = (
                    np.pad(pair.to_numpy(float), ((0, 0), (0, 1)), constant_values=np.nan)
                    for pair in pairs
                )
                line = {"color": clear(ink.soft, 0.7), "width": 1}
                yield {"x": x.ravel(), "y": y.ravel(), "mode": "lines", "line": line, **silent}
            yield {
                "x": part["_end_x"],
                "y": part["_end_y"],
                "mode": "markers+text",
                "marker": {"size": part["_size"].mask(part["_far"], END).tolist(), "opacity": 0},
                "text": part["_text"].tolist(),
                "textposition": part["_side"].tolist(),
                "textfont": {"size": TEXT, "color": self._ink(color, panel.mode)},
                "cliponaxis": False,
                **silent,
            }

    def _groups(self, rows: pd.DataFrame) -> Iterator[tuple[Tree, str, pd.DataFrame]]:
        for group, _, part in super()._groups(rows):
            for color, some in part.groupby("_color", sort=False):
                yield group, str(color), some

    def _ink(self, color: str, mode: Mode) -> str:
        return legible(color, mode) if self.hued and color else INK[mode].text


class _Frame:
    """A panel's range: what is where, in shares of its width and height."""

    def __init__(self, panel: Panel) -> None:
        self.logs, self.equal = [panel.x.log, panel.y.log], panel.y.equal
        (left, right), (bottom, top) = panel.x.range or (0, 1), panel.y.range or (0, 1)
        self.low = self._scaled(left, bottom)
        self.span = self._scaled(right, top) - self.low

    def _scaled(self, x: Any, y: Any) -> Points:
        values = [np.asarray(one, float) for one in (x, y)]
        values = [np.log10(one) if log else one for one, log in zip(values, self.logs, strict=True)]
        return np.stack(values, axis=-1).astype(float)

    def within(self, area: tuple[float, float]) -> tuple[float, float]:
        """Return the part of an area that the range takes: less than all if both axes have one
        scale.
        """
        if not self.equal:
            return area
        across, up = self.span * min(np.array(area) / self.span)
        return float(across), float(up)

    def shares(self, x: pd.Series, y: pd.Series) -> Points:
        """Return where the values are."""
        return (self._scaled(x, y) - self.low) / self.span

    def values(self, shares: Points) -> Points:
        """Return the values that are there."""
        values = self.low + shares * self.span
        return np.where(self.logs, 10.0**values, values)


@dataclass(frozen=True)
class _Offer:
    """The box of a name at each spot and the line to it from its dot, in each area, and the cost:
    infinite if it would leave the plot or cover a dot.
    """

    boxes: Boxes
    links: Points
    costs: Float64[np.ndarray, " spots"]


def place(
    texts: Sequence[str],
    dots: Points,
    sizes: Float64[np.ndarray, " n"],
    lines: Sequence[Points],
    areas: Sequence[tuple[float, float]],
    reach: float = DISTANCES[-1],
) -> list[Spot | None]:
    """Return where the text of each dot stands; None if it would cover a text or a dot everywhere
    or leave the plot. The fewest lines are covered, by the shortest way.

    texts: an empty one has no place. dots, lines: in shares of the plot's width and height. sizes:
    of the dots in pixels. areas: widths and heights of the plot in pixels, in each of which all
    stands clear. reach: of the lines to names, in pixels of the first area.
    """
    pixels, spots = np.array(areas, float), _spots(*areas[0], reach)
    centers = dots[:, None] * pixels
    half = sizes[:, None, None] / 2
    covered = np.concatenate([centers - half, centers + half], axis=-1)
    sampled = [_sampled(line) for line in lines if np.isfinite(line).all()]
    along = np.concatenate([np.empty((0, 2)), *sampled])[:, None] * pixels
    offers = {
        at: _offer(
            text, centers[at], sizes[at], np.delete(covered, at, axis=0), along, pixels, spots
        )
        for at, text in enumerate(texts)
        if text
    }
    chosen = dict(zip(offers, _choose(list(offers.values())), strict=True))
    places = [chosen.get(at) for at in range(len(texts))]
    return [None if place is None else spots[place] for place in places]


def _offer(
    text: str,
    center: Points,
    size: float,
    others: Boxes,
    along: Points,
    pixels: Points,
    spots: Sequence[Spot],
) -> _Offer:
    """Return the boxes, lines and costs of a name. others: boxes of the other dots. along: points
    of the lines of the plot.
    """
    offsets = np.array([(one.x, one.y) for one in spots])
    size_of = np.array([LETTER * len(text) * (CAPITALS if text.isupper() else 1), LINE])
    ends = np.array([END if one.is_far else size for one in spots])[:, None]
    to_side = np.array([SIDES[one.side] for one in spots]) * (size_of + ends + 2 * GAP) / 2
    middle = center + offsets[:, None] * pixels + to_side[:, None]
    box = np.concatenate([middle - size_of / 2, middle + size_of / 2], axis=-1)
    link = center + LINK[:, None, None] * (offsets[:, None] * pixels)[:, None]
    free = (box[..., :2] >= 0).all((1, 2)) & (box[..., 2:] <= pixels).all((1, 2))
    free &= ~_meet(box[:, None], others).any((1, 2))
    crossed = _hold(box[:, None], along).sum((1, 2)) / len(pixels)
    crossed += _hold(others[None, :, None], link[:, None]).sum((1, 2, 3)) / len(pixels)
    near = np.concatenate([box[..., :2] - NEAR, box[..., 2:] + NEAR], axis=-1)
    mistaken = _meet(near[:, None], others).any((1, 2)) & np.array([one.is_far for one in spots])
    length = np.hypot(*(offsets * pixels[0]).T)
    preferred = np.minimum(np.arange(len(spots)), len(SIDES)) / 4
    costs = preferred + 2 * crossed + MISTAKEN * mistaken + length / 6
    return _Offer(box, link, np.where(free, costs, np.inf))


def _choose(offers: Sequence[_Offer]) -> list[int | None]:
    """Return the cheapest spot of each name that is clear of the others' names and lines.

    Names with few free spots choose first, and all again until nothing moves.
    """
    chosen: list[int | None] = [None] * len(offers)
    free = [np.isfinite(one.costs).sum() for one in offers]
    for _ in range(PASSES):
        before = list(chosen)
        for number in sorted(range(len(offers)), key=free.__getitem__):
            own, costs = offers[number], offers[number].costs.copy()
            for other, at in zip(offers, chosen, strict=True):
                if at is not None and other is not own:
                    blocked = _meet(own.boxes, other.boxes[at]).any(1)
                    blocked |= _hold(own.boxes[:, None], other.links[at]).any((1, 2))
                    blocked |= _hold(other.boxes[at], own.links).any((1, 2))
                    blocked |= _cross(own.links, other.links[at]).any(1)
                    costs[blocked] = np.inf
            best = int(costs.argmin())
            chosen[number] = best if np.isfinite(costs[best]) else None
        if chosen == before:
            break
    return chosen


def _spots(width: float, height: float, reach: float) -> list[Spot]:
    """Return all places of a name, next to its dot first. width, height: of the smallest area."""
    spots = [Spot(side) for side in SIDES]
    for away in (one for one in DISTANCES if one <= reach):
        for turn in range(DIRECTIONS):
            x, y = (part(2 * math.pi * turn / DIRECTIONS) for part in (math.cos, math.sin))
            across, up = ("middle right", "middle left"), ("top center", "bottom center")
            side = across[x < 0] if abs(x) > 0.5 else up[y < 0]
            spots.append(Spot(side, away * x / width, away * y / height))
    return spots


def _sampled(line: Points) -> Points:
    places = STEPS * (len(line) - 1)
    return np.stack([np.interp(places, np.arange(len(line)), one) for one in line.T], axis=1)


def _meet(some: Boxes, others: Boxes) -> Bool[np.ndarray, "..."]:
    """Return which boxes have an area in common."""
    met = (some[..., 0] < others[..., 2]) & (others[..., 0] < some[..., 2])
    return np.asarray(met & (some[..., 1] < others[..., 3]) & (others[..., 1] < some[..., 3]))


def _cross(links: Points, other: Points) -> Bool[np.ndarray, "..."]:
    """Return which lines cross another one."""

    def side(start: Points, end: Points, point: Points) -> Float64[np.ndarray, "..."]:
        (x, y), (to_x, to_y) = np.moveaxis(end - start, -1, 0), np.moveaxis(point - start, -1, 0)
        return np.sign(x * to_y - y * to_x)

    (start, end), (first, last) = (links[..., 0, :, :], links[..., -1, :, :]), other[[0, -1]]
    parted = side(start, end, first) * side(start, end, last) < 0
    return np.asarray(parted & (side(first, last, start) * side(first, last, end) < 0))


def _hold(boxes: Boxes, points: Points) -> Bool[np.ndarray, "..."]:
    """Return which boxes have which points within."""
    x, y = points[..., 0], points[..., 1]
    held = (boxes[..., 0] < x) & (x < boxes[..., 2]) & (boxes[..., 1] < y)
    return np.asarray(held & (y < boxes[..., 3]))
