"""Figures of what becomes of each matrix over training: norms, singular values, whitening, and both
sides of the gradient balance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from core.figures.drawing import Drawing, draw_panels
from core.figures.panels import cell
from core.figures.theme import INK, Mode, template

PANELS = {
    "norms": "norm of W<sub>i</sub> on its modes",
    "modes": "singular values of W<sub>i</sub> on its modes",
    "spread": "spread of the variances of h<sup>i</sup>",
    "balance": "E‖∇W<sub>i</sub>‖² (solid), E‖∇W<sub>i+1</sub>‖² (dotted)",
}


class _Curve(NamedTuple):
    """A column of one matrix over training; goal: the column that the theory has of it, or none."""

    matrix: int
    column: str
    goal: str = ""
    dash: str = "solid"


def matrices(points: pd.DataFrame, *, steps: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw norms, singular values, whitening and gradient balance over training: a row for each, a
    column for each network, with dashed lines where the entropy is least.

    A matrix's modes are the largest directions of what it gets; what it does beside them stays as
    it was drawn. points: rows of `weigh`. steps: what `at` counts. narrow: for a phone, whose
    panels stand one below the other.
    """
    networks = list(dict.fromkeys(points["network"]))
    heads = [f"<b>{title}, network {name}</b>" for title in PANELS.values() for name in networks]
    columns = 1 if narrow else len(networks)
    lines = len(heads) // columns
    figure = draw_panels(
        lines, columns, heads, vertical_spacing=0.28 / lines, horizontal_spacing=0.07
    )
    figure.update_layout(
        template=template(mode),
        height=230 * lines,
        meta={"title": "Matrices over training"},
    )
    shown: set[int] = set()
    for side, network in enumerate(networks):
        rows = points[points["network"] == network]
        for line, panel in enumerate(PANELS):
            at = cell(line * len(networks) + side, columns)
            for curve in _curves(panel, rows):
                color = _shade(curve.matrix, of=int(points["matrix"].max()), mode=mode)
                _draw(figure, rows, curve, at=at, first=curve.matrix not in shown, color=color)
                shown.add(curve.matrix)
    long = points["at"].max() > 1000
    figure.update_xaxes(type="log" if long else "linear", dtick=1 if long else None)
    figure.update_xaxes(title_text=steps, row=lines)
    return figure.update_yaxes(type="log", nticks=4, exponentformat="power").figure()


def _shade(matrix: int, *, of: int, mode: Mode) -> str:
    """Return a matrix's color: gray where it is frozen, and the darker the later it comes."""
    if not matrix:
        return INK[mode].soft
    place = 0.25 + 0.75 * (matrix - 1) / max(1, of - 1)
    (shade,) = sample_colorscale(list(INK[mode].scale), [place])
    return str(shade)


def _curves(panel: str, rows: pd.DataFrame) -> Iterator[_Curve]:
    modes = [name for name in rows if str(name).startswith("working_mode_")]
    for matrix in sorted(set(rows["matrix"].tolist())):
        trained, hidden = matrix > 0, 0 < matrix < int(rows["matrix"].max())
        if panel == "norms" and trained:
            yield _Curve(matrix, "working_norm", "norm_theory")
        if panel == "modes" and trained:
            yield from (_Curve(matrix, str(name)) for name in modes)
        if panel == "spread" and (hidden or not trained):
            yield _Curve(matrix, "spread", "spread_theory" if trained else "")
        if panel == "balance" and hidden:
            yield _Curve(matrix, "incoming")
            yield _Curve(matrix, "outgoing", dash="dot")


def _draw(
    figure: Drawing,
    rows: pd.DataFrame,
    curve: _Curve,
    *,
    at: dict[str, int],
    first: bool,
    color: str,
) -> None:
    name = f"W<sub>{curve.matrix}</sub>" if curve.matrix else "M<sup>I</sup> Z, frozen"
    one = rows[rows["matrix"] == curve.matrix]
    look: dict[str, Any] = {"mode": "lines", "legendgroup": name, "name": name, **at}
    line = {"color": color, "width": 2, "dash": curve.dash}
    figure.add_scatter(x=one["at"], y=one[curve.column], line=line, showlegend=first, **look)
    if curve.goal:
        thin = {"color": color, "width": 1, "dash": "dash"}
        figure.add_scatter(x=one["at"], y=one[curve.goal], line=thin, showlegend=False, **look)
