"""Alignment within bins of competence."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import (
    add_chance,
    cards,
    in_percent,
)
from core.figures.numbers import (
    counted,
    p_text,
    share_text,
)
from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.theme import (
    INK,
    Mode,
    clear,
    hover_card,
    plain,
    reason,
    scatter_of,
    wrap,
)
from core.modalities import VISION
from core.questions.competence.bins import ALL, DIFFERENT, SAME


def bins(
    points: pd.DataFrame,
    table: pd.DataFrame,
    *,
    kinds: Mapping[str, str],
    label: str,
    chance: float,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw the mean alignment within bins of competence with its standard error, the pairs behind
    it and their number, a panel per kind of pairs.

    points: rows of `core.questions.competence.bins.bin_pairs` with title_x and title_y. table: as
    `core.questions.competence.answer.bin_models` returns it. kinds: what to call the pairs of each
    panel, by pairs_of. chance: NaN where no formula gives it.
    """
    if points.empty:
        return reason("No two models share a bin: choose fewer bins, or bins of equal size.", mode)
    right, columns = float(table["high"].max()) + 0.02, per_row(len(kinds), narrow)
    figure = grid(_heads(table, kinds), mode, narrow=narrow, height=330)
    chosen = {ALL: points, SAME: points[points["same"]], DIFFERENT: points[~points["same"]]}
    for place, kind in enumerate(kinds):
        at, named = cell(place, columns), place == 0
        add_chance(figure, [-0.02, right], chance, mode, at, named=named)
        figure.add_trace(
            {**_pairs(chosen[kind], table["basis"].iloc[0], mode), "showlegend": named}, **at
        )
        means = table[(table["pairs_of"] == kind) & table["mean"].notna()]
        figure.add_scatter(**_means(means, mode), showlegend=named, **at)
        _count_pairs(figure, means, at, mode)
    figure.update_xaxes(
        title_text=table["basis"].iloc[0], **in_percent(), range=[-0.02, right], nticks=6
    )
    figure.update_yaxes(rangemode="tozero", matches="y")
    name_rows(figure, len(kinds), columns, wrap(label, 34))
    return figure.update_layout(meta={"title": "Alignment within bins of competence"}).figure()


def _heads(table: pd.DataFrame, kinds: Mapping[str, str]) -> list[str]:
    trends = table.drop_duplicates("pairs_of").set_index("pairs_of").to_dict("index")
    return [f"<b>{plain(title)}</b><br>{_trend(trends[kind])}" for kind, title in kinds.items()]


def _trend(row: Mapping[Hashable, Any]) -> str:
    small = "<span style='font-size:12px'>{}</span>"
    if math.isnan(row["p"]):
        return small.format("no trend: " + wrap(plain(row["trend_reason"]), 34))
    return small.format(f"slope {row['slope']:+.2f} · {p_text(row['p'])}".replace("-", "−"))


def _pairs(points: pd.DataFrame, basis: str, mode: Mode) -> dict[str, object]:
    texts = [
        hover_card(
            f"<b>{plain(row.title_x)}</b> × <b>{plain(row.title_y)}</b>",
            f"alignment {row.score:.3f}",
            f"{basis} {share_text(row.skill)}, mean of both",
            ids=f"{row.model_x} × {row.model_y}",
        )
        for row in points.itertuples(index=False)
    ]
    return {
        "type": scatter_of(len(points)),
        "x": points["skill"],
        "y": points["score"],
        "mode": "markers",
        **cards(texts),
        "name": "two models of one bin",
        "legendgroup": "pairs",
        "marker": {"color": clear(INK[mode].ember, 0.5), "size": 6, "symbol": VISION.symbol},
    }


def _means(means: pd.DataFrame, mode: Mode) -> dict[str, object]:
    ink = INK[mode].text
    texts = [
        f"<b>{row['basis']} {share_text(row['low'])} to {share_text(row['high'])}</b>"
        f"<br>{row['models']} models, {counted(row['pairs'], 'pair', 'pairs')}"
        f"<br>mean alignment {row['mean']:.3f}{_error(row['se'])}"
        for row in means.to_dict("records")
    ]
    width = {
        "type": "data",
        "array": (means["high"] - means["low"]) / 2,
        "color": clear(ink, 0.35),
        "thickness": 1.5,
        "width": 0,
    }
    error = {"type": "data", "array": means["se"], "color": ink, "thickness": 2, "width": 6}
    return {
        "x": (means["low"] + means["high"]) / 2,
        "y": means["mean"],
        "mode": "lines+markers",
        **cards(texts),
        "marker": {"color": ink, "size": 11, "symbol": "diamond"},
        "line": {"color": ink, "width": 2},
        "error_y": error,
        "error_x": width,
        "name": "mean of a bin ± standard error",
        "legendgroup": "means",
    }


def _count_pairs(figure: Drawing, means: pd.DataFrame, at: Mapping[str, int], mode: Mode) -> None:
    """Write above each bin how many pairs it has."""
    look = {"showarrow": False, "font": {"size": 11, "color": INK[mode].soft}, "yanchor": "top"}
    for row in means.to_dict("records"):
        text, middle = counted(row["pairs"], "pair", "pairs"), (row["low"] + row["high"]) / 2
        figure.add_annotation(x=middle, y=1, yref="y domain", text=text, **look, **at)


def _error(se: float) -> str:
    return (
        "; one model is in all pairs, so no standard error"
        if math.isnan(se)
        else f" ± {se:.3f} (standard error over models)"
    )
