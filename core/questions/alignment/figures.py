"""The Alignment page's figures: alignment against competence, and the layer × layer map of one pair
of models.
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

from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    blank,
    chance_line,
    clear,
    heading,
    hover_card,
    hue,
    marker_size,
    plain,
    reason,
    sized,
    template,
    wrap,
)
from core.metrics.spec import MetricSpec
from core.modalities import LANGUAGE
from core.statistics.fits import Fit
from core.study.layers import LayerChoice, pick


def trend(
    points: pd.DataFrame, fits: Mapping[str, Fit], *, label: str, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw alignment against the competence of language models, one panel per objective of the
    other model.

    points: one row per pair: facet, model_x, title_x, group_x, parameters_x, competence, model_y,
    title_y, parameters_y, layer_x, layer_y, score, chance; with a null p and p_adjusted, with an
    interval low and high. fits: one per facet. label: of the score. Each line is one model of the
    panel's objective, wider where it is larger. `narrow` stacks the panels for a phone.
    """
    seen = points.dropna(subset=["competence", "score"])
    if seen.empty:
        return reason(_why_empty(points), mode)
    facets = list(dict.fromkeys(seen["facet"]))
    columns = (
        1 if narrow else 2 if len(facets) == 4 else min(3, len(facets))
    )  # four panels make a square
    rows = math.ceil(len(facets) / columns)
    tall = 330 if rows == 1 else 265
    titles = [_heading(facet, fits[facet]) for facet in facets]
    figure = make_subplots(
        rows,
        columns,
        shared_yaxes=True,
        shared_xaxes="all",
        subplot_titles=titles,
        horizontal_spacing=0.03,
        vertical_spacing=min(0.24, 84 / (tall * rows)),
    )
    figure.update_layout(
        template=template(mode),
        height=tall * rows + 110,
        margin_t=56,
        meta={"title": "Alignment and competence"},
    )
    for place, facet in enumerate(facets):
        at = {"row": place // columns + 1, "col": place % columns + 1}
        _add_panel(figure, seen[seen["facet"] == facet], fits[facet].band, at, mode)
    _name_axes(figure, rows, columns, len(facets), label)
    seen_values = pd.concat([seen["score"], seen["chance"]]).dropna()
    low, high = min(0.0, seen_values.min()), seen_values.max()
    figure.update_yaxes(matches="y", range=[1.08 * low, 1.08 * max(high, 0.0) or 1.0])
    _add_legend(figure, seen, mode)
    return figure


def _why_empty(points: pd.DataFrame) -> str:
    if points.empty:
        return "No pair of models is chosen: pick at least one language model and one vision model."
    if points["score"].isna().all():
        return "No alignment can be computed for these models."
    return (
        "None of these language models has bits per byte (features made elsewhere or masked models"
        " have none)."
    )


def _heading(facet: str, fit: Fit) -> str:
    numbers = f"Spearman {fit.spearman:.2f} · R² {fit.r2:.2f} · n = {fit.n}".replace("-", "−")
    note = wrap(fit.reason) if fit.reason else numbers
    return f"<b>{heading(facet)}</b><br><span style='font-size:12px'>{note}</span>"


def _add_panel(
    figure: go.Figure, points: pd.DataFrame, band: pd.DataFrame, at: dict[str, int], mode: Mode
) -> None:
    color = hue(points["facet"].iloc[0], mode)
    if len(band):
        around = {"x": [*band["x"], *band["x"][::-1]], "y": [*band["high"], *band["low"][::-1]]}
        shade = {
            "fill": "toself",
            "fillcolor": clear(color, 0.13),
            "mode": "none",
            "hoverinfo": "skip",
            "showlegend": False,
        }
        figure.add_scatter(**around, **shade, **at)
        line = {"line": {"color": clear(color, 0.9), "width": 2, "dash": "dash"}, "mode": "lines"}
        figure.add_scatter(
            x=band["x"], y=band["fit"], **line, hoverinfo="skip", showlegend=False, **at
        )
    ends = [points["competence"].min(), points["competence"].max()]
    margin = 0.04 * (ends[1] - ends[0]) or 0.02
    if (
        points["chance"].nunique() == 1
    ):  # of CKA every pair has its own, which stands in its hover card
        figure.add_scatter(
            x=[ends[0] - margin, ends[1] + margin],
            y=[points["chance"].iloc[0]] * 2,
            **chance_line(mode),
            showlegend=False,
            hoverinfo="skip",
            **at,
        )
    for _, run in points.sort_values("competence").groupby("model_y", sort=False):
        figure.add_scatter(**_run(run, color, mode), **at)


def _run(run: pd.DataFrame, color: str, mode: Mode) -> dict[str, object]:
    width = (marker_size(run["parameters_y"].iloc[0]) - 4.0) / 5.0
    marker = {
        "color": [hue(name, mode) for name in run["group_x"]],
        "size": [0.75 * marker_size(count) for count in run["parameters_x"]],
        "symbol": LANGUAGE.symbol,
        "opacity": 1.0,
        "line": {"color": INK[mode].paper, "width": 1.5},
    }
    return {
        "x": run["competence"],
        "y": run["score"],
        "mode": "lines+markers",
        "marker": marker,
        "line": {"color": clear(color, 0.55), "width": min(max(width, 1.0), 4.0)},
        "showlegend": False,
        "customdata": run[["model_x", "model_y"]].to_numpy(),
        "hovertext": [_card(row) for row in run.to_dict("records")],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _card(row: Mapping[Hashable, Any]) -> str:
    return hover_card(
        f"{sized(row['title_x'], row['parameters_x'])} ×"
        f" {sized(row['title_y'], row['parameters_y'])}",
        f"alignment {row['score']:.3f}{_beside(row)}",
        f"competence {row['competence']:.2f}",
        f"layers {row['layer_x']} × {row['layer_y']}",
        ids=f"{row['model_x']} × {row['model_y']}",
    )


def _beside(row: Mapping[Hashable, Any]) -> str:
    """Return what is known beside a score: its chance and interval, or of a calibrated one the raw
    score and how likely it is.
    """
    if "raw" not in row:
        return f"{_chance(row['chance'])}{_interval(row, '')}"
    raw = f"<br>raw score {row['raw']:.3f}{_chance(row['raw_chance'])}{_interval(row, 'raw_')}"
    return f"{raw}<br>p {row['p']:.2g}, adjusted for all pairs {row['p_adjusted']:.2g}"


def _chance(chance: float) -> str:
    return "" if math.isnan(chance) else f", chance {chance:.3f}"


def _interval(row: Mapping[Hashable, Any], prefix: str) -> str:
    return (
        f"<br>95 % interval {row[f'{prefix}low']:.3f} to {row[f'{prefix}high']:.3f}"
        if f"{prefix}low" in row
        else ""
    )


def _name_axes(figure: go.Figure, rows: int, columns: int, panels: int, label: str) -> None:
    figure.update_xaxes(matches="x", showticklabels=False)
    for column in range(1, columns + 1):
        lowest = max(row for row in range(1, rows + 1) if (row - 1) * columns + column <= panels)
        figure.update_xaxes(title_text=COMPETENCE, showticklabels=True, row=lowest, col=column)
    for row in range(1, rows + 1):
        figure.update_yaxes(title_text=wrap(label, 34), row=row, col=1)


def _add_legend(figure: go.Figure, points: pd.DataFrame, mode: Mode) -> None:
    for name in dict.fromkeys(points["group_x"]):
        marker = {"color": hue(name, mode), "size": 10, "symbol": LANGUAGE.symbol}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=plain(name))
    ink = INK[mode].soft
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        line={"color": ink, "width": 2, "dash": "dash"},
        name="fit, 95 % band",
    )
    if (points.groupby("facet")["chance"].nunique() == 1).any():
        figure.add_scatter(x=[None], y=[None], **chance_line(mode))


def layer_grid(
    scores: Float64[np.ndarray, "layers_x layers_y"],
    *,
    title_x: str,
    title_y: str,
    layers_x: Sequence[str],
    layers_y: Sequence[str],
    spec: MetricSpec,
    chance: float,
    mode: Mode,
) -> go.Figure:
    """Draw the alignment of every layer of one model with every layer of another; the best pair is
    framed.
    """
    if np.isnan(scores).all():
        return reason("No pair of layers has an alignment here.", mode)
    dark = spec.higher_is_more_aligned  # the more aligned, the farther from the paper's color
    beside = "" if math.isnan(chance) else f", chance {chance:.3f}"
    figure = blank(
        mode, height=max(340, 34 * len(layers_x) + 150), title=f"Layers of {title_x} and {title_y}"
    )
    figure.add_heatmap(
        z=scores,
        colorscale=list(INK[mode].scale[:: 1 if dark else -1]),
        zmin=min(0.0, float(np.nanmin(scores))),
        xgap=2,
        ygap=2,
        x=list(range(scores.shape[1])),
        y=list(range(scores.shape[0])),
        hovertext=[[f"{plain(x)} × {plain(y)}" for y in layers_y] for x in layers_x],
        hovertemplate="%{hovertext}<br>alignment %{z:.3f}" + f"{beside}<extra></extra>",
        colorbar={
            "title": {"text": "alignment" if dark else "distance", "font": {"size": 12}},
            "thickness": 12,
            "outlinewidth": 0,
        },
    )
    row, column = pick(scores, LayerChoice(), spec=spec)
    frame = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    figure.add_shape(type="rect", **frame, line={"color": INK[mode].text, "width": 2.5})
    star = {
        "text": "★",
        "font": {"size": 16, "color": INK[mode].paper},
    }  # the best cell has the color farthest from the paper
    figure.add_annotation(x=column, y=row, showarrow=False, **star)
    best = (
        f"★ best: {plain(layers_x[row])} × {plain(layers_y[column])},"
        f" <b>{scores[row, column]:.3f}</b>{beside}"
    )
    figure.add_annotation(
        text=best, xref="paper", yref="paper", x=0, y=1, yshift=28, xanchor="left", showarrow=False
    )
    figure.update_xaxes(
        title_text=f"layer of {plain(title_y)}", showgrid=False, dtick=max(1, scores.shape[1] // 12)
    )
    figure.update_yaxes(
        title_text=f"layer of {plain(title_x)}", showgrid=False, dtick=max(1, scores.shape[0] // 12)
    )
    return figure
