"""Figures of queries and keys over training: how alike both sides of the balance are, and how far
apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import draw_panels
from core.figures.theme import INK, Mode, hue, template

PANELS = {  # column: title
    "gradients_alike": "gradients alike",
    "weights_alike": "weights alike",
    "gradients_apart": "gradients apart",
    "weights_apart": "weights apart",
}


def balance(heads: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw both sides' cosine and distance over training: a dot per head, the median of a model on
    its family's line, fresh weights dashed, chance dotted.

    heads: model, title, family, step, and each of PANELS with its _initial and _chance.
    """
    grid = (len(PANELS), 1) if narrow else (2, 2)
    titles = [f"<b>{title}</b>" for title in PANELS.values()]
    figure = draw_panels(*grid, titles, vertical_spacing=0.14, horizontal_spacing=0.07)
    figure.update_layout(
        template=template(mode),
        height=260 * grid[0],
        meta={"title": "Balance of queries and keys"},
    )
    heads = heads.sort_values("step", kind="stable")
    heads = heads.assign(place=[_place(row) for row in heads.itertuples()])
    for number, column in enumerate(PANELS):
        row, col = (number, 0) if narrow else divmod(number, 2)
        for trace in _traces(heads, column, mode):
            shown = {"showlegend": bool(trace["showlegend"]) and number == 0}
            figure.add_scatter(**trace | shown, row=row + 1, col=col + 1)
    figure.update_xaxes(type="category")
    figure.update_xaxes(title_text="steps of training", row=grid[0])
    return figure.figure()


def _place(row: Any) -> str:
    """Return where a model stands on the axis: its steps, or its title where nobody knows them."""
    if math.isnan(row.step):
        return str(row.title)
    return f"{row.step:,.0f}" if row.step else "untrained"


def _traces(heads: pd.DataFrame, column: str, mode: Mode) -> Iterator[dict[str, Any]]:
    for family, rows in heads.groupby("family", sort=False):
        color = hue(str(family), mode)
        middle = rows.groupby("place", sort=False)[[column, f"{column}_initial"]].median()
        about = {"x": rows["place"], "legendgroup": family, "name": family}
        yield {
            **about,
            "y": rows[column],
            "mode": "markers",
            "marker": {"size": 4, "color": color, "opacity": 0.5},
            "text": [
                f"{row.title}, layer {row.layer}, head {row.head}" for row in rows.itertuples()
            ],
            "hovertemplate": "%{text}: %{y:.3f}<extra></extra>",
            "showlegend": False,
        }
        for name, dash in ((column, "solid"), (f"{column}_initial", "dash")):
            lines = {"x": middle.index, "y": middle[name], **_line(color, dash)}
            yield {**about, **lines, "showlegend": dash == "solid"}
    chance = heads.groupby("place", sort=False)[f"{column}_chance"].median()
    yield {
        "x": chance.index,
        "y": chance,
        "name": "chance",
        "legendgroup": "chance",
        **_line(INK[mode].chance, "dot"),
        "showlegend": True,
    }


def _line(color: str, dash: str) -> dict[str, Any]:
    return {"mode": "lines", "line": {"color": color, "width": 2, "dash": dash}}
