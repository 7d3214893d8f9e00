"""Alignment against competence by many metrics: a panel for each."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import cards, name_line
from core.figures.panels import cell, name_rows, panels, per_row
from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    clear,
    hover_card,
    hue,
    line_widths,
    mark_sizes,
    plain,
    reason,
)
from core.metrics import METRICS
from core.modalities import LANGUAGE

HEIGHT = 250  # of a row of panels, in pixels
MEAN = {"width": 3, "dash": "dash"}  # one family has nearly the color of ink


def described(table: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Add what `by_metric` draws of each model to a table of alignments.

    models: as `core.study.models.describe` gives them.
    """
    named = models.set_index("model")[["title", "group", "parameters"]]
    for side in ("x", "y"):
        table = table.join(named.add_suffix(f"_{side}"), on=f"model_{side}")
    return table


def by_metric(
    points: pd.DataFrame, *, title: str = COMPETENCE, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw alignment against the competence of language models, a line per vision model and their
    mean, a panel per metric.

    points: metric, model_x, title_x, model_y, title_y, group_y, parameters_y, layer_x, layer_y,
    score, competence, as `core.questions.metrics.trends.align_by_each` and `described` give
    them. title: of the horizontal axis.
    """
    seen = points.dropna(subset=["competence", "score"])
    if seen.empty:
        return reason("No alignment can be computed for these models.", mode)
    seen = seen.assign(width=line_widths(mark_sizes(seen["parameters_y"])))
    metrics = list(dict.fromkeys(seen["metric"]))
    columns = per_row(len(metrics), narrow)
    figure = _panels(metrics, columns, mode)
    for place, metric in enumerate(metrics):
        rows, at = seen[seen["metric"] == metric].sort_values("competence"), cell(place, columns)
        for _, run in rows.groupby("model_y", sort=False):
            figure.add_scatter(**_run(run, mode), **at)
        figure.add_scatter(**_mean(rows, mode), **at)
    _name_axes(figure, len(metrics), columns, title)
    for group in dict.fromkeys(seen["group_y"]):
        name_line(figure, plain(group), {"color": hue(group, mode), "width": 2}, group=group)
    name_line(figure, "mean", MEAN | {"color": INK[mode].text}, group="mean")
    return figure.figure()


def _panels(metrics: list[str], columns: int, mode: Mode) -> Drawing:
    rows = math.ceil(len(metrics) / columns)
    return panels(
        [f"<b>{_head(metric)}</b>" for metric in metrics],
        columns,
        mode,
        height=HEIGHT * rows + 120,
        title="Alignment and competence by metric",
        horizontal_spacing=0.05,
        vertical_spacing=min(0.24, 70 / (HEIGHT * rows)),
    )


def _head(metric: str) -> str:
    spec = METRICS[metric].spec
    return f"{spec.short}{'' if spec.higher_is_more_aligned else ' (low: aligned)'}"


def _run(run: pd.DataFrame, mode: Mode) -> dict[str, object]:
    group, color = run["group_y"].iloc[0], hue(run["group_y"].iloc[0], mode)
    texts = [_card(row) for row in run.to_dict("records")]
    return {
        "x": run["competence"],
        "y": run["score"],
        "mode": "lines+markers",
        "line": {"color": clear(color, 0.7), "width": run["width"].iloc[0]},
        "marker": {"color": color, "size": 6, "symbol": LANGUAGE.symbol},
        "legendgroup": group,
        "showlegend": False,
        "customdata": run[["model_x", "model_y"]].to_numpy(),
        **cards(texts),
    }


def _card(row: Mapping[Hashable, Any]) -> str:
    return hover_card(
        f"<b>{plain(row['title_x'])} × {plain(row['title_y'])}</b>",
        f"{METRICS[row['metric']].spec.short} {row['score']:.3f}",
        f"layers {row['layer_x']} and {row['layer_y']}",
        ids=f"{row['model_x']} × {row['model_y']}",
    )


def _mean(rows: pd.DataFrame, mode: Mode) -> dict[str, object]:
    """Return the mean over vision models."""
    means = rows.groupby("model_x", sort=False)[["competence", "score"]].mean()
    return {
        "x": means["competence"],
        "y": means["score"],
        "mode": "lines",
        "line": MEAN | {"color": INK[mode].text},
        "legendgroup": "mean",
        "showlegend": False,
        **cards(f"mean {score:.3f}" for score in means["score"]),
    }


def _name_axes(figure: Drawing, count: int, columns: int, title: str) -> None:
    for place in range(max(0, count - columns), count):  # the lowest panel of each column
        figure.update_xaxes(title_text=title, **cell(place, columns))
    name_rows(figure, count, columns, "alignment")
