"""The lines of models and the dots of pairs in one panel of the Alignment page's main figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

import pandas as pd

from core.figures.marks import SILENT, cards
from core.figures.rows import Row, column, grouped
from core.figures.theme import INK, Mode, clear, hue

RUNS = "runs"  # what the legend's entry of lines stands for
DRAWN = [
    "x",
    "score",
    "model_x",
    "model_y",
    "group_x",
    "size",
    "width",
    "named",
    "shape",
    "card",
]


def lines_and_dots(
    points: pd.DataFrame, line_of: Sequence[str], color: str, mode: Mode
) -> Iterator[dict[str, object]]:
    """Yield the traces of a panel: a line through the points that have the same values under the
    names of `line_of`, then the dots of each name in the legend.

    points: as `core.questions.alignment.figures.trend` takes them, with x, size, width, named,
    shape and card.
    """
    ordered = sorted(points[DRAWN].to_dict("records"), key=itemgetter("x"))
    for run in grouped(ordered, *line_of):
        yield _run(run, color)
    for dots in grouped(ordered, "named"):
        yield _dots(dots, mode)


def _run(run: Sequence[Row], color: str) -> dict[str, object]:
    """Return the line of one model through all that it is compared with."""
    return {
        "x": column(run, "x"),
        "y": column(run, "score"),
        "mode": "lines",
        "line": {"color": clear(color, 0.55), "width": run[0]["width"]},
        "legendgroup": RUNS,
        **SILENT,
    }


def _dots(dots: Sequence[Row], mode: Mode) -> dict[str, object]:
    marker = {
        "color": hue(dots[0]["group_x"], mode),
        "size": column(dots, "size"),
        "symbol": dots[0]["shape"],
        "opacity": 1.0,
        "line": {"color": INK[mode].paper, "width": 1.5},
    }
    return {
        "x": column(dots, "x"),
        "y": column(dots, "score"),
        "mode": "markers",
        "marker": marker,
        "legendgroup": dots[0]["named"],
        "showlegend": False,
        "customdata": [[dot["model_x"], dot["model_y"]] for dot in dots],
        **cards(column(dots, "card")),
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
