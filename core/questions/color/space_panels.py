"""One layout of colors as a panel shows it from one side: colors, their names, CIELAB's axes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.figures.drawing import Drawing
from core.figures.marks import SILENT, cards
from core.figures.numbers import share_text
from core.figures.theme import INK, Mode, clear, hover_card, plain
from core.questions.color.turning import place_words, project

AXES = ("x", "y", "z")
CENTER = (55.0, 0.0, 0.0)  # of CIELAB: a middle gray, about which color words lie
CROSS = (  # the axes of CIELAB in three dimensions: name, from, to
    ("L*", (0.0, 0.0, 0.0), (100.0, 0.0, 0.0)),
    ("a*", (50.0, -70.0, 0.0), (50.0, 70.0, 0.0)),
    ("b*", (50.0, 0.0, -70.0), (50.0, 0.0, 70.0)),
)
MOST_DOTS = 400  # points of a panel that are drawn large enough to be pointed at
MOST_WORDS = 40  # points of a panel; of more, names stand in the hover cards alone


@dataclass(frozen=True)
class View:
    """The side from which layouts are seen.

    turn, tilt: degrees; see `core.questions.color.turning.project`. scale: pixels per unit, so that
    words keep clear of each other.
    """

    turn: int
    tilt: int
    scale: float

    def of(self, points: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n 3"]:
        """Return where points lie as seen: to the right, up and toward the eye."""
        return project(points - _center(points.shape[1]), turn=self.turn, tilt=self.tilt)


def points_of(table: pd.DataFrame) -> Float64[np.ndarray, "n d"]:
    return table[[axis for axis in AXES if axis in table]].to_numpy(np.float64)


def _center(dims: int) -> Float64[np.ndarray, "dims"]:
    return np.array(CENTER) if dims == 3 else np.zeros(2)


def reach_of(table: pd.DataFrame) -> float:
    """Return how far from the center a panel has to show, from whichever side: the farthest point,
    and the axes.
    """
    points = points_of(table)
    return 1.02 * max(75.0, float(np.linalg.norm(points - _center(points.shape[1]), axis=1).max()))


def _custom(
    names: Sequence[str | None], points: Float64[np.ndarray, "n d"]
) -> list[list[Any] | None]:
    """Return what the page's script turns points by: name and coordinates around the center; None
    breaks a line.
    """
    around = (points - _center(points.shape[1])).round(3).tolist()
    return [
        None if name is None else [name, *place] for name, place in zip(names, around, strict=True)
    ]


def add_colors(
    figure: Drawing,
    table: pd.DataFrame,
    view: View,
    mode: Mode,
    at: Mapping[str, int],
    *,
    square: bool = False,
) -> None:
    """Add a source's colors, far ones first: dots with their words, or squares without."""
    points = points_of(table)
    order = np.argsort(view.of(points)[:, 2], kind="stable")
    rows, points = table.iloc[order], points[order]
    words = [""] * len(rows) if square else _add_words(figure, rows, view, mode, at)
    seen = view.of(points)
    nearness = np.clip(seen[:, 2] / 100, -1, 1) if points.shape[1] == 3 else np.zeros(len(rows))
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
        customdata=_custom(list(rows["color"]), points),
        **cards(color_card(row) for row in rows.to_dict("records")),
        **at,
    )


def _size(colors: int) -> float:
    if colors <= MOST_WORDS:
        return 12.0
    return 8.0 if colors <= MOST_DOTS else 4.0


def _texts(names: Sequence[str], places: Sequence[str], color: str) -> dict[str, object]:
    """Return names as text beside points; one without a place is not written."""
    return {
        "text": [name if place else "" for name, place in zip(names, places, strict=True)],
        "textposition": [place or "top center" for place in places],
        "textfont": {"size": 11, "color": color},
    }


def _add_words(
    figure: Drawing, rows: pd.DataFrame, view: View, mode: Mode, at: Mapping[str, int]
) -> list[str]:
    """Add the names of the axes where they leave room, and return where the words of colors
    stand.
    """
    points = points_of(rows)
    tips = np.array([end for *_, end in CROSS] if points.shape[1] == 3 else np.empty((0, 2)))
    names = [name for name, *_ in CROSS][: len(tips)]
    words = ["" if len(rows) > MOST_WORDS else color for color in rows["color"]]
    places, around = _place(words, view.of(points), names, view.of(tips), view.scale)
    seen = view.of(tips)
    figure.add_scatter(
        x=seen[:, 0],
        y=seen[:, 1],
        mode="text",
        **_texts(names, around, INK[mode].soft),
        **SILENT,
        customdata=_custom(names, tips),
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


def add_cross(
    figure: Drawing, table: pd.DataFrame, view: View, mode: Mode, at: Mapping[str, int]
) -> None:
    """Add CIELAB's axes, which all layouts were turned onto; the axes of a plane mean nothing."""
    if "z" not in table:
        return
    ends = np.array([point for _, start, end in CROSS for point in (start, end, (np.nan,) * 3)])
    names = [place for name, *_ in CROSS for place in (name, name, None)]
    add_lines(figure, names, ends, clear(INK[mode].chance, 0.6), view, at)


def add_lines(
    figure: Drawing,
    names: Sequence[str | None],
    ends: Float64[np.ndarray, "n d"],
    color: str,
    view: View,
    at: Mapping[str, int],
) -> None:
    """Add lines from point to point; NaN, which has no name, breaks one."""
    x, y = (
        [None if math.isnan(value) else round(value, 3) for value in axis]
        for axis in view.of(ends).T.tolist()[:2]
    )
    line = {"color": color, "width": 1}
    custom = _custom(names, ends)
    figure.add_scatter(x=x, y=y, mode="lines", line=line, customdata=custom, **SILENT, **at)
