"""The Models page's figures: the map of models, and the tree of models beside their alignment with
each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64
from plotly.subplots import make_subplots

from core.figures.theme import (
    INK,
    Mode,
    blank,
    clear,
    count_text,
    heading,
    hover_card,
    hue,
    marker_size,
    plain,
    reason,
    round_ticks,
    sized,
    template,
    wrap,
)
from core.modalities import find_modality

NAMED: Mapping[str, str] = {"group": "objective", "family": "family"}  # columns that color by name
SCALED: Mapping[str, str] = {
    "rank": "competence: rank in its modality",
    "parameters": "parameters",
    "step": "training steps",
}
LOGARITHMIC = ("parameters", "step")
SHRUNK = 0.75  # marks of one group lie close together
MOST_NAMES = 18  # in the legend, which would leave the map no room
LABEL, NARROW_LABEL = 44, 20  # characters of a model's title beside the tree


def model_map(
    points: pd.DataFrame,
    *,
    color: str,
    distance: str = "",
    named: Collection[str] = (),
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw a mark per model where the map places it; marks of one training are joined in the order
    of their steps.

    points: as `core.questions.models.points.map_points` returns them. color: a key of NAMED or
    SCALED. distance: what the distance of two marks is, which gets a scale; empty where it means
    nothing. named: the models that get a ring and their title.
    """
    figure = blank(mode, height=680 if narrow else 600, title="Map of models")
    for _, run in points[points["followed"]].groupby("run", sort=False):
        line = {"color": clear(hue(str(run["group"].iloc[0]), mode), 0.6), "width": 1.5}
        figure.add_scatter(
            x=run["x"], y=run["y"], mode="lines", line=line, hoverinfo="skip", showlegend=False
        )
    if color in NAMED:
        _add_named(figure, points, color, mode)
    else:
        _add_scaled(figure, points, color, mode)
    for row in points[points["model"].isin(list(named))].to_dict("records"):
        _name(figure, row, mode)
    if distance and (width := float(np.ptp(points[["x", "y"]], axis=0).max())):
        _add_scale(figure, points, distance, width, mode)
    bare = {
        "showticklabels": False,
        "showgrid": False,
    }  # a place means nothing: the map may be turned and mirrored
    figure.update_xaxes(**bare).update_yaxes(**bare, scaleanchor="x", scaleratio=1)
    return figure.update_layout(margin_t=16, dragmode="pan")


def _add_scale(
    figure: go.Figure, points: pd.DataFrame, distance: str, width: float, mode: Mode
) -> None:
    """Draw a line as long as a round distance below the map, and say what it is."""
    left, at = points["x"].min(), points["y"].min() - 0.08 * width
    length = 10.0 ** math.floor(math.log10(width / 2))
    figure.add_scatter(
        x=[left, left + length],
        y=[at, at],
        mode="lines",
        line={"color": INK[mode].soft, "width": 3},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_annotation(
        x=left + length,
        y=at,
        text=f"{distance} {length:g}",
        showarrow=False,
        xanchor="left",
        xshift=8,
        font={"size": 12, "color": INK[mode].soft},
    )


def _name(figure: go.Figure, row: Mapping[Hashable, Any], mode: Mode) -> None:
    """Draw a ring around a mark, and its title above it."""
    ink, size, at = (
        INK[mode],
        SHRUNK * marker_size(row["parameters"]) + 7,
        {"x": row["x"], "y": row["y"]},
    )
    ring = {"color": "rgba(0,0,0,0)", "size": size, "line": {"color": ink.text, "width": 2}}
    figure.add_scatter(
        x=[row["x"]], y=[row["y"]], mode="markers", marker=ring, hoverinfo="skip", showlegend=False
    )
    figure.add_annotation(
        **at,
        text=plain(row["title"]),
        ax=0,
        ay=-34,
        arrowhead=0,
        arrowcolor=ink.text,
        standoff=size / 2,
        bgcolor=clear(ink.paper, 0.8),
    )


def _add_named(figure: go.Figure, points: pd.DataFrame, color: str, mode: Mode) -> None:
    kinds = list(points.groupby(["modality", color], sort=False))
    for place, ((_, name), kind) in enumerate(kinds):
        figure.add_scatter(
            **_marks(kind, {"color": hue(str(name), mode)}, mode),
            name=heading(str(name)),
            showlegend=place < MOST_NAMES,
        )
    if len(kinds) > MOST_NAMES:
        more = {"color": "rgba(0,0,0,0)"}
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker=more,
            name=f"and {len(kinds) - MOST_NAMES} more: point at them",
        )


def _add_scaled(figure: go.Figure, points: pd.DataFrame, color: str, mode: Mode) -> None:
    value = points[color].where(points[color] > 0) if color in LOGARITHMIC else points[color]
    shown = pd.Series(np.log10(value), index=points.index) if color in LOGARITHMIC else value
    for modality, kind in points.groupby("modality", sort=False):
        present = shown[kind.index].notna()
        marks = {"color": shown[kind.index][present], "coloraxis": "coloraxis"}
        figure.add_scatter(**_marks(kind[present], marks, mode), showlegend=False)
        kind_of = find_modality(str(modality))
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=kind_of.title,
            marker={"color": INK[mode].soft, "symbol": kind_of.symbol, "size": 10},
        )
        figure.add_scatter(
            **_marks(kind[~present], {"color": "rgba(0,0,0,0)"}, mode, edge=INK[mode].soft),
            showlegend=False,
        )
    bar = {
        "title": {"text": wrap(SCALED[color], 16), "font": {"size": 12}},
        "thickness": 12,
        "outlinewidth": 0,
        "len": 0.8,
    }
    figure.update_layout(
        coloraxis={
            "colorscale": list(INK[mode].scale[1:]),
            "colorbar": bar | _ticks(value, color),
            "showscale": bool(shown.notna().any()),
        }
    )


def _ticks(value: pd.Series, color: str) -> dict[str, Any]:
    if color not in LOGARITHMIC:
        return {"tickvals": [0, 0.5, 1], "ticktext": ["least", "middle", "most"]}
    if value.isna().all():
        return {}
    ticks = round_ticks(float(value.min()), float(value.max())) or [float(value.max())]
    return {
        "tickvals": [math.log10(tick) for tick in ticks],
        "ticktext": [count_text(tick) for tick in ticks],
    }


def _marks(
    points: pd.DataFrame, color: Mapping[str, Any], mode: Mode, *, edge: str = ""
) -> dict[str, Any]:
    marker = {
        **color,
        "size": [SHRUNK * marker_size(count) for count in points["parameters"]],
        "opacity": 1.0,
        "symbol": [find_modality(modality).symbol for modality in points["modality"]],
        "line": {"color": edge or INK[mode].paper, "width": 1.5 if edge else 1},
    }
    return {
        "x": points["x"],
        "y": points["y"],
        "mode": "markers",
        "marker": marker,
        "customdata": points[["model"]].to_numpy(),
        "hovertext": [_card(row) for row in points.to_dict("records")],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _card(row: Mapping[Hashable, Any]) -> str:
    step = "" if math.isnan(row["step"]) else f", after {row['step']:,.0f} steps"
    return hover_card(
        sized(row["title"], row["parameters"]),
        f"{plain(row['family'])}, {plain(row['objective'])}{step}",
        *([plain(row["skill"])] if row["skill"] else []),
        f"nearest: {wrap(plain(row['nearest']), 50)}",
        ids=row["model"],
    )


def tree(
    scores: Float64[np.ndarray, "m m"],
    branches: pd.DataFrame,
    *,
    titles: Sequence[str],
    groups: Sequence[str],
    label: str,
    aligned_high: bool,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw a tree of models and, in the order of its leaves, the alignment of every two of them.

    scores: in that order, NaN on the diagonal; columns are in the order of rows. branches: as
    `core.questions.models.clustering.cluster` gives them. titles: unique; long ones are cut in the
    middle, the hover card has them whole. groups: color the mark before each.
    """
    if np.isnan(scores).all():
        return reason("No two of these models have an alignment.", mode)
    count = len(titles)
    pitch, font = (13.0, 11) if count <= 80 else (11.5, 10)
    height = max(360, int(pitch * count + 120))
    figure = make_subplots(1, 2, column_widths=[0.16, 0.84], horizontal_spacing=0.006)
    figure.update_layout(
        template=template(mode),
        height=height,
        margin_t=64,
        meta={"title": "Tree and alignment of models"},
    )
    figure.add_scatter(**_brackets(branches, mode), row=1, col=1)
    names = [plain(title) for title in titles]
    ends = [float(np.nanmin(scores)), float(np.nanmax(scores))]
    bar = {
        "orientation": "h",
        "title": {"text": label, "font": {"size": 12}, "side": "top"},
        "thickness": 10,
        "outlinewidth": 0,
        "x": 1,
        "xanchor": "right",
        "y": 1,
        "yanchor": "bottom",
        "len": 0.6 if narrow else 0.4,
        "nticks": 5,
    }
    figure.add_heatmap(
        z=scores,
        x=names,
        y=names,
        colorscale=list(INK[mode].scale[:: 1 if aligned_high else -1]),
        colorbar=bar,
        zmin=min(0.0, ends[0]),
        zmax=ends[1],
        hoverongaps=False,
        row=1,
        col=2,
        hovertemplate="<b>%{y}</b><br><b>%{x}</b><br>alignment %{z:.3f}<extra></extra>",
    )
    most = NARROW_LABEL if narrow else LABEL
    marks = [
        f"<span style='color:{hue(group, mode)}'>■</span> {plain(shorten(title, most))}"
        for title, group in zip(titles, groups, strict=True)
    ]
    rows = {"range": [count - 0.5, -0.5], "showgrid": False, "fixedrange": True}
    figure.update_yaxes(**rows, showticklabels=False, row=1, col=1)
    figure.update_yaxes(
        **rows,
        side="right",
        tickmode="array",
        tickvals=names,
        ticktext=marks,
        tickfont_size=font,
        row=1,
        col=2,
    )
    figure.update_xaxes(
        autorange="reversed",
        nticks=4,
        showgrid=False,
        fixedrange=True,
        title_text="distance",
        row=1,
        col=1,
    )
    return figure.update_xaxes(
        showticklabels=False, showgrid=False, range=[-0.5, count - 0.5], row=1, col=2
    )


def _brackets(branches: pd.DataFrame, mode: Mode) -> dict[str, Any]:
    """Return all mergers as one broken line: leaves run down, distances to the left."""
    x, y = (
        [value for _, bracket in branches.groupby("branch") for value in (*bracket[axis], None)]
        for axis in ("y", "x")
    )
    line = {"color": INK[mode].soft, "width": 1.2}
    return {"x": x, "y": y, "mode": "lines", "line": line, "hoverinfo": "skip", "showlegend": False}


def shorten(text: str, most: int) -> str:
    """Cut a long text in its middle, since titles of one training differ at their ends.

    >>> shorten("ViT S · supervised after 1500 steps", 20)
    'ViT S · s…1500 steps'
    """
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
