"""One layout of colors as a panel shows it: colors, their names, CIELAB's axes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards
from core.figures.numbers import share_text
from core.figures.theme import INK, Mode, clear, hover_card, plain

AXES = ("x", "y", "z")
TURN, TILT = 30, 30  # degrees: from where three dimensions are seen, see `project`
CENTER = (55.0, 0.0, 0.0)  # of CIELAB: a middle gray, about which color words lie
CROSS = (  # the axes of CIELAB in three dimensions: name, from, to
    ("L*", (0.0, 0.0, 0.0), (100.0, 0.0, 0.0)),
    ("a*", (50.0, -70.0, 0.0), (50.0, 70.0, 0.0)),
    ("b*", (50.0, 0.0, -70.0), (50.0, 0.0, 70.0)),
)
MOST_DOTS = 400  # points of a panel that are drawn large enough to be pointed at
MOST_WORDS = 40  # points of a panel; of more, names stand in the hover cards alone
LETTER, LINE, GAP = 6.3, 13.0, 9.0  # pixels: of a letter, of a line, from a point to its word
AROUND = (  # where a word may stand, the best first: Plotly's name, steps to the right and up
    ("top center", 0, 1),
    ("middle right", 1, 0),
    ("middle left", -1, 0),
    ("bottom center", 0, -1),
    ("top right", 1, 1),
    ("top left", -1, 1),
    ("bottom right", 1, -1),
    ("bottom left", -1, -1),
)


def project(points: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n 3"]:
    """Return how far right, up and near to the eye each point is of the center of a panel.

    points: up, right and away in three dimensions: L*, a*, b*. They turn around the first axis by
    TURN degrees, then toward the eye by TILT. In two dimensions they are right and up.
    """
    if points.shape[1] == 2:
        return np.column_stack([points, np.zeros(len(points))])
    up, right, away = (points - CENTER).T
    around, over = np.radians(TURN), np.radians(TILT)
    x = right * np.cos(around) + away * np.sin(around)
    depth = away * np.cos(around) - right * np.sin(around)
    return np.column_stack(
        [x, up * np.cos(over) + depth * np.sin(over), up * np.sin(over) - depth * np.cos(over)]
    )


def points_of(table: pd.DataFrame) -> Float64[np.ndarray, "n d"]:
    return table[[axis for axis in AXES if axis in table]].to_numpy(np.float64)


def reach_of(table: pd.DataFrame) -> float:
    """Return how far from the center a panel has to show: the farthest point, and the axes."""
    return 1.02 * max(75.0, float(np.linalg.norm(project(points_of(table)), axis=1).max()))


def add_colors(
    figure: Drawing,
    table: pd.DataFrame,
    mode: Mode,
    at: Mapping[str, int],
    *,
    scale: float,
    square: bool = False,
) -> None:
    """Add a source's colors, far ones first: dots with their words, or squares without.

    scale: pixels per unit, so that words keep clear of each other.
    """
    rows = table.iloc[np.argsort(project(points_of(table))[:, 2], kind="stable")]
    seen = project(points_of(rows))
    words = [""] * len(rows) if square else _add_words(figure, rows, mode, at, scale=scale)
    nearness = np.clip(seen[:, 2] / 100, -1, 1)
    marker = {
        "color": rows["hex"],
        "size": _size(len(rows)) * (1 + 0.25 * nearness) * (0.8 if square else 1),
        "symbol": "square" if square else "circle",
        "opacity": 1.0,
        "line": {"color": INK[mode].soft, "width": 1},
    }
    figure.add_scatter(
        x=seen[:, 0].round(3),
        y=seen[:, 1].round(3),
        mode="markers+text",
        marker=marker,
        cliponaxis=False,
        legendgroup=str(rows["source"].iloc[0]),
        showlegend=False,
        **_texts(list(rows["color"]), words, INK[mode].text),
        **cards(color_card(row) for row in rows.to_dict("records")),
        **at,
    )


def _size(colors: int) -> float:
    if colors <= MOST_WORDS:
        return 12.0
    return 8.0 if colors <= MOST_DOTS else 4.0


def _texts(names: Sequence[str], places: Sequence[str], color: str) -> dict[str, object]:
    """Return names as text next to points; one without a place is not written."""
    return {
        "text": [name if place else "" for name, place in zip(names, places, strict=True)],
        "textposition": [place or "top center" for place in places],
        "textfont": {"size": 11, "color": color},
    }


def _add_words(
    figure: Drawing, rows: pd.DataFrame, mode: Mode, at: Mapping[str, int], *, scale: float
) -> list[str]:
    """Add the names of the axes where they leave room, and return where the words of colors
    stand.
    """
    cross = CROSS if "z" in rows else ()
    tips = project(np.array([end for *_, end in cross]).reshape(-1, 3 if cross else 2))
    names = [name for name, *_ in cross]
    words = ["" if len(rows) > MOST_WORDS else color for color in rows["color"]]
    places, around = _place(words, project(points_of(rows)), names, tips, scale)
    figure.add_scatter(
        x=tips[:, 0],
        y=tips[:, 1],
        mode="text",
        **_texts(names, around, INK[mode].soft),
        **SILENT,
        **at,
    )
    return places


def _place(
    words: Sequence[str],
    seen: Float64[np.ndarray, "n 3"],
    names: Sequence[str],
    tips: Float64[np.ndarray, "tips 3"],
    scale: float,
) -> tuple[list[str], list[str]]:
    """Return where the words of colors stand, near ones first, and then the names of the axes; see
    `place_words`.
    """
    x, y = scale * np.concatenate([seen[::-1], tips])[:, :2].T
    placed = place_words(x, y, [*words[::-1], *names])
    colors, axes = placed[: len(words)][::-1], placed[len(words) :]
    return [place if word else "" for place, word in zip(colors, words, strict=True)], axes


def color_card(row: Mapping[Hashable, Any]) -> str:
    """Return the hover card of a color by one source."""
    return hover_card(
        f"<b>{plain(row['color'])}</b> by {plain(row['source'])}",
        f"{row['error']:.1f} ΔE from where perception has it",
        f"{share_text(row['neighbors'])} of its nearest colors are its nearest in perception",
        *([f"seen {row['seen']:,.0f} times"] if not math.isnan(row["seen"]) else []),
        ids=row["hex"],
    )


def add_cross(figure: Drawing, table: pd.DataFrame, mode: Mode, at: Mapping[str, int]) -> None:
    """Add CIELAB's axes, which all layouts were turned onto; the axes of a plane mean nothing."""
    if "z" in table:
        ends = np.array([point for _, start, end in CROSS for point in (start, end, (np.nan,) * 3)])
        add_lines(figure, ends, clear(INK[mode].chance, 0.6), at)


def add_lines(
    figure: Drawing, ends: Float64[np.ndarray, "n d"], color: str, at: Mapping[str, int]
) -> None:
    """Add lines from point to point; NaN breaks one."""
    x, y = (
        [None if math.isnan(value) else round(value, 3) for value in axis]
        for axis in project(ends).T.tolist()[:2]
    )
    line = {"color": color, "width": 1}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, **SILENT, **at)


def place_words(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], words: Sequence[str]
) -> list[str]:
    """Return where the word of each point stands, in Plotly's names of `textposition`; "" where all
    places are taken.

    x, y: in pixels, y upward. Words take the first free place around their
    points in the order given; they overlap neither other words nor points.
    """
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in points]
    places = []
    for (px, py), word in zip(points, words, strict=True):
        boxes = {name: _box(px, py, LETTER * len(word), right, up) for name, right, up in AROUND}
        free = next(
            (
                name
                for name, box in boxes.items()
                if not any(_overlap(box, other) for other in taken)
            ),
            "",
        )
        places.append(free)
        if free:
            taken.append(boxes[free])
    return places


def _box(
    x: float, y: float, width: float, right: int, up: int
) -> tuple[float, float, float, float]:
    middle_x, middle_y = x + right * (GAP + width / 2), y + up * (GAP + LINE / 2)
    return middle_x - width / 2, middle_y - LINE / 2, middle_x + width / 2, middle_y + LINE / 2


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
