"""The tree of models next to their alignment with each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import SILENT, color_bar, draw_panels, reason
from core.figures.theme import INK, Mode, hue, plain, template

LABEL, NARROW_LABEL = 44, 20  # characters of a model's title next to the tree
TREE, MATRIX = {"row": 1, "col": 1}, {"row": 1, "col": 2}


def tree(
    scores: Float64[np.ndarray, "m m"],
    branches: pd.DataFrame,
    models: pd.DataFrame,
    mode: Mode,
    narrow: bool = False,
    *,
    label: str,
    aligned_high: bool,
) -> go.Figure:
    """Draw a tree of models and, in the order of its leaves, the alignment of every two of them.

    scores: in that order, NaN on the diagonal. branches: of `geometry.cluster`.
    models: unique title and group of each, in that order. label: of the scores.
    """
    if np.isnan(scores).all():
        return reason("No two of these models have an alignment.", mode)
    count, names = len(models), [plain(title) for title in models["title"]]
    figure = draw_panels(1, 2, column_widths=(0.16, 0.84), horizontal_spacing=0.006)
    height = max(360, int((13.0 if count <= 80 else 11.5) * count + 120))
    meta = {"title": "Tree and alignment of models"}
    figure.update_layout(template=template(mode), height=height, margin_t=64, meta=meta)
    x, y = (  # leaves run down, distances to the left
        [value for _, bracket in branches.groupby("branch") for value in (*bracket[axis], None)]
        for axis in ("y", "x")
    )
    line = {"color": INK[mode].soft, "width": 1.2}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, **SILENT, **TREE)
    corner = {"x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom", "nticks": 5}
    figure.add_heatmap(
        z=scores,
        x=names,
        y=names,
        zmin=min(0.0, float(np.nanmin(scores))),
        zmax=float(np.nanmax(scores)),
        hoverongaps=False,
        hovertemplate="<b>%{y}</b><br><b>%{x}</b><br>alignment %{z:.3f}<extra></extra>",
        colorscale=list(INK[mode].scale[:: 1 if aligned_high else -1]),
        colorbar=color_bar(label, lying=True, **corner, len=0.6 if narrow else 0.4),
        **MATRIX,
    )
    bare = {"showgrid": False, "fixedrange": True}
    figure.update_yaxes(range=[count - 0.5, -0.5], **bare)
    figure.update_xaxes(autorange="reversed", nticks=4, title_text="distance", **bare, **TREE)
    ends = [-0.5, count - 0.5]
    figure.update_xaxes(showticklabels=False, showgrid=False, range=ends, **MATRIX)
    most = NARROW_LABEL if narrow else LABEL
    leaves = [
        f"<span style='color:{hue(group, mode)}'>■</span> {plain(shorten(title, most))}"
        for title, group in zip(models["title"], models["group"], strict=True)
    ]
    figure.update_yaxes(showticklabels=False, **TREE)
    figure.update_yaxes(
        side="right",
        tickmode="array",
        tickvals=names,
        ticktext=leaves,
        tickfont_size=11 if count <= 80 else 10,
        **MATRIX,
    )
    return figure.figure()


def shorten(text: str, most: int) -> str:
    """Cut a long text in its middle, since titles of one training differ at their ends.

    >>> shorten("ViT S · supervised after 1500 steps", 20)
    'ViT S · s…1500 steps'
    """
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
