"""Alignment by how many words a caption has."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import add_chance, cards, name_chance, name_groups
from core.figures.numbers import p_text
from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.theme import (
    INK,
    Mode,
    clear,
    heading,
    hover_card,
    hue,
    line_widths,
    mark_sizes,
    plain,
    reason,
    sized,
    symbol,
    wrap,
)
from core.modalities import LANGUAGE, VISION

MEANS = "means"  # what a legend entry stands for, beside families and chance


def by_words(
    points: pd.DataFrame,
    lines: pd.DataFrame,
    trends: pd.DataFrame,
    *,
    label: str,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw alignment against the words of a caption, a panel per facet with its trend in the
    heading.

    points: rows of `core.questions.captions.trends.by_level` with facet, title_y, group_y,
    parameters_y: a line per model_y, wider for large ones, its bars the standard deviation over
    language models. lines: a thin line per language model, none where empty: facet, model, title,
    group, level, words, score. trends: rows of `level_trends`, model_y a facet. A level without
    words, of emoji say, has no place on the logarithmic axis.
    """
    points, lines = points[points["words"] > 0], lines[lines["words"] > 0]
    if points.empty:
        return reason("No alignment can be computed at these caption levels.", mode)
    sizes = mark_sizes(points["parameters_y"])
    points = points.assign(card=_vision_cards(points), size=sizes, width=line_widths(sizes))
    lines = lines.assign(card=_language_cards(lines))
    facets = list(dict.fromkeys(points["facet"]))
    heads = trends.set_index("model_y").to_dict("index")
    figure = grid([_head(each, heads[each]) for each in facets], mode, narrow=narrow, height=250)
    columns, ends = per_row(len(facets), narrow), _ends(points["words"])
    for place, facet in enumerate(facets):
        at, panel = cell(place, columns), points[points["facet"] == facet]
        if panel["chance"].nunique() == 1:
            add_chance(figure, ends, panel["chance"].iloc[0], mode, at)
        for _, run in lines[lines["facet"] == facet].groupby("model", sort=False):
            figure.add_scatter(**_language(run, mode), **at)
        for _, run in panel.groupby("model_y", sort=False):
            figure.add_scatter(**_vision(run, mode), **at)
    figure.update_xaxes(**_axis(points["words"]), range=[math.log10(end) for end in ends])
    name_rows(figure, len(facets), columns, wrap(label, 24))
    figure.update_yaxes(matches="y", rangemode="tozero")
    _name(figure, points, lines, mode)
    return figure.update_layout(meta={"title": "Alignment by the number of words"}).figure()


def _ends(words: pd.Series) -> tuple[float, float]:
    """Return the ends of the axis, a little beyond all levels."""
    return 0.85 * words.min(), 1.18 * words.max()


def _axis(words: pd.Series) -> dict[str, object]:
    ticks = _apart(words)
    labels = [f"{tick:.3g}" for tick in ticks]
    return {"type": "log", "tickvals": ticks, "ticktext": labels, "title_text": "words per caption"}


def _apart(words: pd.Series) -> list[float]:
    """Return the words of the levels, those left out whose labels would lie upon one another's: the
    whole axis holds eight.
    """
    every = sorted(words.unique())
    gap = max(1.2, (every[-1] / every[0]) ** (1 / 8))
    kept = every[-1:]
    for count in reversed(every[:-1]):
        kept += [count] if kept[-1] / count >= gap else []
    return kept[::-1]


def _head(facet: str, trend: Mapping[Hashable, Any]) -> str:
    numbers = (
        f"{trend['slope']:+.3f} per doubling, {p_text(trend['p_adjusted'])}<br>({trend['low']:+.3f}"
        f" to {trend['high']:+.3f})"
    )
    note = f"{numbers}<br>{trend['models']} models of {trend['families']} families".replace(
        "-", "−"
    )
    return (
        f"<b>{heading(facet)}</b><br><span"
        f" style='font-size:12px'>{wrap(trend['reason'], 36) or note}</span>"
    )


def _vision(run: pd.DataFrame, mode: Mode) -> dict[str, object]:
    color, size = hue(str(run["group_y"].iloc[0]), mode), run["size"].iloc[0]
    return {
        "x": run["words"],
        "y": run["mean"],
        "mode": "lines+markers",
        "legendgroup": MEANS,
        "showlegend": False,
        "line": {"color": clear(color, 0.75), "width": run["width"].iloc[0]},
        "marker": {
            "color": color,
            "size": 0.6 * size,
            "symbol": VISION.symbol,
            "line": {"color": INK[mode].paper, "width": 1},
        },
        "error_y": {
            "type": "data",
            "array": run["deviation"].fillna(0),
            "color": clear(color, 0.35),
            "thickness": 2,
            "width": 0,
        },
        "customdata": run[["model_y"]].to_numpy(),
        **cards(run["card"].tolist()),
    }


def _vision_cards(points: pd.DataFrame) -> list[str]:
    return [
        hover_card(
            f"<b>{plain(row['title_y'])}</b>",
            f"level {plain(row['level'])}, {row['words']:.1f} words",
            f"{_with_deviation(row)}, chance {row['chance']:.3f}",
            f"mean and deviation over language models: {row['models']}",
            ids=row["model_y"],
        )
        for row in points.to_dict("records")
    ]


def _language(run: pd.DataFrame, mode: Mode) -> dict[str, object]:
    family = str(run["group"].iloc[0])
    color = hue(family, mode)
    return {
        "x": run["words"],
        "y": run["score"],
        "mode": "lines+markers",
        "line": {"color": clear(color, 0.6), "width": 1},
        "marker": {"color": color, "size": 4, "symbol": symbol(family, LANGUAGE)},
        "legendgroup": family,
        "showlegend": False,
        "customdata": run[["model"]].to_numpy(),
        **cards(run["card"].tolist()),
    }


def _language_cards(lines: pd.DataFrame) -> list[str]:
    return [
        hover_card(
            sized(row["title"], row["parameters"]),
            f"level {plain(row['level'])}, {row['words']:.1f} words",
            f"alignment {row['score']:.3f}",
            ids=row["model"],
        )
        for row in lines.to_dict("records")
    ]


def _name(figure: Drawing, points: pd.DataFrame, lines: pd.DataFrame, mode: Mode) -> None:
    ink = INK[mode].soft
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        line={"color": ink, "width": 2},
        marker={"color": ink, "symbol": VISION.symbol, "size": 8},
        name="a model, mean ± deviation over language models",
        legendgroup=MEANS,
    )
    name_groups(figure, lines["group"], LANGUAGE, mode)
    if points["chance"].notna().any():
        name_chance(figure, mode)


def _with_deviation(row: Mapping[Any, Any]) -> str:
    return f"alignment {row['mean']:.3f} ± {row['deviation']:.3f}".replace(" ± nan", "")
