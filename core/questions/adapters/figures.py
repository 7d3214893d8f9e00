"""The Adapters page's figures: a training as it goes on, and what its training pairs are worth."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import add_chance, cards, logarithmic
from core.figures.panels import cell, panels
from core.figures.theme import INK, Mode, chance_line, plain, wrap
from core.questions.adapters.baselines import METHODS
from core.questions.adapters.measures import (
    ADAPTERS,
    ALIGNMENT,
    AVERAGE,
    BEFORE,
    CHANCE,
    MEAN,
    PAIRS,
    RECALL,
)

MARKS = dict(zip(METHODS, ("diamond", "square", "triangle-up", "cross", "x"), strict=True))
AVERAGE_BEFORE = "average before"
FEW_PASSES = 6


def curve(
    rows: pd.DataFrame,
    *,
    label: str,
    chances: Mapping[str, float],
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw loss, recall and alignment by passes over the training pairs, a panel each.

    rows: epoch, loss, validation, recall_10, alignment. label: of the alignment. chances: of
    recall_10 and alignment, NaN where no formula tells.
    """
    columns = 1 if narrow else 3
    figure = panels(
        ["<b>Loss</b>", "<b>Recall at 10</b>", "<b>Alignment</b>"],
        columns,
        mode,
        height=760 if narrow else 300,
        title="Training of the adapters",
        horizontal_spacing=0.11,
        vertical_spacing=0.12,
    )
    loss, recall, alignment = (cell(place, columns) for place in range(3))
    ink = INK[mode]
    _add_course(figure, rows, "loss", ink.soft, loss, name="training pairs")
    _add_course(figure, rows, "validation", ink.ember, loss, name="validation pairs")
    _add_course(figure, rows, "recall_10", ink.ember, recall)
    _add_course(figure, rows, "alignment", ink.ember, alignment)
    ends = (0, max(1, rows["epoch"].max()))
    add_chance(figure, ends, chances["recall_10"], mode, recall, named=True)
    add_chance(figure, ends, chances["alignment"], mode, alignment)
    figure.update_xaxes(title_text="passes over the training pairs")
    if rows["epoch"].max() < FEW_PASSES:
        figure.update_xaxes(dtick=1)  # there is no half of a pass
    figure.update_yaxes(rangemode="tozero").update_yaxes(title_text=wrap(label, 34), **alignment)
    return figure.update_yaxes(title_text="InfoNCE", **loss).figure()


def _add_course(
    figure: Drawing,
    rows: pd.DataFrame,
    column: str,
    color: str,
    at: Mapping[str, int],
    *,
    name: str = "",
) -> None:
    """Add a measure by passes; one with a name is in the legend."""
    figure.add_scatter(
        x=rows["epoch"],
        y=rows[column],
        mode="lines",
        line={"color": color, "width": 2},
        name=name,
        showlegend=bool(name),
        hovertemplate="pass %{x}: %{y:.3f}<extra></extra>",
        **at,
    )


def cost(measures: pd.DataFrame, *, label: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw alignment of the mean and recall at 10 by the number of training pairs, next to the
    baselines.

    measures: as `core.questions.adapters.measures.summarize` gives them, by number of pairs.
    """
    columns = 1 if narrow else 2
    figure = panels(
        ["<b>Alignment of the mean</b>", "<b>Recall at 10</b>"],
        columns,
        mode,
        height=640 if narrow else 360,
        title="What training pairs are worth",
        horizontal_spacing=0.1,
        vertical_spacing=0.16,
    )
    left, right = cell(0, columns), cell(1, columns)
    align, recalls = measures[measures["measure"] == ALIGNMENT], _recalls(measures)
    after = align[(align["method"] == ADAPTERS) & (align["what"] == MEAN)]
    before = align[(align["method"] == BEFORE) & (align["what"] == AVERAGE)]
    figure.add_scatter(**_line(after, ADAPTERS, mode), showlegend=False, **left)
    figure.add_scatter(**_line(before, AVERAGE_BEFORE, mode), **left)
    for name, run in recalls[recalls["method"] != CHANCE].groupby("method", sort=False):
        figure.add_scatter(**_line(run, str(name), mode), **right)
    figure.add_scatter(**_chance(align, mode), showlegend=False, **left)
    figure.add_scatter(**_chance(recalls, mode), **right)
    ticks = sorted(map(int, measures[PAIRS].unique()))
    figure.update_xaxes(title_text="training pairs", **logarithmic(ticks))
    figure.update_yaxes(rangemode="tozero").update_yaxes(title_text=wrap(label, 34), **left)
    return figure.figure()


def _recalls(measures: pd.DataFrame) -> pd.DataFrame:
    """Return the recall at 10 by pairs and method, the mean over its directions."""
    rows = measures[measures["measure"] == f"{RECALL}_10"]
    return rows.groupby([PAIRS, "method"], sort=False)["value"].mean().reset_index()


def _chance(rows: pd.DataFrame, mode: Mode) -> dict[str, object]:
    run = rows[rows["method"] == CHANCE]
    return {"x": run[PAIRS], "y": run["value"], **chance_line(mode), "hoverinfo": "skip"}


def _line(run: pd.DataFrame, name: str, mode: Mode) -> dict[str, object]:
    ink = INK[mode]
    looks = {ADAPTERS: (ink.ember, "circle"), AVERAGE_BEFORE: (ink.text, "circle-open")}
    color, symbol = looks.get(name, (ink.soft, MARKS.get(name, "circle")))
    texts = [
        f"{plain(name)}: {value:.3f} at {pairs:,} pairs"
        for pairs, value in zip(run[PAIRS], run["value"], strict=True)
    ]
    return {
        "x": run[PAIRS],
        "y": run["value"],
        "mode": "lines+markers",
        "name": plain(name),
        "legendgroup": name,
        "line": {"color": color, "width": 3 if name == ADAPTERS else 1.5},
        "marker": {"color": color, "size": 8, "symbol": symbol},
        **cards(texts),
    }
