"""Parts that many figures share. A click on a legend entry hides what it names: the entry, which
often is a mark without data, and the traces that it names have one `legendgroup`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing, Tree
from core.figures.numbers import count_text, small_text
from core.figures.theme import (
    INK,
    Mode,
    chance_line,
    hue,
    plain,
    symbol,
)
from core.modalities import Modality

SILENT: Tree = {"hoverinfo": "skip", "showlegend": False}  # neither card nor legend
RING: Tree = {"symbol": "circle-open", "line": {"width": 2}}  # of the chosen alone


def cards(texts: Iterable[str]) -> Tree:
    return {"hovertext": list(texts), "hovertemplate": "%{hovertext}<extra></extra>"}


def add_chance(
    figure: Drawing,
    ends: Sequence[object],
    level: float,
    mode: Mode,
    at: Mapping[str, int],
    *,
    named: bool = False,
) -> None:
    """Draw a panel's chance level from one end to the other, or nothing if it is NaN. named:
    whether this line stands for all of them in the legend.
    """
    if not math.isnan(level):
        look = {**chance_line(mode), **SILENT, "showlegend": named}
        figure.add_scatter(x=list(ends), y=[level] * len(ends), **look, **at)


def name_chance(figure: Drawing, mode: Mode) -> Drawing:
    return figure.add_scatter(x=[None], y=[None], **chance_line(mode))


def name_mark(figure: Drawing, name: str, marker: Tree, *, group: str) -> Drawing:
    """Add a mark to the legend for the traces of a `legendgroup`; `name` is finished text."""
    look = {"mode": "markers", "marker": {"size": 10, **marker}, "name": name, "legendgroup": group}
    return figure.add_scatter(x=[None], y=[None], **look)


def name_groups(figure: Drawing, groups: Iterable[object], modality: Modality, mode: Mode) -> None:
    """Add every group of models to the legend once, in its color and its modality's symbol; its
    name is the `legendgroup` of its traces.
    """
    edge = {"color": INK[mode].paper, "width": 1}  # and the color of a dot within
    for name in dict.fromkeys(map(str, groups)):
        mark = {"color": hue(name, mode), "symbol": symbol(name, modality), "line": edge}
        name_mark(figure, plain(name), mark, group=name)


def add_level(figure: Drawing, x: float, name: str, line: Tree) -> None:
    """Draw a vertical line from edge to edge that is in the legend; `name` is finished text."""
    entry = {"name": name, "showlegend": True, "legendgroup": name}
    figure.add_vline(x=x, line=line, **entry)


def add_rings(figure: go.Figure, chosen: Collection[str], mode: Mode) -> None:
    """Draw a ring around the dots of chosen models.

    The customdata of such a dot names its models, one or two. Of two, a side from which no model
    was chosen counts as chosen whole.
    """
    dots = [trace for trace in figure.data if trace.customdata is not None]
    names = [tuple(of_dot) for trace in dots for of_dot in trace.customdata]
    sides = [set(side) & set(chosen) for side in zip(*names, strict=True)]
    rings = []
    for trace in dots if any(sides) else ():
        places = [
            place
            for place, of_dot in enumerate(trace.customdata)
            if all(not side or name in side for side, name in zip(sides, of_dot, strict=True))
        ]
        size = trace.marker.size
        sizes = [(size if isinstance(size, int | float) else size[place]) + 8 for place in places]
        ring = {
            "type": "scatter",
            "x": [trace.x[place] for place in places],
            "y": [trace.y[place] for place in places],
            "xaxis": trace.xaxis,
            "yaxis": trace.yaxis,
            "mode": "markers",
            "marker": {**RING, "size": sizes, "color": INK[mode].text},
            "legendgroup": trace.legendgroup,
            **SILENT,
        }
        rings += [ring] if places else []
    if rings:
        figure.add_traces(rings)


def interval(value: pd.Series, low: pd.Series, high: pd.Series, **look: object) -> Tree:
    reach = {"array": high - value, "arrayminus": value - low}
    return {"type": "data", "symmetric": False, **reach, **look}


def color_bar(title: str, **look: object) -> Tree:
    """Return a slim color bar; `title` is finished text."""
    head = {"text": title, "font": {"size": 12}}
    return {"title": head, "thickness": 12, "outlinewidth": 0, **look}


def flat_color_bar(title: str, **look: object) -> Tree:
    """Return a slim color bar that lies down, its title on top."""
    head = {"text": title, "font": {"size": 12}, "side": "top"}
    return {"title": head, "thickness": 10, "outlinewidth": 0, "orientation": "h", **look}


def logarithmic(ticks: Sequence[float | int]) -> Tree:
    texts = [count_text(tick) if tick >= 1 else small_text(tick) for tick in ticks]
    return {"type": "log", "tickvals": ticks, "ticktext": texts}
