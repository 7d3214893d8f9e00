"""A figure as a page sends it, so that the browser draws it once.

Streamlit hands Plotly each figure twice, the second time as a copy, and Plotly draws all of it anew
if anything seems to differ. A template, notes of ours and typed arrays always seem to; other arrays
do unless the figure says that its data are still the same; and Streamlit itself fills in how a plot
is clicked and dragged, and how wide it is once that was measured. Plotly draws once more where
labels need more room than the margins leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

LABELS = {"xaxis": {"b": 50, "r": 20}, "yaxis": {"l": 72}}  # pixels that they often take
SIDES = {"xaxis": "bottom", "yaxis": "left"}  # where labels stand unless an axis says otherwise
LEGEND = 29  # pixels of its first line
SHORT = 20  # characters of a label that Plotly does not turn
PHONE = 640  # pixels: up to this width no room is left that may not be needed
MOST = 5_000  # numbers of an array; more take longer to write out than to be drawn twice
Tree = dict[str, Any]


def drawn_once(figure: go.Figure, *, width: int | None, picks: bool) -> go.Figure:
    """Return a copy of a figure that looks the same and is drawn once.

    width: the pixels that it will take, None where that is unknown: then it is drawn twice. picks:
    whether points may be chosen.
    """
    layout = figure.layout.to_plotly_json()
    layout.pop("meta", None)
    layout = _without_template(layout)
    if width is not None and width > PHONE:
        _leave_room(layout)
        _hang_legend(layout)
    layout |= {"datarevision": 1, "width": width}
    if picks:
        drag = layout.setdefault("dragmode", "pan")
        layout.setdefault("hovermode", "closest")
        layout["clickmode"] = "event" if drag in ("lasso", "select") else "event+select"
    data = [_listed(trace.to_plotly_json()) for trace in figure.data]
    copy = go.Figure({"data": data, "layout": _listed(layout)}, _validate=False)
    copy.layout.template = None  # Plotly has one of its own for who brings none
    return copy


def _without_template(layout: Tree) -> Tree:
    """Return a layout that says itself what its template said."""
    looks: Tree = layout.pop("template")["layout"]
    axes = {kind: looks.pop(kind) for kind in LABELS}
    layout = _over(looks, layout)
    for name in {*axes, *layout}:
        if (kind := name[:5]) in axes:
            layout[name] = _over(axes[kind], layout.get(name, {}))
    return layout


def _leave_room(layout: Tree) -> None:
    """Widen the margins to what labels often take."""
    for name, axis in layout.items():
        if (kind := name[:5]) in LABELS and _labels_stand(axis, SIDES[kind]):
            for side, pixels in LABELS[kind].items():
                layout["margin"][side] = max(layout["margin"][side], pixels)


def _labels_stand(axis: Tree, side: str) -> bool:
    """Return whether an axis has labels, and on its usual side."""
    shown = axis.get("visible", True) and axis.get("showticklabels", True)
    return bool(shown) and axis.get("side", side) == side


def _hang_legend(layout: Tree) -> None:
    """Place the legend below the labels: at the foot of the figure, where it stands otherwise, it
    gets its room only once they are drawn.
    """
    below, above = layout["margin"]["b"], layout["margin"]["t"]
    if all(_fit_below(axis) for name, axis in layout.items() if name.startswith("xaxis")):
        plot = layout["height"] - above - below - LEGEND
        layout["legend"] |= {"yref": "paper", "yanchor": "top", "y": -below / plot}


def _fit_below(axis: Tree) -> bool:
    """Return whether an axis' labels and title fit the room below it: two lines, none turned."""
    labels = [*axis.get("ticktext", ()), ""]
    title = axis.get("title", {}).get("text") or ""
    return _lines(title) + max(map(_lines, labels)) <= 2 and max(map(len, labels)) <= SHORT


def _lines(label: str) -> int:
    return label.count("<br>") + bool(label)


def _over(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> Tree:
    """Return a tree with changes, branch by branch."""
    changed = {
        name: _over(tree[name], value) if isinstance(tree.get(name), dict) else value
        for name, value in changes.items()
    }
    return {**tree, **changed}


def _listed(value: Any) -> Any:
    """Return arrays as lists, which the browser compares by what they hold."""
    if isinstance(value, Mapping):
        return {name: _listed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(part) for part in value]
    if isinstance(value, np.ndarray) and value.size <= MOST:
        return value.tolist()
    return value
