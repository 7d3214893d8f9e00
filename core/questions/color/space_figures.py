"""Layouts of colors in their own colors, side by side or over each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import Drawing
from core.figures.marks import name_mark
from core.figures.numbers import p_text
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, blank, plain, reason, template
from core.questions.color.space_panels import (
    add_colors,
    add_cross,
    add_lines,
    points_of,
    reach_of,
)

SIDE, WIDE = 290, 460  # pixels of a panel, and of the one where two layouts lie over each other


def layouts(tables: Sequence[pd.DataFrame], *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw each source's layout in a panel of its own, all seen from one side; colors are drawn in
    themselves.

    tables: as `ColorLayout` gives them, of one number of dimensions.
    All panels have one scale; see `core.questions.color.space_panels.project`.
    """
    columns = 1 if narrow else min(3, len(tables))
    rows = math.ceil(len(tables) / columns)
    height = rows * SIDE + (rows - 1) * 50
    figure = panels(
        [_head(table) for table in tables],
        columns,
        mode,
        height=height + 56,
        title="Layouts of colors",
        horizontal_spacing=0.02,
        vertical_spacing=min(0.4, 50 / height),
    )
    figure.update_annotations(font_size=13)
    reach = max(reach_of(table) for table in tables)
    for place, table in enumerate(tables):
        add_cross(figure, table, mode, cell(place, columns))
        add_colors(figure, table, mode, cell(place, columns), scale=SIDE / (2 * reach))
    _frame(figure, mode, reach=reach, panels=len(tables))
    return figure.update_layout(margin_t=48, margin_l=24, margin_r=24).figure()


def overlay(x: pd.DataFrame, y: pd.DataFrame, *, mode: Mode) -> go.Figure:
    """Draw two layouts over each other with a line between the two places of every color that both
    have.

    x, y: as for `layouts`; x has dots and words, y squares.
    """
    both = [color for color in x["color"] if color in set(y["color"])]
    if not both:
        return reason("These two have no color in common.", mode)
    x, y = (table.set_index("color", drop=False).loc[both] for table in (x, y))
    title = f"{x['source'].iloc[0]} and {y['source'].iloc[0]} laid over each other"
    figure = blank(mode, height=WIDE + 50, title=title)
    reach = max(reach_of(x), reach_of(y))
    scale = WIDE / (2 * reach)
    add_cross(figure, x, mode, {})
    add_lines(figure, _ties(x, y), INK[mode].soft, {})
    add_colors(figure, y, mode, {}, scale=scale, square=True)
    add_colors(figure, x, mode, {}, scale=scale)
    for table, symbol in ((x, "circle"), (y, "square")):
        marker = {"symbol": symbol, "size": 11, "color": INK[mode].soft}
        source = str(table["source"].iloc[0])
        name_mark(figure, plain(source), marker, group=source)
    _frame(figure, mode, reach=reach, panels=1)
    return figure.update_layout(margin_t=12, showlegend=True).figure()


def _ties(x: pd.DataFrame, y: pd.DataFrame) -> Float64[np.ndarray, "points d"]:
    """Return each color's two places and then NaN, which ends the line between them."""
    places = points_of(x), points_of(y)
    return np.stack([*places, np.full_like(places[0], np.nan)], axis=1).reshape(3 * len(x), -1)


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


def _frame(figure: Drawing, mode: Mode, *, reach: float, panels: int) -> None:
    """Give all panels one scale and no axes; a drag does not zoom."""
    figure.update_layout(template=template(mode), dragmode=False, hovermode="closest")
    hidden = {"visible": False, "fixedrange": True}
    figure.update_xaxes(range=[-reach, reach], **hidden)
    figure.update_yaxes(range=[-reach, reach], scaleratio=1, **hidden)
    for place in range(panels):
        across = "x" if place == 0 else f"x{place + 1}"
        figure.update_yaxes(scaleanchor=across, **cell(place, figure.columns))
