"""The tree of models beside their alignment with each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import Drawing, draw_panels
from core.figures.marks import SILENT, flat_color_bar
from core.figures.theme import INK, Mode, hue, plain, reason, template

LABEL, NARROW_LABEL = 44, 20  # characters of a model's title beside the tree
TREE: Mapping[str, int] = {"row": 1, "col": 1}
MATRIX: Mapping[str, int] = {"row": 1, "col": 2}

Scores = Float64[np.ndarray, "m m"]


def tree(
    scores: Scores,
    branches: pd.DataFrame,
    models: pd.DataFrame,
    *,
    label: str,
    aligned_high: bool,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw a tree of models and, in the order of its leaves, the alignment of every two of them.

    scores: in that order, NaN on the diagonal; columns are in the order of rows. branches: as
    `core.questions.models.clustering.cluster` gives them. models: title and group of each, in that
    order. Titles are unique; long ones are cut in the middle, the hover card has them whole. Groups
    color the mark before each. label: of the scores.
    """
    if np.isnan(scores).all():
        return reason("No two of these models have an alignment.", mode)
    figure = _empty(len(models), mode)
    figure.add_scatter(**_brackets(branches, mode), **TREE)
    corner = {"x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom", "nticks": 5}
    figure.add_heatmap(
        **_cells(scores, [plain(title) for title in models["title"]]),
        colorscale=list(INK[mode].scale[:: 1 if aligned_high else -1]),
        colorbar=flat_color_bar(label, **corner, len=0.6 if narrow else 0.4),
        **MATRIX,
    )
    _name_leaves(figure, models, mode, narrow=narrow)
    return figure.figure()


def _empty(count: int, mode: Mode) -> Drawing:
    """Return room for the tree of so many models and the matrix, a row of both per model."""
    figure = draw_panels(1, 2, column_widths=(0.16, 0.84), horizontal_spacing=0.006)
    pitch = 13.0 if count <= 80 else 11.5
    figure.update_layout(
        template=template(mode),
        height=max(360, int(pitch * count + 120)),
        margin_t=64,
        meta={"title": "Tree and alignment of models"},
    )
    bare = {"showgrid": False, "fixedrange": True}
    figure.update_yaxes(range=[count - 0.5, -0.5], **bare)
    figure.update_xaxes(autorange="reversed", nticks=4, title_text="distance", **bare, **TREE)
    return figure.update_xaxes(
        showticklabels=False, showgrid=False, range=[-0.5, count - 0.5], **MATRIX
    )


def _brackets(branches: pd.DataFrame, mode: Mode) -> dict[str, object]:
    """Return all mergers as one broken line: leaves run down, distances to the left."""
    x, y = (
        [value for _, bracket in branches.groupby("branch") for value in (*bracket[axis], None)]
        for axis in ("y", "x")
    )
    line = {"color": INK[mode].soft, "width": 1.2}
    return {"x": x, "y": y, "mode": "lines", "line": line, **SILENT}


def _cells(scores: Scores, names: list[str]) -> dict[str, object]:
    return {
        "z": scores,
        "x": names,
        "y": names,
        "zmin": min(0.0, float(np.nanmin(scores))),
        "zmax": float(np.nanmax(scores)),
        "hoverongaps": False,
        "hovertemplate": "<b>%{y}</b><br><b>%{x}</b><br>alignment %{z:.3f}<extra></extra>",
    }


def _name_leaves(figure: Drawing, models: pd.DataFrame, mode: Mode, *, narrow: bool) -> None:
    """Write each model's title beside its row, after a mark in the color of its group."""
    most = NARROW_LABEL if narrow else LABEL
    leaves = [
        f"<span style='color:{hue(group, mode)}'>■</span> {plain(shorten(title, most))}"
        for title, group in zip(models["title"], models["group"], strict=True)
    ]
    figure.update_yaxes(showticklabels=False, **TREE)
    figure.update_yaxes(
        side="right",
        tickmode="array",
        tickvals=[plain(title) for title in models["title"]],
        ticktext=leaves,
        tickfont_size=11 if len(models) <= 80 else 10,
        **MATRIX,
    )


def shorten(text: str, most: int) -> str:
    """Cut a long text in its middle, since titles of one training differ at their ends.

    >>> shorten("ViT S · supervised after 1500 steps", 20)
    'ViT S · s…1500 steps'
    """
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
