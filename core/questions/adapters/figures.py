"""The Adapters page's figures: a training as it goes on, kernels before and after, what is gained,
and what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.subplots import make_subplots

from core.figures.theme import (
    INK,
    Mode,
    blank,
    chance_line,
    count_text,
    hover_card,
    hue,
    plain,
    reason,
    template,
    wrap,
)
from core.questions.adapters.baselines import METHODS
from core.questions.adapters.measures import (
    ADAPTERS,
    ALIGNMENT,
    AVERAGE,
    BEFORE,
    CENTERED,
    CHANCE,
    GAIN,
    MEAN,
    PAIRS,
    RECALL,
)

MARKS = dict(zip(METHODS, ("diamond", "square", "triangle-up", "cross", "x"), strict=True))
SYMBOL = {BEFORE: "circle-open", CENTERED: "diamond-open", ADAPTERS: "circle"}
SHOWN = {BEFORE: "before", CENTERED: "before, centered", ADAPTERS: "in the common space"}
FEW_PASSES = 6
SEEN = (2, 98)  # percentiles of the cosines between which a kernel's colors lie


class Kernel(NamedTuple):
    """One kernel to be drawn: what it is of, what is said of it, and its cosines in the common
    order of stimuli.
    """

    title: str
    note: str
    cosines: Float[np.ndarray, "n n"]


def curve(
    rows: pd.DataFrame,
    *,
    label: str,
    chances: Mapping[str, float],
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw loss, recall and alignment by passes over the training pairs, a panel each.

    rows: epoch, loss, validation, recall_10, alignment. label: of the alignment. chances: of
    recall_10 and alignment, NaN where no formula tells.
    """
    heads = ["<b>Loss</b>", "<b>Recall at 10</b>", "<b>Alignment</b>"]
    shape = (3, 1) if narrow else (1, 3)
    figure = make_subplots(
        *shape, subplot_titles=heads, horizontal_spacing=0.11, vertical_spacing=0.12
    )
    figure.update_layout(
        template=template(mode),
        height=760 if narrow else 300,
        meta={"title": "Training of the adapters"},
    )
    ink = INK[mode]
    looks = (
        ("loss", "training pairs", 1, ink.soft),
        ("validation", "validation pairs", 1, ink.ember),
        ("recall_10", "", 2, ink.ember),
        ("alignment", "", 3, ink.ember),
    )
    for column, name, place, color in looks:
        figure.add_scatter(
            x=rows["epoch"],
            y=rows[column],
            mode="lines",
            line={"color": color, "width": 2},
            name=name,
            showlegend=place == 1,
            hovertemplate="pass %{x}: %{y:.3f}<extra></extra>",
            **_at(place, narrow),
        )
    for place, column in ((2, "recall_10"), (3, "alignment")):
        if not math.isnan(chances[column]):
            figure.add_scatter(
                x=[0, max(1, rows["epoch"].max())],
                y=[chances[column]] * 2,
                **chance_line(mode),
                hoverinfo="skip",
                showlegend=place == 2,
                **_at(place, narrow),
            )
    figure.update_xaxes(title_text="passes over the training pairs").update_yaxes(
        rangemode="tozero"
    )
    if rows["epoch"].max() < FEW_PASSES:
        figure.update_xaxes(dtick=1)  # there is no half of a pass
    figure.update_yaxes(title_text=wrap(label, 34), **_at(3, narrow))
    return figure.update_yaxes(title_text="InfoNCE", **_at(1, narrow))


def _at(place: int, narrow: bool) -> dict[str, int]:
    return {"row": place, "col": 1} if narrow else {"row": 1, "col": place}


def kernels(shown: Sequence[Kernel], *, columns: int, mode: Mode) -> go.Figure:
    """Draw kernels over the same stimuli in the same order, each in colors of its own range (see
    SEEN).
    """
    rows = math.ceil(len(shown) / columns)
    heads = [
        f"<b>{wrap(plain(one.title), 26)}</b><br><span style='font-size:12px'>{one.note}</span>"
        for one in shown
    ]
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=heads,
        horizontal_spacing=0.02,
        vertical_spacing=min(0.3, 0.24 / rows),
    )
    figure.update_annotations(font_size=13)
    for place, one in enumerate(shown):
        between = one.cosines[~np.eye(len(one.cosines), dtype=bool)]
        low, high = np.percentile(between, SEEN)
        at = {"row": place // columns + 1, "col": place % columns + 1}
        figure.add_heatmap(
            z=one.cosines.astype(np.float32),
            zmin=low,
            zmax=max(high, low + 1e-6),
            showscale=False,
            colorscale=list(INK[mode].scale),
            hovertemplate="%{x} and %{y}: cosine %{z:.2f}<extra></extra>",
            **at,
        )
        figure.update_yaxes(
            scaleanchor=f"x{place + 1 if place else ''}", autorange="reversed", **at
        )
    figure.update_xaxes(visible=False, constrain="domain").update_yaxes(
        visible=False, constrain="domain"
    )
    return figure.update_layout(
        template=template(mode),
        height=(300 if columns > 2 else 240) * rows + 50,
        margin_t=56,
        meta={"title": "Kernels before and after adapters"},
    )


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
    rows = measures[measures["measure"] == ALIGNMENT]
    scores = dict(
        zip(
            zip(rows["method"], rows["what"], strict=True), rows["value"].astype(float), strict=True
        )
    )
    names = {
        what: wrap(plain(title), 24) for what, title in (*titles.items(), (MEAN, "mean of all"))
    }
    if all(math.isnan(scores[ADAPTERS, what]) for what in names):
        return reason("No alignment can be computed on the test stimuli.", mode)
    figure = blank(
        mode, height=70 * len(names) + 150, title="Alignment with the reference before and after"
    )
    dashed = {"color": INK[mode].text, "width": 1.5, "dash": "dash"}
    levels = ((dashed, "average before", BEFORE), (chance_line(mode)["line"], "chance", CHANCE))
    for line, name, method in levels:
        if not math.isnan(scores[method, AVERAGE]):
            figure.add_vline(x=scores[method, AVERAGE], line=line)
            figure.add_scatter(x=[None], y=[None], mode="lines", line=line, name=name)
    gains = {row["what"]: row for row in measures[measures["measure"] == GAIN].to_dict("records")}
    for method, symbol in SYMBOL.items():
        whats = [what for what in names if (method, what) in scores]
        colors = [hue(groups[what], mode) if what in groups else INK[mode].text for what in whats]
        dots = _dots(
            {what: scores[method, what] for what in whats},
            gains if method == ADAPTERS else {},
            names,
            SHOWN[method],
        )
        figure.add_scatter(
            **dots,
            showlegend=False,
            error_x_color=INK[mode].soft,
            marker={"color": colors, "size": 11, "symbol": symbol, "line": {"width": 2}},
        )
        look = {"color": INK[mode].soft, "size": 10, "symbol": symbol, "line": {"width": 2}}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=look, name=SHOWN[method])
    figure.update_xaxes(title_text=label, rangemode="tozero")
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=list(names.values())[::-1],
        range=[-0.6, len(names) - 0.4],
    )
    return figure.update_layout(margin_t=16)


def _dots(
    values: Mapping[str, float],
    gains: Mapping[str, Mapping[Hashable, Any]],
    names: Mapping[str, str],
    shown: str,
) -> dict[str, Any]:
    """Return a mark per view, with the interval of its gain laid around it where there is one."""
    cards = [
        hover_card(
            f"<b>{names[what]}</b>", f"{shown}: {value:.3f}", *_gain(gains.get(what)), ids=what
        )
        for what, value in values.items()
    ]
    dots = {
        "x": list(values.values()),
        "y": [names[what] for what in values],
        "mode": "markers",
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    if gains:
        rows = [gains[what] for what in values]
        up, down = ([abs(row[end] - row["value"]) for row in rows] for end in ("high", "low"))
        dots["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": up,
            "arrayminus": down,
            "thickness": 2,
            "width": 5,
        }
    return dots


def _gain(row: Mapping[Hashable, Any] | None) -> tuple[str, ...]:
    if row is None:
        return ()
    gain = f"gain over the average before {row['value']:+.3f}"
    return gain, f"95 % interval {row['low']:+.3f} to {row['high']:+.3f}"


def cost(measures: pd.DataFrame, *, label: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw alignment of the mean and recall at 10 by the number of training pairs, beside the
    baselines.

    measures: as `core.questions.adapters.measures.summarize` gives them, by number of pairs.
    """
    shape = (2, 1) if narrow else (1, 2)
    figure = make_subplots(
        *shape,
        subplot_titles=["<b>Alignment of the mean</b>", "<b>Recall at 10</b>"],
        horizontal_spacing=0.1,
        vertical_spacing=0.16,
    )
    figure.update_layout(
        template=template(mode),
        height=640 if narrow else 360,
        meta={"title": "What training pairs are worth"},
    )
    align = measures[measures["measure"] == ALIGNMENT]
    after = align[(align["method"] == ADAPTERS) & (align["what"] == MEAN)]
    before = align[(align["method"] == BEFORE) & (align["what"] == AVERAGE)]
    lines = [(1, ADAPTERS, after), (1, "average before", before)]
    recalls = (
        measures[measures["measure"] == f"{RECALL}_10"]
        .groupby([PAIRS, "method"], sort=False)["value"]
        .mean()
        .reset_index()
    )
    lines += [
        (2, name, recalls[recalls["method"] == name])
        for name in recalls["method"].unique()
        if name != CHANCE
    ]
    for place, name, run in lines:
        figure.add_scatter(
            **_line(run, name, mode),
            showlegend=place == 2 or name != ADAPTERS,
            **_at(place, narrow),
        )
    for place, run in (
        (1, align[align["method"] == CHANCE]),
        (2, recalls[recalls["method"] == CHANCE]),
    ):
        figure.add_scatter(
            x=run[PAIRS],
            y=run["value"],
            **chance_line(mode),
            showlegend=place == 2,
            hoverinfo="skip",
            **_at(place, narrow),
        )
    ticks = sorted(map(int, measures[PAIRS].unique()))
    figure.update_xaxes(
        title_text="training pairs",
        type="log",
        tickvals=ticks,
        ticktext=[count_text(tick) for tick in ticks],
    )
    figure.update_yaxes(rangemode="tozero").update_yaxes(
        title_text=wrap(label, 34), **_at(1, narrow)
    )
    return figure


def _line(run: pd.DataFrame, name: str, mode: Mode) -> dict[str, Any]:
    ink = INK[mode]
    color, symbol = {
        ADAPTERS: (ink.ember, "circle"),
        "average before": (ink.text, "circle-open"),
    }.get(name, (ink.soft, MARKS.get(name, "circle")))
    cards = [
        f"{plain(name)}: {value:.3f} at {pairs:,} pairs"
        for pairs, value in zip(run[PAIRS], run["value"], strict=True)
    ]
    return {
        "x": run[PAIRS],
        "y": run["value"],
        "mode": "lines+markers",
        "name": plain(name),
        "line": {"color": color, "width": 3 if name == ADAPTERS else 1.5},
        "marker": {"color": color, "size": 8, "symbol": symbol},
        "hovertext": cards,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
