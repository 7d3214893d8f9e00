"""Figures of several equal panels, side by side or, on a phone, one below the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.theme import Mode, template


def grid(
    heads: Sequence[str], mode: Mode, *, narrow: bool, height: int, gap: float = 0.025
) -> go.Figure:
    """Return an empty panel per heading of up to three lines, `per_row` in a row or, narrow, one
    below the other.
    """
    columns = per_row(len(heads), narrow)
    rows = math.ceil(len(heads) / columns)
    lines = max(head.count("<br>") + 1 for head in heads)
    top = 12 + 19 * lines
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=list(heads),
        shared_yaxes=True,
        horizontal_spacing=gap,
        vertical_spacing=min(0.3, (top + 52) / (height * rows)),
    )
    figure.update_annotations(font_size=13)
    return figure.update_layout(
        template=template(mode), height=height * rows + top + 40, margin_t=top
    )


def per_row(panels: int, narrow: bool) -> int:
    """Return how many panels stand side by side: at most four."""
    return 1 if narrow else min(4, panels)


def cell(place: int, panels: int, narrow: bool) -> dict[str, int]:
    """Return the row and column of a panel of `grid`, counted from 1."""
    row, column = divmod(place, per_row(panels, narrow))
    return {"row": row + 1, "col": column + 1}
