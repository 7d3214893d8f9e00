"""What language models know of color, by their competence and their size."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import add_chance, cards, logarithmic, name_chance, name_groups, name_mark
from core.figures.numbers import p_text
from core.figures.panels import cell, panels
from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    hover_card,
    hue,
    mark_sizes,
    plain,
    reason,
    round_ticks,
    sized,
    symbol,
    wrap,
)
from core.modalities import LANGUAGE
from core.questions.color.figures import MEASURES
from core.statistics.correlations import Correlation

AXES: Mapping[str, str] = {"competence": COMPETENCE, "parameters": "parameters"}
COPIES = "copies"  # what a legend entry stands for, besides families and chance


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
    its p, as `ColorModels` answers them. measure: a column of it.
    notes: what is said over the panels "competence" and "parameters". Hollow marks are models
    before the end of their training.
    """
    seen = points.dropna(subset=[measure])
    if seen.empty:
        return reason(f"No language model here can be asked about colors: {_first(points)}.", mode)
    seen = seen.assign(size=0.75 * mark_sizes(seen["parameters"]))
    axes = {column: title for column, title in AXES.items() if seen[column].notna().any()}
    columns = 1 if narrow else len(axes)
    figure = _panels(axes, columns, notes, mode)
    for place, (column, title) in enumerate(axes.items()):
        at = cell(place, columns)
        _add_models(figure, seen.dropna(subset=[column]), column, measure, mode, at)
        figure.update_xaxes(title_text=title, **at)
        if column == "parameters":
            ticks = round_ticks(0.8 * float(seen[column].min()), 1.2 * float(seen[column].max()))
            figure.update_xaxes(**logarithmic(ticks), **at)
    outer = {} if narrow else {"col": 1}
    figure.update_yaxes(title_text=f"{MEASURES[measure]} with perception", **outer)
    _name_marks(figure, seen, measure, mode)
    return figure.figure()


def _panels(axes: Mapping[str, str], columns: int, notes: Mapping[str, str], mode: Mode) -> Drawing:
    names = {"competence": "competence", "parameters": "size"}
    rows = len(axes) // columns
    figure = panels(
        [f"<b>by {names[column]}</b><br>{notes.get(column, '')}" for column in axes],
        columns,
        mode,
        height=400 * rows + 40,
        title="What language models know of color",
        horizontal_spacing=0.06,
        vertical_spacing=0.2,
        shared_yaxes=rows == 1,
    )
    return figure.update_annotations(font_size=12).update_layout(margin_t=60)


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
    figure: Drawing,
    points: pd.DataFrame,
    column: str,
    measure: str,
    mode: Mode,
    at: Mapping[str, int],
) -> None:
    if measure != "disparity":
        ends = float(points[column].min()), float(points[column].max())
        add_chance(figure, ends, 0.0, mode, at)
    for (name, copy), group in points.groupby(["group", "copy"], sort=False):
        color = hue(str(name), mode)
        fill = INK[mode].paper if copy else color
        look = {"color": fill, "symbol": symbol(str(name), LANGUAGE)}
        marker = {**_marker(group), **look, "line": {"color": color, "width": 1.5}}
        figure.add_scatter(
            x=group[column],
            y=group[measure],
            mode="markers",
            marker=marker,
            legendgroup=COPIES if copy else str(name),
            showlegend=False,
            **cards(_model_card(row, measure) for row in group.to_dict("records")),
            **at,
        )


def _marker(group: pd.DataFrame) -> dict[str, object]:
    return {
        "opacity": 1.0,
        "size": group["size"].tolist(),
    }


def _model_card(row: Mapping[Hashable, Any], measure: str) -> str:
    competence = [] if math.isnan(row["competence"]) else [f"competence {row['competence']:.2f}"]
    return hover_card(
        sized(row["title"], row["parameters"]),
        f"{MEASURES[measure]} {row[measure]:.3f}, {p_text(row[f'{measure}_p'])}, {row['colors']}"
        " colors",
        *competence,
        ids=row["model"],
    )


def _name_marks(figure: Drawing, points: pd.DataFrame, measure: str, mode: Mode) -> None:
    name_groups(figure, points.loc[~points["copy"], "group"], LANGUAGE, mode)
    if points["copy"].any():
        line = {"color": INK[mode].soft, "width": 1.5}
        hollow = {"color": INK[mode].paper, "symbol": LANGUAGE.symbol, "line": line}
        name_mark(figure, "before the end of its training", hollow, group=COPIES)
    if measure != "disparity":
        name_chance(figure, mode)
