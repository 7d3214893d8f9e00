"""The Color page's spaces: layouts of colors in their own colors, side by side or over each other,
seen from one side.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64
from plotly.subplots import make_subplots

from core.figures.theme import INK, Mode, blank, clear, hover_card, p_text, plain, reason, template
from core.questions.color.turning import place_words, project

AXES = ("x", "y", "z")
CENTER = (55.0, 0.0, 0.0)  # of CIELAB: a middle gray, about which color words lie
CROSS = (  # the axes of CIELAB in three dimensions: name, from, to
    ("L*", (0.0, 0.0, 0.0), (100.0, 0.0, 0.0)),
    ("a*", (50.0, -70.0, 0.0), (50.0, 70.0, 0.0)),
    ("b*", (50.0, 0.0, -70.0), (50.0, 0.0, 70.0)),
)
MOST_WORDS = 40  # points of a panel; of more, names stand in the hover cards alone
SIDE, WIDE = (
    290,
    460,
)  # pixels of a panel, and of the one where two layouts are laid over each other


def layouts(
    tables: Sequence[pd.DataFrame], *, turn: int, tilt: int, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw each source's layout in a panel of its own, all seen from one side; colors are drawn in
    themselves.

    tables: as `core.questions.color.answer.lay_out_colors` gives them, of one number of dimensions.
    turn, tilt: degrees; see `core.questions.color.turning.project`. All panels have one scale.
    customdata of each point: color and coordinates.
    """
    columns = 1 if narrow else min(3, len(tables))
    rows = math.ceil(len(tables) / columns)
    heads = [_head(table) for table in tables]
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=heads,
        horizontal_spacing=0.02,
        vertical_spacing=min(0.4, 50 / (SIDE * rows + 50 * (rows - 1))),
    )
    figure.update_annotations(font_size=13)
    reach = max(_reach(table) for table in tables)
    for place, table in enumerate(tables):
        at = {"row": place // columns + 1, "col": place % columns + 1}
        _add_cross(figure, table, mode, turn=turn, tilt=tilt, at=at)
        _add_colors(figure, table, mode, scale=SIDE / (2 * reach), turn=turn, tilt=tilt, at=at)
    _frame(figure, mode, reach=reach)
    height = rows * SIDE + (rows - 1) * 50 + 56
    return figure.update_layout(
        height=height, margin_t=48, margin_l=24, margin_r=24, meta={"title": "Layouts of colors"}
    )


def overlay(x: pd.DataFrame, y: pd.DataFrame, *, turn: int, tilt: int, mode: Mode) -> go.Figure:
    """Draw two layouts over each other with a line between the two places of every color that both
    have.

    x, y: as for `layouts`; x has dots and words, y squares.
    """
    both = [color for color in x["color"] if color in set(y["color"])]
    if not both:
        return reason("These two have no color in common.", mode)
    x, y = (table.set_index("color", drop=False).loc[both] for table in (x, y))
    figure = blank(
        mode,
        height=WIDE + 50,
        title=f"{x['source'].iloc[0]} and {y['source'].iloc[0]} laid over each other",
    )
    reach = max(_reach(x), _reach(y))
    seen: dict[str, Any] = {"turn": turn, "tilt": tilt}
    _add_cross(figure, x, mode, **seen, at={})
    ends = np.stack([_points(x), _points(y), np.full_like(_points(x), np.nan)], axis=1).reshape(
        3 * len(both), -1
    )
    names = [name for color in both for name in (color, color, None)]
    _add_lines(figure, names, ends, INK[mode].soft, **seen, at={})
    _add_colors(
        figure, y, mode, scale=WIDE / (2 * reach), **seen, at={}, symbol="square", named=False
    )
    _add_colors(figure, x, mode, scale=WIDE / (2 * reach), **seen, at={})
    for table, symbol in ((x, "circle"), (y, "square")):
        marker = {"symbol": symbol, "size": 11, "color": INK[mode].soft}
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker=marker, name=plain(table["source"].iloc[0])
        )
    _frame(figure, mode, reach=reach)
    return figure.update_layout(margin_t=12, showlegend=True)


def _head(table: pd.DataFrame) -> str:
    """Return a panel's heading: the source, then how it agrees with perception."""
    first = table.iloc[0]
    if table["error"].max() < 1e-6:
        second = f"{len(table)} colors, the reference"
    else:
        second = (
            f"τ {first['kendall']:.2f}, {p_text(first['kendall_p'])}, disparity"
            f" {first['disparity']:.2f}".replace("-", "−")
        )
    return f"<b>{plain(first['source'])}</b><br><span style='font-size:12px'>{second}</span>"


def _points(table: pd.DataFrame) -> Float64[np.ndarray, "n d"]:
    return table[[axis for axis in AXES if axis in table]].to_numpy(np.float64)


def _center(dims: int) -> Float64[np.ndarray, "dims"]:
    return np.array(CENTER) if dims == 3 else np.zeros(2)


def _reach(table: pd.DataFrame) -> float:
    """Return how far from the center a panel has to show, from whichever side: the farthest point,
    and the axes.
    """
    points = _points(table)
    return 1.02 * max(75.0, float(np.linalg.norm(points - _center(points.shape[1]), axis=1).max()))


def _seen(
    points: Float64[np.ndarray, "n d"], *, turn: int, tilt: int
) -> Float64[np.ndarray, "n 3"]:
    return project(points - _center(points.shape[1]), turn=turn, tilt=tilt)


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


def _add_colors(
    figure: go.Figure,
    table: pd.DataFrame,
    mode: Mode,
    *,
    scale: float,
    turn: int,
    tilt: int,
    at: Mapping[str, int],
    symbol: str = "circle",
    named: bool = True,
) -> None:
    """Add a source's colors, far ones first. scale: pixels per unit, so that words keep clear of
    each other.
    """
    points = _points(table)
    seen = _seen(points, turn=turn, tilt=tilt)
    order = np.argsort(seen[:, 2], kind="stable")
    rows, seen = table.iloc[order], seen[order]
    places = [""] * len(rows)
    if named:
        tips = _tips(points.shape[1])
        places, around = _place(rows, seen, _seen(tips, turn=turn, tilt=tilt), scale)
        _add_names(figure, tips, around, mode, turn=turn, tilt=tilt, at=at)
    nearness = np.clip(seen[:, 2] / 100, -1, 1) if points.shape[1] == 3 else np.zeros(len(rows))
    size = (
        (12.0 if len(rows) <= MOST_WORDS else 8.0)
        * (1 + 0.25 * nearness)
        * (0.8 if symbol == "square" else 1)
    )
    marker = {
        "color": rows["hex"],
        "size": size,
        "symbol": symbol,
        "opacity": 1.0,
        "line": {"color": INK[mode].soft, "width": 1},
    }
    figure.add_scatter(
        x=seen[:, 0].round(3),
        y=seen[:, 1].round(3),
        mode="markers+text",
        marker=marker,
        cliponaxis=False,
        showlegend=False,
        text=[color if place else "" for color, place in zip(rows["color"], places, strict=True)],
        textposition=[place or "top center" for place in places],
        textfont={"size": 11, "color": INK[mode].text},
        customdata=_custom(list(rows["color"]), points[order]),
        hovertext=[color_card(row) for row in rows.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
        **at,
    )


def _tips(dims: int) -> Float64[np.ndarray, "tips dims"]:
    """Return where the names of the axes stand; a plane has none."""
    return np.array([end for *_, end in CROSS] if dims == 3 else np.empty((0, 2)))


def _place(
    rows: pd.DataFrame,
    seen: Float64[np.ndarray, "n 3"],
    tips: Float64[np.ndarray, "tips 3"],
    scale: float,
) -> tuple[list[str], list[str]]:
    """Return where the words of colors stand, near ones first, and then the names of the axes; see
    `place_words`.
    """
    words = ["" if len(rows) > MOST_WORDS else color for color in rows["color"]][::-1]
    x, y = scale * np.concatenate([seen[::-1], tips])[:, :2].T
    placed = place_words(x, y, [*words, *[name for name, *_ in CROSS][: len(tips)]])
    return [place if word else "" for place, word in zip(placed, words, strict=False)][
        ::-1
    ], placed[len(rows) :]


def _add_names(
    figure: go.Figure,
    tips: Float64[np.ndarray, "tips d"],
    around: Sequence[str],
    mode: Mode,
    *,
    turn: int,
    tilt: int,
    at: Mapping[str, int],
) -> None:
    seen, names = _seen(tips, turn=turn, tilt=tilt), [name for name, *_ in CROSS][: len(tips)]
    figure.add_scatter(
        x=seen[:, 0],
        y=seen[:, 1],
        mode="text",
        textposition=[place or "top center" for place in around],
        text=[name if place else "" for name, place in zip(names, around, strict=True)],
        hoverinfo="skip",
        showlegend=False,
        textfont={"size": 11, "color": INK[mode].soft},
        customdata=_custom(names, tips),
        **at,
    )


def color_card(row: Mapping[Hashable, Any]) -> str:
    """Return the hover card of a color by one source."""
    return hover_card(
        f"<b>{plain(row['color'])}</b> by {plain(row['source'])}",
        f"{row['error']:.1f} ΔE from where perception has it",
        f"{row['neighbors']:.0%} of its nearest colors are its nearest in perception",
        *([f"seen {row['seen']:,.0f} times"] if not math.isnan(row["seen"]) else []),
        ids=row["hex"],
    )


def _add_cross(
    figure: go.Figure,
    table: pd.DataFrame,
    mode: Mode,
    *,
    turn: int,
    tilt: int,
    at: Mapping[str, int],
) -> None:
    """Add CIELAB's axes, which all layouts were turned onto; a plane has no axes of a meaning of
    their own.
    """
    if "z" not in table:
        return
    ends = np.array([point for _, start, end in CROSS for point in (start, end, (np.nan,) * 3)])
    names = [place for name, *_ in CROSS for place in (name, name, None)]
    _add_lines(figure, names, ends, clear(INK[mode].chance, 0.6), turn=turn, tilt=tilt, at=at)


def _add_lines(
    figure: go.Figure,
    names: Sequence[str | None],
    ends: Float64[np.ndarray, "n d"],
    color: str,
    *,
    turn: int,
    tilt: int,
    at: Mapping[str, int],
) -> None:
    seen = _seen(ends, turn=turn, tilt=tilt)
    x, y = (
        [None if math.isnan(value) else round(value, 3) for value in axis]
        for axis in seen.T.tolist()[:2]
    )
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": color, "width": 1},
        hoverinfo="skip",
        showlegend=False,
        customdata=_custom(names, ends),
        **at,
    )


def _frame(figure: go.Figure, mode: Mode, *, reach: float) -> None:
    """Give all panels one scale and no axes; a drag turns them and does not zoom."""
    figure.update_layout(template=template(mode), dragmode=False, hovermode="closest")
    hidden = {"visible": False, "fixedrange": True}
    figure.update_xaxes(range=[-reach, reach], **hidden)
    for number, axis in enumerate(figure.select_yaxes(), start=1):
        axis.update(
            range=[-reach, reach],
            scaleanchor="x" if number == 1 else f"x{number}",
            scaleratio=1,
            **hidden,
        )
