"""The Adapters page's figure of each encoder: alignment with the reference before and in the common
space.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing
from core.figures.marks import add_level, cards, name_mark
from core.figures.theme import (
    INK,
    Mode,
    blank,
    dotted,
    hover_card,
    hue,
    plain,
    reason,
    wrap,
)
from core.questions.adapters.measures import (
    ADAPTERS,
    ALIGNMENT,
    AVERAGE,
    BEFORE,
    CENTERED,
    CHANCE,
    GAIN,
    MEAN,
)

SYMBOL = {BEFORE: "circle-open", CENTERED: "diamond-open", ADAPTERS: "circle"}
SHOWN = {BEFORE: "before", CENTERED: "before, centered", ADAPTERS: "in the common space"}

Scores = Mapping[tuple[str, str], float]  # by method and encoder


def before_after(
    measures: pd.DataFrame,
    titles: Mapping[str, str],
    groups: Mapping[str, str],
    *,
    label: str,
    mode: Mode,
) -> go.Figure:
    """Draw alignment with the reference before and in the common space, a row per encoder and one
    for the mean of all.

    measures: as `core.questions.adapters.measures.summarize` gives them, of one number of pairs.
    titles, groups: of each encoder. The interval of what is gained over the average before is laid
    around what is reached.
    """
    scores = _scores(measures)
    names = {what: wrap(plain(title), 24) for what, title in titles.items()}
    names[MEAN] = "mean of all"
    if all(math.isnan(scores[ADAPTERS, what]) for what in names):
        return reason("No alignment can be computed on the test stimuli.", mode)
    title = "Alignment with the reference before and after"
    figure = blank(mode, height=70 * len(names) + 150, title=title)
    _add_levels(figure, scores, mode)
    gains = {row["what"]: row for row in measures[measures["measure"] == GAIN].to_dict("records")}
    colors = {what: hue(groups[what], mode) for what in titles} | {MEAN: INK[mode].text}
    for method in SYMBOL:
        figure.add_scatter(
            **_dots(scores, method, names, gains if method == ADAPTERS else {}),
            legendgroup=method,
            showlegend=False,
            error_x_color=INK[mode].soft,
            marker=_marker(method, [colors[what] for what in _whats(scores, method, names)]),
        )
        marker = {**_marker(method, INK[mode].soft), "size": 10}
        name_mark(figure, SHOWN[method], marker, group=method)
    figure.update_xaxes(title_text=label, rangemode="tozero").update_layout(margin_t=16)
    order = {"categoryorder": "array", "categoryarray": list(names.values())[::-1]}
    return figure.update_yaxes(type="category", range=[-0.6, len(names) - 0.4], **order).figure()


def _scores(measures: pd.DataFrame) -> Scores:
    rows = measures[measures["measure"] == ALIGNMENT]
    keys = zip(rows["method"], rows["what"], strict=True)
    return dict(zip(keys, rows["value"].astype(float), strict=True))


def _whats(scores: Scores, method: str, names: Mapping[str, str]) -> list[str]:
    """Return the encoders of which a method has a score, and the mean where it has one."""
    return [what for what in names if (method, what) in scores]


def _marker(method: str, color: str | list[str]) -> dict[str, object]:
    return {"color": color, "size": 11, "symbol": SYMBOL[method], "line": {"width": 2}}


def _add_levels(figure: Drawing, scores: Scores, mode: Mode) -> None:
    """Draw what is reached on average before, and by chance."""
    dashed = {"color": INK[mode].text, "width": 1.5, "dash": "dash"}
    levels = ((dashed, "average before", BEFORE), (dotted(mode), "chance", CHANCE))
    for line, name, method in levels:
        if not math.isnan(scores[method, AVERAGE]):
            add_level(figure, scores[method, AVERAGE], name, line)


def _dots(
    scores: Scores,
    method: str,
    names: Mapping[str, str],
    gains: Mapping[str, Mapping[Hashable, Any]],
) -> dict[str, object]:
    """Return a mark per encoder, with the interval of its gain around it where there is one."""
    values = {what: scores[method, what] for what in _whats(scores, method, names)}
    texts = [
        hover_card(
            f"<b>{names[what]}</b>",
            f"{SHOWN[method]}: {value:.3f}",
            *_gain(gains.get(what)),
            ids=what,
        )
        for what, value in values.items()
    ]
    return {
        "x": list(values.values()),
        "y": [names[what] for what in values],
        "mode": "markers",
        **cards(texts),
        **({"error_x": _error([gains[what] for what in values])} if gains else {}),
    }


def _error(gains: list[Mapping[Hashable, Any]]) -> dict[str, object]:
    up, down = ([abs(row[end] - row["value"]) for row in gains] for end in ("high", "low"))
    reach = {"array": up, "arrayminus": down}
    return {"type": "data", "symmetric": False, **reach, "thickness": 2, "width": 5}


def _gain(row: Mapping[Hashable, Any] | None) -> tuple[str, ...]:
    if row is None:
        return ()
    gain = f"gain over the average before {row['value']:+.3f}"
    return gain, f"95% interval {row['low']:+.3f} to {row['high']:+.3f}"
