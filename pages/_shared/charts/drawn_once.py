"""A figure as a page sends it, so that the browser draws it once.

Streamlit hands Plotly each figure twice, the second time as a copy, and Plotly draws all of it anew
if anything seems to differ. A template, notes of ours and typed arrays always seem to; other arrays
do unless the figure says that its data are still the same; and Streamlit itself fills in how a plot
is clicked and dragged, and how wide it is once that was measured. Plotly draws once more where
labels need more room than the margins leave.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import plotly.graph_objects as go
from _plotly_utils.utils import to_typed_array_spec

from core.figures.drawing import Tree, merge

# pixels that most labels and titles take; where they take more, all is drawn twice
LABELS = {"xaxis": {"b": 50, "r": 20}, "yaxis": {"l": 72}}
SIDES = {"xaxis": "bottom", "yaxis": "left"}  # where labels stand unless an axis says otherwise
LETTER, NARROW = 6.2, 3.6  # pixels of a letter, and of one of these:
SLIM = re.compile(r"[fijlrt .,:;|'()\[\]-]")
TICK, TITLE = 16, 24  # pixels that stand beside words on an axis
COLOR_BAR = 98  # pixels that one takes with its numbers
LINE, MARK = 29, 45  # pixels of a legend: a line, an entry without its text
LEGENDS = ("scatter", "scattergl", "bar")  # kinds of traces that stand in it unless they say no
PHONE = 640  # pixels: up to this width no room is left that may not be needed
BRANCHES = (Mapping, list, tuple, np.ndarray)  # of a list of them each is looked into
MOST = 5_000  # numbers of an array; more take longer to write out than to be drawn twice


class PlainFigure(go.Figure):  # type: ignore[misc]  # it has no types
    """A figure as plain data; nothing is checked or copied, since Streamlit only writes it out."""

    def __init__(self, data: list[Tree], layout: Tree) -> None:
        self._plain = {"data": data, "layout": layout}

    def to_dict(self) -> Tree:
        """Return the data as they are."""
        return self._plain


def drawn_once(figure: go.Figure, *, width: int | None, picks: bool) -> PlainFigure:
    """Return a copy of a figure that is drawn once; on a wide page its labels have ample room.

    width: the pixels that it will take; None where unknown, and then it is drawn twice. picks:
    whether points may be chosen.
    """
    layout = figure.layout.to_plotly_json()
    layout.pop("meta", None)
    layout = _without_template(layout)
    data = [_listed(trace.to_plotly_json()) for trace in figure.data]
    if width is not None and width > PHONE:
        _leave_room(layout, data)
        layout["margin"]["b"] += LINE * _count_lines(data, width)
    layout |= {"datarevision": 1, "width": width}
    if picks:
        drag = layout.setdefault("dragmode", "pan")
        layout.setdefault("hovermode", "closest")
        layout["clickmode"] = "event" if drag in ("lasso", "select") else "event+select"
    layout["template"] = None  # Plotly has one of its own for who brings none
    return PlainFigure(data, _listed(layout))


def _without_template(layout: Tree) -> Tree:
    """Return a layout that says itself what its template said."""
    looks: Tree = layout.pop("template")["layout"]
    axes = {kind: looks.pop(kind) for kind in LABELS}
    layout = merge(looks, layout)
    for name in dict.fromkeys((*axes, *layout)):
        if (kind := name[:5]) in axes:
            layout[name] = merge(deepcopy(axes[kind]), layout.get(name, {}))
    return layout


def _leave_room(layout: Tree, data: list[Tree]) -> None:
    """Widen the margins to what labels often take, long words of a vertical axis take, and color
    bars beside a plot.
    """
    needs = [{"r": COLOR_BAR}] if any(map(_has_color_bar, [*data, layout])) else []
    for name, axis in layout.items():
        if (kind := name[:5]) in LABELS and _labels_stand(axis, SIDES[kind]):
            needs.append(LABELS[kind])
            if kind == "yaxis" and (words := _words_on(name, axis, data)):
                title = TITLE if axis.get("title", {}).get("text") else 0
                needs.append({"l": math.ceil(_pixels(words)) + TICK + title})
    for need in needs:
        for side, pixels in need.items():
            layout["margin"][side] = max(layout["margin"][side], pixels)


def _has_color_bar(part: Tree) -> bool:
    """Return whether a trace, or the layout for several, has a color bar beside the plot."""
    scales = [part, part.get("marker", {}), part.get("coloraxis", {})]
    shown = [scale for scale in scales if scale.get("showscale", "colorbar" in scale)]
    return any(scale.get("colorbar", {}).get("orientation") != "h" for scale in shown)


def _words_on(name: str, axis: Tree, data: list[Tree]) -> list[str]:
    """Return what stands on an axis in words."""
    if "ticktext" in axis:
        return list(axis["ticktext"])
    own = [trace.get("y") for trace in data if f"yaxis{trace.get('yaxis', 'y')[1:]}" == name]
    listed = [values for values in own if isinstance(values, list)]
    return [word for values in listed for word in values if isinstance(word, str)]


def _pixels(texts: list[str]) -> float:
    """Return the pixels across the longest line of several texts."""
    lines = [re.sub("<[^>]*>", "", line) for text in texts for line in text.split("<br>")]
    return max(LETTER * len(line) - (LETTER - NARROW) * len(SLIM.findall(line)) for line in lines)


def _labels_stand(axis: Tree, side: str) -> bool:
    """Return whether an axis has labels, and on its usual side."""
    shown = axis.get("visible", True) and axis.get("showticklabels", True)
    return bool(shown) and axis.get("side", side) == side


def _count_lines(data: list[Tree], width: int) -> int:
    """Return how many lines the legend takes: entry after entry, as many as fit a line."""
    if len(data) == 1 and not data[0].get("showlegend"):
        return 0
    shown = [one for one in data if one.get("showlegend", one["type"] in LEGENDS)]
    lines, taken = 0, math.inf
    for entry in shown:
        wide = MARK + _pixels([entry.get("name") or ""])
        lines, taken = (lines + 1, wide) if taken + wide > width else (lines, taken + wide)
    return lines


def _listed(value: Any) -> Any:
    """Return arrays as lists, which the browser compares by what they hold; long ones packed."""
    if isinstance(value, Mapping):
        return {name: _listed(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and value and isinstance(value[0], BRANCHES):
        return [_listed(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist() if value.size <= MOST else to_typed_array_spec(value)
    return value
