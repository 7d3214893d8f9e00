"""Figures of many trainings side by side: steps against time, and what a representation depends
on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from core.figures.drawing import draw_panels
from core.figures.theme import INK, Mode, template
from core.theory.deep_linear.presets import preset_titles

STATEMENTS = {  # of the hierarchy, as its columns have them
    "within": "any two layers of one network",
    "between": "any two layers of both",
    "same_layer": "the same layer of both",
}


def limits(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the least alignment over time, and over time × step, a line for each size of steps.

    points: step, 0 for gradient flow, which is dashed; time; min_alignment, none where a run has
    diverged. Over time × step, lines that noise alone moves lie on one another.
    """
    grid = (2, 1) if narrow else (1, 2)
    heads = ["<b>over time t</b>", "<b>over η · t</b>"]
    figure = draw_panels(*grid, heads, vertical_spacing=0.16, horizontal_spacing=0.08)
    figure.update_layout(
        template=template(mode),
        height=640 if narrow else 380,
        meta={"title": "Alignment by size of steps and time"},
    )
    steps = sorted(points["step"].unique())
    colors = sample_colorscale(list(INK[mode].scale), np.linspace(0.25, 1, max(2, len(steps))))
    for step, color in zip(steps, colors, strict=False):
        rows = points[points["step"] == step]
        look = _line(step, color=color if step else INK[mode].text)
        figure.add_scatter(x=rows["time"], y=rows["min_alignment"], row=1, col=1, **look)
        if step:
            place = {"row": 2, "col": 1} if narrow else {"row": 1, "col": 2}
            noise = rows["time"] * step
            figure.add_scatter(
                x=noise, y=rows["min_alignment"], **place, **look | {"showlegend": False}
            )
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    return figure.update_yaxes(range=[0, 1.02], title_text="least linear CKA").figure()


def _line(step: float, *, color: str) -> dict[str, Any]:
    name = f"SGD, η = {step:g}" if step else "gradient flow, η → 0"
    return {
        "name": name,
        "legendgroup": name,
        "mode": "lines+markers" if step else "lines",
        "line": {"color": color, "width": 2, "dash": "solid" if step else "dash"},
        "marker": {"size": 5, "color": color},
    }


def hierarchy(points: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw how far every one of STATEMENTS holds, a panel each: ways of training as rows, what
    differs between the networks as columns.

    points: preset, differs, within_a, within_b, between, same_layer.
    """
    values = points.assign(within=points[["within_a", "within_b"]].min(axis=1))
    rows, columns = (list(dict.fromkeys(points[name])) for name in ("preset", "differs"))
    count = len(STATEMENTS)
    heads = [f"<b>{title}</b>" for title in STATEMENTS.values()]
    grid = (count, 1) if narrow else (1, count)
    figure = draw_panels(*grid, heads, vertical_spacing=0.14, horizontal_spacing=0.02)
    figure.update_layout(
        template=template(mode),
        height=300 * count if narrow else 330,
        meta={"title": "What layers depend on, by way of training"},
    )
    for place, name in enumerate(STATEMENTS):
        cells = values.pivot(index="preset", columns="differs", values=name)
        at = {"row": place + 1, "col": 1} if narrow else {"row": 1, "col": place + 1}
        figure.add_heatmap(
            z=cells.reindex(index=rows, columns=columns).to_numpy(),
            x=columns,
            y=[preset_titles()[row] for row in rows],
            **_HEAT,
            colorscale=list(INK[mode].scale),
            showscale=place == 0,
            **at,
        )
        if place and not narrow:
            figure.update_yaxes(showticklabels=False, **at)
    figure.update_xaxes(showgrid=False, type="category")
    return figure.update_yaxes(autorange="reversed", showgrid=False, type="category").figure()


_HEAT: Mapping[str, Any] = {
    "zmin": 0,
    "zmax": 1,
    "xgap": 1,
    "ygap": 1,
    "texttemplate": "%{z:.3f}",
    "textfont": {"size": 11},
    "hovertemplate": "%{y}, networks that differ in %{x}: %{z:.6f}<extra></extra>",
    "colorbar": {"title": {"text": "linear CKA"}, "thickness": 12, "outlinewidth": 0},
}
