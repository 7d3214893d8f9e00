"""The Color page's maps: how alike the sources are, how far off each color is, and what language
models know of color.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    blank,
    chance_line,
    count_text,
    hover_card,
    hue,
    marker_size,
    p_text,
    plain,
    reason,
    round_ticks,
    sized,
    template,
    wrap,
)
from core.modalities import LANGUAGE
from core.questions.color.space_panels import MOST_WORDS, color_card
from core.statistics.correlations import Correlation

MEASURES: Mapping[str, str] = {
    "kendall": "Kendall τ",
    "spearman": "Spearman ρ",
    "neighbors": "neighbors preserved",
    "disparity": "Procrustes disparity",
}


def agreement(
    table: pd.DataFrame, *, of: str, measure: str, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw how alike every two sources are as a map with its numbers and their p.

    table: as `core.questions.color.answer.compare_colors` gives it. of: "dissimilarities" or
    "layouts". measure: a key of MEASURES.
    """
    shown = table[(table["of"] == of) & (table["measure"] == measure)]
    order = list(dict.fromkeys([*shown["x"], *shown["y"]]))
    both = pd.concat([shown, shown.rename(columns={"x": "y", "y": "x"})])
    lowest, falling = min(0.0, float(shown["value"].min())), measure == "disparity"
    deep = (
        (both["value"] - lowest) / (1 - lowest) > 0.5
    ) != falling  # there the text takes the paper's color
    rows = both.to_dict("records")
    inks = [INK[mode].paper if on else INK[mode].text for on in deep]
    cards = both.assign(
        card=[_agreement_card(row, MEASURES[measure]) for row in rows],
        label=[_cell(row, ink, narrow) for row, ink in zip(rows, inks, strict=True)],
    )
    z, card, label = (
        cards.pivot(index="x", columns="y", values=each).loc[order, order]
        for each in ("value", "card", "label")
    )
    names = [wrap(plain(name), 16) for name in order]
    scale = list(INK[mode].scale[:: -1 if falling else 1])
    figure = blank(
        mode,
        height=390 if narrow else 110 + 62 * max(4, len(order)),
        title=f"{MEASURES[measure]} of {of} of colors",
    )
    bar = {
        "title": {"text": wrap(MEASURES[measure], 12), "font": {"size": 12}},
        "thickness": 12,
        "outlinewidth": 0,
    }
    figure.add_heatmap(
        x=names,
        y=names,
        z=z.to_numpy(np.float64),
        zmin=lowest,
        zmax=1.0,
        colorscale=scale,
        xgap=1,
        ygap=1,
        hovertext=card.fillna("").to_numpy(),
        hovertemplate="%{hovertext}<extra></extra>",
        hoverongaps=False,
        text=label.fillna("").to_numpy(),
        texttemplate="%{text}",
        textfont={"size": 10 if narrow else 12},
        colorbar=bar,
        showscale=not narrow,
    )
    figure.update_xaxes(
        tickangle=-90 if narrow else 0, showgrid=False, tickfont_size=10 if narrow else 12
    )
    return figure.update_yaxes(
        autorange="reversed", showgrid=False, tickfont_size=10 if narrow else 12
    ).update_layout(margin_t=12)


def _cell(row: Mapping[Hashable, Any], color: str, narrow: bool) -> str:
    value = f"{row['value']:.2f}".replace("-", "−")
    text = (
        value
        if narrow
        else f"{value}<br><span style='font-size:10px'>{p_text(row['p_adjusted'])}</span>"
    )
    return f"<span style='color:{color}'>{text}</span>"


def _agreement_card(row: Mapping[Hashable, Any], name: str) -> str:
    return hover_card(
        f"<b>{plain(row['x'])} × {plain(row['y'])}</b>",
        f"{name} of {row['of']} {row['value']:.3f}, 95 % interval {row['low']:.3f} to"
        f" {row['high']:.3f}",
        f"with shuffled colors {row['chance']:.3f}",
        f"{p_text(row['p'])} alone, {p_text(row['p_adjusted'])} adjusted for all pairs",
        ids=f"{row['colors']} colors",
    )


def errors(tables: Sequence[pd.DataFrame], *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw how far each source has each color from where perception has it, the color that is
    nearest on the whole first.

    tables: as for `layouts`, perception itself left out; a cell is empty where a source has no such
    color.
    """
    rows = pd.concat(list(tables), ignore_index=True)
    order = list(rows.groupby("color")["error"].mean().sort_values().index)
    sources, hexes = (
        list(dict.fromkeys(rows["source"])),
        rows.drop_duplicates("color").set_index("color")["hex"],
    )
    rows = rows.assign(card=[color_card(row) for row in rows.to_dict("records")])
    z, card = (
        rows.pivot(index="source", columns="color", values=each).loc[sources, order]
        for each in ("error", "card")
    )
    few = len(order) <= MOST_WORDS
    ticks = (
        [f"<span style='color:{hexes[color]}'>■</span> {plain(color)}" for color in order]
        if few
        else []
    )
    names = [wrap(plain(name), 16) for name in sources]
    figure = blank(mode, height=190 + 42 * len(sources), title="Error of each color")
    bar = {"title": {"text": "ΔE", "font": {"size": 12}}, "thickness": 12, "outlinewidth": 0}
    figure.add_heatmap(
        x=order,
        y=names,
        z=z.to_numpy(np.float64),
        zmin=0,
        colorscale=list(INK[mode].scale),
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertext=card.fillna("").to_numpy(),
        hovertemplate="%{hovertext}<extra></extra>",
        colorbar=bar,
        showscale=not narrow,
        texttemplate="" if narrow or not few else "%{z:.0f}",
        textfont={"size": 11},
    )
    figure.update_xaxes(
        tickvals=order if few else [],
        ticktext=ticks,
        tickangle=-90 if narrow else -60,
        showgrid=False,
        tickfont_size=9 if narrow else 12,
    )
    return figure.update_yaxes(
        autorange="reversed", showgrid=False, tickfont_size=11
    ).update_layout(margin_t=12)


def knowledge(
    points: pd.DataFrame,
    *,
    measure: str,
    notes: Mapping[str, str],
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw how well each language model knows perception against its competence and its size.

    points: a row per model: model, title, group, parameters, copy, competence, and the measure with
    its p, as `core.questions.color.answer.compare_models` gives them. measure: a column of it.
    notes: what is said over the panels "competence" and "parameters". Hollow marks are models
    before the end of their training.
    """
    seen = points.dropna(subset=[measure])
    if seen.empty:
        return reason(f"No language model here can be asked for colors: {_first(points)}.", mode)
    panels = {"competence": COMPETENCE, "parameters": "parameters"}
    panels = {column: title for column, title in panels.items() if seen[column].notna().any()}
    heads = [
        f"<b>by {'size' if column == 'parameters' else column}</b><br>{notes.get(column, '')}"
        for column in panels
    ]
    shape = (len(panels), 1) if narrow else (1, len(panels))
    figure = make_subplots(
        *shape,
        subplot_titles=heads,
        horizontal_spacing=0.06,
        vertical_spacing=0.2,
        shared_yaxes=not narrow,
    )
    figure.update_annotations(font_size=12)
    figure.update_layout(
        template=template(mode),
        height=400 * shape[0] + 40,
        margin_t=60,
        meta={"title": "What language models know of color"},
    )
    for place, (column, title) in enumerate(panels.items(), start=1):
        at = {"row": place, "col": 1} if narrow else {"row": 1, "col": place}
        _add_models(figure, seen.dropna(subset=[column]), column, measure, mode, at)
        figure.update_xaxes(title_text=title, **at)
        if column == "parameters":
            ticks = round_ticks(0.8 * float(seen[column].min()), 1.2 * float(seen[column].max()))
            figure.update_xaxes(
                type="log", tickvals=ticks, ticktext=[count_text(tick) for tick in ticks], **at
            )
    figure.update_yaxes(
        title_text=f"{MEASURES[measure]} with perception", **({} if narrow else {"col": 1})
    )
    return _name_groups(figure, seen, measure, mode)


def correlation_text(correlation: Correlation) -> str:
    """Return a correlation over models for a heading, or why there is none."""
    if math.isnan(correlation.value):
        return wrap(plain(correlation.reason), 40)
    interval = (
        "" if math.isnan(correlation.low) else f" ({correlation.low:.2f} to {correlation.high:.2f})"
    )
    text = (
        f"Spearman {correlation.value:.2f}{interval}, {p_text(correlation.p)},"
        f" {correlation.n} finished models"
    )
    return text.replace("-", "−")


def _first(points: pd.DataFrame) -> str:
    return next((text for text in points["reason"] if text), "there is none")


def _add_models(
    figure: go.Figure,
    points: pd.DataFrame,
    column: str,
    measure: str,
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    if measure != "disparity":
        low, high = float(points[column].min()), float(points[column].max())
        figure.add_scatter(
            x=[low, high], y=[0, 0], **chance_line(mode), showlegend=False, hoverinfo="skip", **at
        )
    for name, group in points.groupby("group", sort=False):
        color = hue(str(name), mode)
        marker = {
            "color": [INK[mode].paper if copy else color for copy in group["copy"]],
            "opacity": 1.0,
            "size": [0.75 * marker_size(count) for count in group["parameters"]],
            "symbol": LANGUAGE.symbol,
            "line": {"color": color, "width": 1.5},
        }
        cards = [_model_card(row, measure) for row in group.to_dict("records")]
        figure.add_scatter(
            x=group[column],
            y=group[measure],
            mode="markers",
            marker=marker,
            hovertext=cards,
            showlegend=False,
            hovertemplate="%{hovertext}<extra></extra>",
            **at,
        )


def _model_card(row: Mapping[Hashable, Any], measure: str) -> str:
    competence = [] if math.isnan(row["competence"]) else [f"competence {row['competence']:.2f}"]
    return hover_card(
        sized(row["title"], row["parameters"]),
        f"{MEASURES[measure]} {row[measure]:.3f}, {p_text(row[f'{measure}_p'])}, {row['colors']}"
        " colors",
        *competence,
        ids=row["model"],
    )


def _name_groups(figure: go.Figure, points: pd.DataFrame, measure: str, mode: Mode) -> go.Figure:
    for name in dict.fromkeys(points["group"]):
        marker = {"color": hue(str(name), mode), "size": 10, "symbol": LANGUAGE.symbol}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=plain(name))
    if points["copy"].any():
        line = {"color": INK[mode].soft, "width": 1.5}
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name="before the end of its training",
            marker={
                "color": INK[mode].paper,
                "size": 10,
                "symbol": LANGUAGE.symbol,
                "line": line,
            },
        )
    return (
        figure
        if measure == "disparity"
        else figure.add_scatter(x=[None], y=[None], **chance_line(mode))
    )
