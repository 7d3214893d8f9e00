"""The Captions page's figures: alignment by how many words a caption has, and by how much it
tells.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from core.figures.panels import cell, grid, name_rows, per_row
from core.figures.theme import (
    INK,
    Mode,
    chance_line,
    clear,
    heading,
    hover_card,
    hue,
    marker_size,
    p_text,
    plain,
    reason,
    sized,
    template,
    wrap,
)
from core.modalities import LANGUAGE, VISION

ABOUT: Mapping[str, tuple[str, str]] = {  # heading, how a value is written
    "words": ("Words", ".1f"),
    "bytes": ("Bytes", ".0f"),
    "facts": ("Factors told", ".0%"),
}


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
    facets = list(dict.fromkeys(points["facet"]))
    by_facet = trends.set_index("model_y").to_dict("index")
    figure = grid(
        [_head(facet, by_facet[facet]) for facet in facets], mode, narrow=narrow, height=250
    )
    ends = [0.85 * points["words"].min(), 1.18 * points["words"].max()]
    for place, facet in enumerate(facets):
        at, panel = cell(place, per_row(len(facets), narrow)), points[points["facet"] == facet]
        if panel["chance"].nunique() == 1:
            figure.add_scatter(
                x=ends,
                y=[panel["chance"].iloc[0]] * 2,
                **chance_line(mode),
                showlegend=False,
                hoverinfo="skip",
                **at,
            )
        for _, run in lines[lines["facet"] == facet].groupby("model", sort=False):
            figure.add_scatter(**_language(run, mode), **at)
        for _, run in panel.groupby("model_y", sort=False):
            figure.add_scatter(**_vision(run, mode), **at)
    ticks = _apart(points["words"])
    figure.update_xaxes(
        type="log",
        tickvals=ticks,
        ticktext=[f"{tick:.3g}" for tick in ticks],
        title_text="words per caption",
        range=[math.log10(end) for end in ends],
    )
    _finish(figure, len(facets), narrow, label)
    _name(figure, points, lines, mode)
    return figure.update_layout(meta={"title": "Alignment by the number of words"})


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


def _vision(run: pd.DataFrame, mode: Mode) -> dict[str, Any]:
    color, size = hue(str(run["group_y"].iloc[0]), mode), marker_size(run["parameters_y"].iloc[0])
    cards = [
        hover_card(
            f"<b>{plain(row['title_y'])}</b>",
            f"level {plain(row['level'])}, {row['words']:.1f} words",
            f"{_with_deviation(row)}, chance {row['chance']:.3f}",
            f"mean and deviation over language models: {row['models']}",
            ids=row["model_y"],
        )
        for row in run.to_dict("records")
    ]
    return {
        "x": run["words"],
        "y": run["mean"],
        "mode": "lines+markers",
        "showlegend": False,
        "line": {"color": clear(color, 0.75), "width": min(max((size - 4) / 5, 1.0), 4.0)},
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
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _language(run: pd.DataFrame, mode: Mode) -> dict[str, Any]:
    color = hue(str(run["group"].iloc[0]), mode)
    cards = [
        hover_card(
            sized(row["title"], row["parameters"]),
            f"level {plain(row['level'])}, {row['words']:.1f} words",
            f"alignment {row['score']:.3f}",
            ids=row["model"],
        )
        for row in run.to_dict("records")
    ]
    return {
        "x": run["words"],
        "y": run["score"],
        "mode": "lines+markers",
        "line": {"color": clear(color, 0.6), "width": 1},
        "marker": {"color": color, "size": 4, "symbol": LANGUAGE.symbol},
        "showlegend": False,
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _finish(figure: go.Figure, panels: int, narrow: bool, label: str) -> None:
    name_rows(figure, panels, per_row(panels, narrow), wrap(label, 24))
    figure.update_yaxes(matches="y", rangemode="tozero")


def _name(figure: go.Figure, points: pd.DataFrame, lines: pd.DataFrame, mode: Mode) -> None:
    ink = INK[mode].soft
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        line={"color": ink, "width": 2},
        marker={"color": ink, "symbol": VISION.symbol, "size": 8},
        name="a model, mean ± deviation over language models",
    )
    for name in dict.fromkeys(lines["group"]):
        marker = {"color": hue(str(name), mode), "size": 8, "symbol": LANGUAGE.symbol}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=plain(name))
    if points["chance"].notna().any():
        figure.add_scatter(x=[None], y=[None], **chance_line(mode))


def levels(table: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw words, bytes and, where it is known, the share of the factors told of each level as
    bars.

    table: as `core.questions.captions.answer.describe_levels` gives it.
    """
    panels = [name for name in ABOUT if table[name].notna().any()]
    rows, columns = (len(panels), 1) if narrow else (1, len(panels))
    tall = 34 * len(table) + 60
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=[f"<b>{ABOUT[name][0]}</b>" for name in panels],
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=40 / (tall * rows) if narrow else 0,
    )
    figure.update_layout(
        template=template(mode),
        height=tall * rows + 20,
        margin_t=32,
        meta={"title": "Caption levels"},
    )
    for place, name in enumerate(panels):
        at = {"row": place + 1, "col": 1} if narrow else {"row": 1, "col": place + 1}
        written = [format(value, ABOUT[name][1]) for value in table[name]]
        figure.add_bar(
            x=table[name],
            y=[f"level {plain(level)}" for level in table["level"]],
            orientation="h",
            text=written,
            textposition="outside",
            cliponaxis=False,
            marker={"color": clear(INK[mode].ember, 0.75)},
            showlegend=False,
            hovertemplate="%{y}: %{text}<extra></extra>",
            **at,
        )
        figure.update_xaxes(
            showticklabels=False, showgrid=False, range=[0, 1.25 * table[name].max()], **at
        )
    return figure.update_yaxes(
        autorange="reversed", type="category", showgrid=False, ticksuffix="  "
    )


def facts(
    points: pd.DataFrame, order: Sequence[str], *, label: str, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw alignment of single stimuli against the share of the factors that their captions tell, a
    panel per facet.

    points: a row per facet, level and bin: facet, level, facts, score, stimuli, chance. order: the
    levels, fewest words first; the more words, the more a line's color stands out. Large marks hold
    many stimuli.
    """
    if points.empty:
        return reason("Too few captions tell the same share of the factors to be compared.", mode)
    facets = list(dict.fromkeys(points["facet"]))
    figure = grid([f"<b>{heading(facet)}</b>" for facet in facets], mode, narrow=narrow, height=250)
    colors = dict(zip(order, sample_colorscale(list(INK[mode].scale[2:]), len(order)), strict=True))
    for place, facet in enumerate(facets):
        at, panel = cell(place, per_row(len(facets), narrow)), points[points["facet"] == facet]
        figure.add_scatter(
            x=[0, 1],
            y=[panel["chance"].iloc[0]] * 2,
            **chance_line(mode),
            showlegend=place == 0,
            hoverinfo="skip",
            **at,
        )
        for level in order:
            figure.add_scatter(
                **_bins(panel[panel["level"] == level], level, colors[level], mode),
                showlegend=place == 0,
                **at,
            )
    figure.update_xaxes(
        title_text="share of the factors told",
        range=[0, 1.02],
        tickformat=".0%",
        tickvals=[0.25, 0.5, 0.75],
    )
    _finish(figure, len(facets), narrow, label)
    return figure.update_layout(meta={"title": "Alignment by what a caption tells"})


def _bins(run: pd.DataFrame, level: str, color: str, mode: Mode) -> dict[str, Any]:
    cards = [
        f"level {plain(level)}: {row.facts:.0%} told<br>alignment {row.score:.3f}, chance"
        f" {row.chance:.3f}<br>{row.stimuli:,.0f} stimuli"
        for row in run.itertuples()
    ]
    marker = {
        "color": color,
        "size": [3 + 0.5 * count**0.5 for count in run["stimuli"]],
        "opacity": 1,
        "line": {"color": INK[mode].paper, "width": 1},
    }
    return {
        "x": run["facts"],
        "y": run["score"],
        "mode": "lines+markers",
        "name": f"level {plain(level)}",
        "legendgroup": level,
        "line": {"color": color, "width": 1.5},
        "marker": marker,
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _with_deviation(row: Mapping[Any, Any]) -> str:
    return f"alignment {row['mean']:.3f} ± {row['deviation']:.3f}".replace(" ± nan", "")
