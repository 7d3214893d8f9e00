"""Figures of several equal panels, side by side or, on a phone, one below the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from core.figures.drawing import Drawing, draw_panels
from core.figures.theme import INK, Mode, template


def panels(
    heads: Sequence[str],
    columns: int,
    mode: Mode,
    *,
    height: int,
    title: str,
    **shape: float | bool | str,
) -> Drawing:
    """Return an empty panel per heading, so many columns side by side.

    height: of the whole figure, in pixels. title: names exported files and is read aloud. shape: as
    of plotly's `make_subplots`.
    """
    rows = math.ceil(len(heads) / columns)
    figure = draw_panels(rows, columns, heads, **shape)
    return figure.update_layout(template=template(mode), height=height, meta={"title": title})


def cell(place: int, columns: int) -> dict[str, int]:
    row, column = divmod(place, columns)
    return {"row": row + 1, "col": column + 1}


def play(
    drawn: Sequence[go.Figure], names: Sequence[str], mode: Mode, *, prefix: str, active: int
) -> go.Figure:
    """Return one figure with a slider and a button that play all of them.

    names: of the figures, on the slider; prefix: what precedes a name. active: the figure that
    is seen first.
    """
    figure, ink = drawn[active], INK[mode]
    figure.frames = [
        go.Frame(data=one.data, layout={"annotations": one.layout.annotations}, name=name)
        for one, name in zip(drawn, names, strict=True)
    ]
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}}
    moving = {"fromcurrent": False, "frame": {"duration": 450, "redraw": True}}
    look = {"x": 0, "y": 0, "bordercolor": ink.soft, "font": {"size": 12}}
    slider = look | {
        "steps": [{"label": one, "method": "animate", "args": [[one], still]} for one in names],
        "active": active,
        "currentvalue": {"prefix": prefix, "font": {"size": 13}},
        "pad": {"l": 90, "t": 34},
        "bgcolor": ink.soft,
    }
    menu = look | {
        "type": "buttons",
        "buttons": [{"label": "▶ Play", "method": "animate", "args": [list(names), moving]}],
        "pad": {"t": 48},
        "bgcolor": ink.paper,
        "showactive": False,
        **{"xanchor": "left", "yanchor": "top"},
    }
    figure.update_layout(sliders=[slider], updatemenus=[menu])
    return figure.update_layout(height=figure.layout.height + 90)
