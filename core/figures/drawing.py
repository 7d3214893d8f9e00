"""A figure under construction, as plain dictionaries of traces and layout.

Built object by object, Plotly checks every value and copies every trace, which takes most of the
time of a redraw. Here nothing is checked: the tests let Plotly check every figure that they draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

WHOLE = {"error_x", "error_y", "paper_bgcolor", "plot_bgcolor"}  # names with an underscore
Tree = dict[str, Any]  # what a trace, an axis or a layout is


class Drawing:
    """Traces and layout, with the methods of a Plotly figure that our figures need.

    A name such as `title_text` stands for `text` within `title`, as in Plotly. row, col: a panel,
    counted from 1; without them axes are those of all panels.
    """

    def __init__(self, layout: Tree, *, columns: int = 1) -> None:
        self.data: list[Tree] = []
        self.layout = layout
        self.columns = columns

    def figure(self) -> go.Figure:
        return go.Figure({"data": self.data, "layout": self.layout}, _validate=False)

    def add_trace(self, trace: Tree, **at: int) -> Drawing:
        row, col, look = _part({**trace, **at})
        self.data.append({**_plain(look), **self._axes_of(row, col, "xaxis", "yaxis")})
        return self

    def add_scatter(self, **trace: Any) -> Drawing:
        return self.add_trace({"type": "scatter", **trace})

    def add_heatmap(self, **trace: Any) -> Drawing:
        return self.add_trace({"type": "heatmap", **trace})

    def add_bar(self, **trace: Any) -> Drawing:
        return self.add_trace({"type": "bar", **trace})

    def add_annotation(self, **look: object) -> Drawing:
        self.layout.setdefault("annotations", []).append(merge({}, self._placed(look)))
        return self

    def add_shape(self, **look: object) -> Drawing:
        self.layout.setdefault("shapes", []).append(merge({}, self._placed(look)))
        return self

    def _placed(self, named: Tree) -> Tree:
        row, col, look = _part(named)
        for axis, name in self._axes_of(row, col, "xref", "yref").items():
            look[axis] = f"{name} domain" if str(look.get(axis)).endswith(" domain") else name
        return look

    def add_vline(self, x: float, **look: object) -> Drawing:
        ends = {"x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
        return self.add_shape(type="line", **ends, **look)

    def update_layout(self, **changes: object) -> Drawing:
        merge(self.layout, changes)
        return self

    def update_annotations(self, **changes: object) -> Drawing:
        for note in self.layout.get("annotations", []):
            merge(note, changes)
        return self

    def update_xaxes(self, **changes: object) -> Drawing:
        """Change the horizontal axes of a panel, a row, a column or all panels."""
        return self._update_axes("xaxis", changes)

    def update_yaxes(self, **changes: object) -> Drawing:
        return self._update_axes("yaxis", changes)

    def _update_axes(self, kind: str, named: Tree) -> Drawing:
        row, col, changes = _part(named)
        for place, name in enumerate(list(self._axes(kind))):
            at_row, at_col = divmod(place, self.columns)
            if row in (None, at_row + 1) and col in (None, at_col + 1):
                merge(self.layout.setdefault(name, {}), changes)
        return self

    def _axes(self, kind: str) -> Iterator[str]:
        yield kind
        number = 2
        while f"{kind}{number}" in self.layout:
            yield f"{kind}{number}"
            number += 1

    def _axes_of(self, row: int | None, col: int | None, x: str, y: str) -> Tree:
        if row is None or col is None:
            return {}
        number = (row - 1) * self.columns + col
        end = "" if number == 1 else str(number)
        return {x: f"x{end}", y: f"y{end}"}


def _part(named: Tree) -> tuple[int | None, int | None, Tree]:
    rest = {name: value for name, value in named.items() if name not in ("row", "col")}
    return named.get("row"), named.get("col"), rest


def draw_panels(rows: int, columns: int, heads: Sequence[str] = (), **shape: object) -> Drawing:
    """Return empty panels in a grid under their headings. shape: as of plotly's `make_subplots`."""
    layout = deepcopy(_grid(rows, columns, len(heads), tuple(sorted(shape.items()))))
    for note, head in zip(layout.get("annotations", []), heads, strict=True):
        note["text"] = head
    return Drawing(layout, columns=columns)


@lru_cache(maxsize=256)
def _grid(rows: int, columns: int, heads: int, shape: tuple[tuple[str, Any], ...]) -> Tree:
    titles = [" "] * heads or None
    figure = make_subplots(rows, columns, subplot_titles=titles, **dict(shape))
    layout: Tree = figure.layout.to_plotly_json()
    layout.pop("template", None)
    return layout


def merge(tree: Tree, changes: Mapping[str, object]) -> Tree:
    """Write changes into a tree, branch by branch; `meta`, which is ours, as a whole."""
    for name, value in changes.items():
        head, _, rest = name.partition("_")
        if rest and name not in WHOLE:
            merge(tree.setdefault(head, {}), {rest: value})
        elif isinstance(value, Mapping) and name not in ("meta", "template"):
            merge(tree.setdefault(name, {}), value)
        else:
            tree[name] = _plain(value, name)
    return tree


def _plain(value: Any, name: str = "") -> Any:
    """Return columns as arrays, since a browser counts places, not labels; and the colors of a
    scale each at its place from 0 to 1.
    """
    if isinstance(value, Mapping):
        return {name: _plain(part, name) for name, part in value.items()}
    if name == "colorscale" and isinstance(value[0], str):
        return [[place / (len(value) - 1), color] for place, color in enumerate(value)]
    if isinstance(value, pd.Series | pd.Index):
        return value.to_numpy()
    return value
