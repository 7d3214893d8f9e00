"""What captions of each level hold, and alignment by how much of the world they mention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from core.figures.marks import (
    add_chance,
    cards,
    in_percent,
)
from core.figures.numbers import share_text
from core.figures.panels import cell, grid, name_rows, panels, per_row
from core.figures.theme import INK, Mode, clear, heading, plain, reason, wrap

ABOUT: Mapping[str, tuple[str, Callable[[object], str]]] = {  # heading, how a value is written
    "words": ("Words", "{:.1f}".format),
    "bytes": ("Bytes", "{:.0f}".format),
    "facts": ("Factors mentioned", share_text),
}


def levels(table: pd.DataFrame, *, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw words, bytes and, where it is known, the share of the factors mentioned at each level as
    bars.

    table: as `core.questions.captions.answer.describe_levels` gives it.
    """
    shown = [name for name in ABOUT if table[name].notna().any()]
    rows, columns = (len(shown), 1) if narrow else (1, len(shown))
    tall = 34 * len(table) + 60
    figure = panels(
        [f"<b>{ABOUT[name][0]}</b>" for name in shown],
        columns,
        mode,
        height=tall * rows + 20,
        title="Caption levels",
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=40 / (tall * rows) if narrow else 0.0,
    )
    for place, name in enumerate(shown):
        at, most = cell(place, columns), 1.25 * table[name].max()
        figure.add_bar(**_bars(table, name, mode), **at)
        figure.update_xaxes(showticklabels=False, showgrid=False, range=[0, most], **at)
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False, ticksuffix="  ")
    return figure.update_layout(margin_t=32).figure()


def _bars(table: pd.DataFrame, name: str, mode: Mode) -> dict[str, object]:
    return {
        "x": table[name],
        "y": [f"level {plain(level)}" for level in table["level"]],
        "orientation": "h",
        "text": [ABOUT[name][1](value) for value in table[name]],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": clear(INK[mode].ember, 0.75)},
        "showlegend": False,
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }


def facts(
    points: pd.DataFrame, order: Sequence[str], *, label: str, mode: Mode, narrow: bool = False
) -> go.Figure:
    """Draw alignment of single stimuli against the share of the factors that their captions
    mention, a panel per facet.

    points: a row per facet, level and bin: facet, level, facts, score, stimuli, chance. order: the
    levels, fewest words first; the more words, the more a line's color stands out. Large marks hold
    many stimuli.
    """
    if points.empty:
        return reason("Too few captions mention the same share of factors to be compared.", mode)
    facets = list(dict.fromkeys(points["facet"]))
    figure = grid([f"<b>{heading(facet)}</b>" for facet in facets], mode, narrow=narrow, height=250)
    colors = dict(zip(order, sample_colorscale(list(INK[mode].scale[2:]), len(order)), strict=True))
    columns = per_row(len(facets), narrow)
    for place, facet in enumerate(facets):
        at, panel = cell(place, columns), points[points["facet"] == facet]
        add_chance(figure, [0, 1], panel["chance"].iloc[0], mode, at, named=place == 0)
        for level in order:
            run = _bins(panel[panel["level"] == level], level, colors[level], mode)
            figure.add_scatter(**run, showlegend=place == 0, **at)
    figure.update_xaxes(
        title_text="share of the factors mentioned",
        range=[0, 1.02],
        tickvals=[0.25, 0.5, 0.75],
        **in_percent(),
    )
    name_rows(figure, len(facets), columns, wrap(label, 24))
    figure.update_yaxes(matches="y", rangemode="tozero")
    return figure.update_layout(meta={"title": "Alignment by what a caption tells"}).figure()


def _bins(run: pd.DataFrame, level: str, color: str, mode: Mode) -> dict[str, object]:
    texts = [
        f"level {plain(level)}: {share_text(row.facts)} mentioned<br>alignment {row.score:.3f},"
        f" chance {row.chance:.3f}<br>{row.stimuli:,.0f} stimuli"
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
        **cards(texts),
    }
