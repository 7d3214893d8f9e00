"""A figure under construction, as plain dictionaries of traces and layout, which Plotly does not
check: that takes most of the time of a redraw. Tests let Plotly check every figure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.numbers import count_text, small_text
from core.figures.theme import INK, Mode, plain, template, wrap

WHOLE = {"error_x", "error_y", "paper_bgcolor", "plot_bgcolor"}  # names with an underscore
Tree = dict[str, Any]  # what a trace, an axis or a layout is
SILENT: Tree = {"hoverinfo": "skip", "showlegend": False}  # neither card nor legend


class Drawing:
    """Traces and layout, with the methods of a Plotly figure that our figures need.

    A name such as `title_text` is `text` within `title`, as in Plotly. row, col: a panel,
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


def reason(text: str, mode: Mode, *, height: int = 320) -> go.Figure:
    """Draw why there is nothing to draw."""
    figure = Drawing({"template": template(mode), "height": height, "meta": {"title": text}})
    figure.update_xaxes(visible=False).update_yaxes(visible=False)
    words = {"text": wrap(plain(text)), "font": {"size": 15, "color": INK[mode].soft}}
    place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
    return figure.add_annotation(**words, **place).figure()


def cell(place: int, columns: int) -> dict[str, int]:
    row, column = divmod(place, columns)
    return {"row": row + 1, "col": column + 1}


def play(
    drawn: Sequence[go.Figure], names: Sequence[str], mode: Mode, *, prefix: str, active: int
) -> go.Figure:
    """Return one figure with a slider and a button that play all of them.

    names: of the figures, on the slider; prefix: what precedes a name. active: the figure that
    is seen first.
    """
    figure, ink = drawn[active], INK[mode]
    figure.frames = [
        go.Frame(data=one.data, layout={"annotations": one.layout.annotations}, name=name)
        for one, name in zip(drawn, names, strict=True)
    ]
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}}
    moving = {"fromcurrent": False, "frame": {"duration": 450, "redraw": True}}
    look = {"x": 0, "y": 0, "bordercolor": ink.soft, "font": {"size": 12}}
    slider = look | {
        "steps": [{"label": one, "method": "animate", "args": [[one], still]} for one in names],
        "active": active,
        "currentvalue": {"prefix": prefix, "font": {"size": 13}},
        "pad": {"l": 90, "t": 34},
        "bgcolor": ink.soft,
    }
    menu = look | {
        "type": "buttons",
        "buttons": [{"label": "▶ Play", "method": "animate", "args": [list(names), moving]}],
        "pad": {"t": 48},
        "bgcolor": ink.paper,
        "showactive": False,
        **{"xanchor": "left", "yanchor": "top"},
    }
    figure.update_layout(sliders=[slider], updatemenus=[menu])
    return figure.update_layout(height=figure.layout.height + 90)


def cards(texts: Iterable[str]) -> Tree:
    return {"hovertext": list(texts), "hovertemplate": "%{hovertext}<extra></extra>"}


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
            "marker": {
                "symbol": "circle-open",
                "line": {"width": 2},
                "size": sizes,
                "color": INK[mode].text,
            },
            "legendgroup": trace.legendgroup,
            **SILENT,
        }
        rings += [ring] if places else []
    if rings:
        figure.add_traces(rings)


def interval(value: pd.Series, low: pd.Series, high: pd.Series, **look: object) -> Tree:
    reach = {"array": high - value, "arrayminus": value - low}
    return {"type": "data", "symmetric": False, **reach, **look}


def color_bar(title: str, *, lying: bool = False, **look: object) -> Tree:
    """Return a slim color bar, upright or lying; `title` is finished text."""
    head = {"text": title, "font": {"size": 12}, **({"side": "top"} if lying else {})}
    way = {"thickness": 10, "orientation": "h"} if lying else {"thickness": 12}
    return {"title": head, "outlinewidth": 0, **way, **look}


def logarithmic(ticks: Sequence[float | int]) -> Tree:
    texts = [count_text(tick) if tick >= 1 else small_text(tick) for tick in ticks]
    return {"type": "log", "tickvals": ticks, "ticktext": texts}
