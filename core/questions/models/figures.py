"""The map of models: how it is turned, and what it names. The tree of models next to their
alignment with each other.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.figures.drawing import SILENT, color_bar, draw_panels, reason
from core.figures.theme import INK, Mode, hue, plain, template
from core.modalities import find_modality
from core.study.models import is_reality

LABEL, NARROW_LABEL = 44, 20  # characters of a model's title next to the tree
TREE, MATRIX = {"row": 1, "col": 1}, {"row": 1, "col": 2}

WIDE = 1.4  # width of the map's frame by its height
FRAMES = ((440.0, 460.0), (680.0, 460.0))  # in pixels, from a window of 1,000 pixels on


def turned(points: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, "m 2"]:
    """Return points turned so that they fill the map's frame best."""
    if len(points) < 2:
        return points
    angles = np.radians(np.arange(180))
    turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
    every = np.einsum("md,dea->mea", points, turns)
    across, up = np.ptp(every, axis=0)
    best: Float64[np.ndarray, "m 2"] = every[:, :, np.argmin(np.maximum(across, WIDE * up))]
    return best


def map_names(placed: pd.DataFrame, groups: str) -> pd.DataFrame:
    """Return a row per model and per modality with the `label` that the map shows there: a group
    at its largest fully trained model, a modality (`head`) above its models, the title of reality,
    of the model nearest to it, of models of no known kind and of `named` ones; the others have
    none.

    groups: a column. placed: of `ModelMap.plot`.
    """
    largest = placed[~placed["copy"].astype(bool)].sort_values("parameters", na_position="first")
    first = largest.drop_duplicates(["modality", groups], keep="last").index
    real = placed[is_reality(placed)]
    titled = placed["named"] | placed.index.isin(real.index)
    titled |= placed["model"].isin(real.get("nearest_1", ()))
    titled |= placed[groups] == placed["modality"].map(lambda name: find_modality(name).plural)
    label = placed[groups].where(placed.index.isin(first), "")
    heads = [
        {"x": part["x"].median(), "y": part["y"].max(), "label": str(name).upper(), groups: name}
        for name, part in placed.groupby("modality", sort=False)
        if len(part) > 1 and not find_modality(str(name)).is_reality
    ]
    named = placed.assign(label=label.mask(titled, placed["title"]), head=False)
    return pd.concat([named, pd.DataFrame(heads).assign(head=True)], ignore_index=True)


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
