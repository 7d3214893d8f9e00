"""A figure as a page sends it, so that the browser draws it once.

Streamlit hands Plotly each figure twice, the second time as a copy, and Plotly draws all of it anew
if anything seems to differ. A template, notes of ours and typed arrays always seem to; other arrays
do unless the figure says that its data are still the same; and Streamlit itself fills in how a plot
is clicked and dragged, and how wide it is once that was measured. Plotly draws once more where
labels need more room than the margins leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import plotly.graph_objects as go
from _plotly_utils.utils import to_typed_array_spec

from core.figures.drawing import Tree, merge
from pages._shared.charts.room import leave_room

AXES = ("xaxis", "yaxis")
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
    if width is not None:
        leave_room(layout, data, width)
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
    axes = {kind: looks.pop(kind) for kind in AXES}
    layout = merge(looks, layout)
    for name in dict.fromkeys((*axes, *layout)):
        if (kind := name[:5]) in axes:
            layout[name] = merge(deepcopy(axes[kind]), layout.get(name, {}))
    return layout


def _listed(value: Any) -> Any:
    """Return arrays as lists, which the browser compares by what they hold; long ones packed."""
    if isinstance(value, Mapping):
        return {name: _listed(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and value and isinstance(value[0], BRANCHES):
        return [_listed(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist() if value.size <= MOST else to_typed_array_spec(value)
    return value
