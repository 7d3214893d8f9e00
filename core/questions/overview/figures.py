"""The Overview page's figures: the hypothesis in one look, and every model against one
yardstick.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import Drawing, draw_panels
from core.figures.marks import (
    SILENT,
    add_level,
    group_mark,
    in_percent,
    name_chance,
    name_groups,
    name_mark,
)
from core.figures.numbers import count_text
from core.figures.rulers import Ruler
from core.figures.theme import (
    COMPETENCE,
    INK,
    Mode,
    blank,
    chance_line,
    clear,
    dotted,
    heading,
    hover_card,
    hue,
    marker_size,
    plain,
    reason,
    round_ticks,
    sized,
    symbol,
    template,
)
from core.modalities import LANGUAGE, find_modality

SKILL = Ruler(COMPETENCE, "competence")


def headline(
    points: pd.DataFrame, *, mode: Mode, narrow: bool = False, axis: Ruler = SKILL
) -> go.Figure:
    """Draw competence of language models, or what else is on the axis, against their alignment
    with each target (the vision models, reality).

    points: one row per language model and target: target, model, title, group, parameters, axis,
    score (the mean over the target's models), targets (how many they are), low, high (its 95 %
    interval, or NaN), chance, k. `narrow` stacks the panels for a phone.
    """
    drawn = points.assign(axis=axis.unplace(axis.place(points["axis"])))
    seen = drawn.dropna(subset=["axis", "score"])
    if seen.empty:
        return reason(_why_empty(axis), mode)
    targets = list(dict.fromkeys(seen["target"]))
    rows, columns = (len(targets), 1) if narrow else (1, len(targets))
    titles = [f"<b>with {plain(target)}</b>" for target in targets]
    figure = draw_panels(rows, columns, titles, horizontal_spacing=0.09, vertical_spacing=0.2)
    figure.update_layout(
        template=template(mode),
        height=400 * rows,
        meta={"title": f"Does alignment rise with {axis.short}?"},
    )
    for place, target in enumerate(targets):
        at = {"row": place + 1, "col": 1} if narrow else {"row": 1, "col": place + 1}
        _add_target(figure, seen[seen["target"] == target], at, mode, axis)
    name_groups(figure, seen["group"], LANGUAGE, mode)
    if seen["low"].notna().any():
        note = "Bars: 95 % interval of the mean over models"
        figure.update_layout(meta={**figure.layout["meta"], "note": note})
    name_chance(figure, mode)
    return figure.update_xaxes(title_text=plain(axis.title), **axis.look(seen["axis"])).figure()


def _why_empty(axis: Ruler) -> str:
    if axis.title == COMPETENCE:
        return (
            "A language model with bits per byte and a vision model are needed: embed one of each."
        )
    return f"No language model here has a value on this axis ({axis.short}): choose another."


def _add_target(
    figure: Drawing, points: pd.DataFrame, at: dict[str, int], mode: Mode, axis: Ruler
) -> None:
    places = axis.place(points["axis"])
    margin = 0.06 * (places.max() - places.min()) or 0.05
    ends = list(axis.unplace(pd.Series([places.min() - margin, places.max() + margin])))
    figure.add_scatter(
        x=ends,
        y=[points["chance"].iloc[0]] * 2,
        **chance_line(mode),
        showlegend=False,
        hoverinfo="skip",
        **at,
    )
    for name, group in points.sort_values("axis").groupby("group", sort=False):
        figure.add_scatter(**_line(str(name), group, mode, axis), showlegend=False, **at)
    figure.update_yaxes(
        rangemode="tozero", title_text=f"alignment (mutual k-NN, k = {points['k'].iloc[0]})", **at
    )


def _line(name: str, group: pd.DataFrame, mode: Mode, axis: Ruler) -> dict[str, object]:
    color = hue(name, mode)
    spread = {
        "type": "data",
        "symmetric": False,
        "array": group["high"] - group["score"],
        "arrayminus": group["score"] - group["low"],
    }
    sizes = [marker_size(count) for count in group["parameters"]]
    return {
        "x": group["axis"],
        "y": group["score"],
        "mode": "lines+markers",
        "legendgroup": name,
        "line": {"color": clear(color, 0.45), "width": 1.5},
        "marker": {
            "color": color,
            "size": sizes,
            "symbol": symbol(name, LANGUAGE),
            "opacity": 1.0,
            "line": {"color": INK[mode].paper, "width": 1.5},
        },
        "error_y": {**spread, "color": clear(color, 0.4), "thickness": 2, "width": 0},
        "customdata": group[["model"]].to_numpy(),
        "hovertext": [_card(row, axis) for row in group.to_dict("records")],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _card(row: Mapping[Hashable, Any], axis: Ruler) -> str:
    interval = f"95 % interval {row['low']:.3f} to {row['high']:.3f} over {row['targets']} models"
    span = "" if math.isnan(row["low"]) else f"<br>{interval}"
    return hover_card(
        sized(row["title"], row["parameters"]),
        f"alignment {row['score']:.3f}{span}",
        f"chance {row['chance']:.3f}",
        axis.text(row["axis"]),
        ids=row["model"],
    )


def ranking(points: pd.DataFrame, *, against: str, mode: Mode) -> go.Figure:
    """Draw the alignment of every model with `against` as a strip per objective (vision) or family
    (language).

    points: one row per model: model, title, modality, group, parameters, score, chance, k.
    """
    seen = points.dropna(subset=["score"])
    if seen.empty:
        return reason(f"There is no alignment with {against} yet: embed more models.", mode)
    order = (
        seen.groupby(["modality", "group"])["score"]
        .mean()
        .sort_values()
        .reset_index()
        .sort_values(["modality", "score"])
    )
    figure = blank(mode, height=34 * len(order) + 150, title=f"Alignment with {against}")
    figure.update_layout(margin_t=16)
    for modality, group in zip(order["modality"], order["group"], strict=True):
        strip = seen[(seen["modality"] == modality) & (seen["group"] == group)]
        figure.add_scatter(**_strip(strip, mode), legendgroup=modality)
    add_level(figure, seen["chance"].iloc[0], "chance", dotted(mode))
    for modality in dict.fromkeys(order["modality"]):
        kind = find_modality(modality)
        marker = {"color": INK[mode].soft, "symbol": kind.symbol}
        name_mark(figure, kind.title, marker, group=modality)
    figure.update_xaxes(
        title_text=f"alignment (mutual k-NN, k = {seen['k'].iloc[0]})", rangemode="tozero"
    )
    return figure.figure()


PANELS: Mapping[str, tuple[str, str, bool]] = {  # heading, axis, logarithmic
    "training": ("Longer training", "training steps", True),
    "size": ("More parameters", "parameters", True),
    "tasks": ("More tasks to learn", "supervised tasks", True),
    "solved": ("More tasks solved", "share of the vision tasks solved", False),
}


def growth(points: pd.DataFrame, *, against: str, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw alignment with `against` by length of training, size, number of tasks learned and share
    of tasks solved.

    points: one row per model and panel: panel (a key of PANELS), x, line (points of one are
    joined), model, title, modality, group, parameters, score, chance, k. `narrow` stacks the panels
    for a phone.
    """
    panels = [name for name in PANELS if name in set(points["panel"])]
    if not panels:
        return reason(
            "Models of several sizes, or checkpoints of one training, are needed: embed some.",
            mode,
        )
    columns = 1 if narrow else min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = draw_panels(
        rows,
        columns,
        [f"<b>{PANELS[name][0]}</b>" for name in panels],
        shared_yaxes=True,
        horizontal_spacing=0.04,
        vertical_spacing=min(0.3, 95 / (300 * rows)),
    )
    figure.update_layout(
        template=template(mode),
        height=300 * rows + 60,
        meta={"title": f"What brings models closer to {against}"},
    )
    for place, name in enumerate(panels):
        at = {"row": place // columns + 1, "col": place % columns + 1}
        _add_growth(figure, points[points["panel"] == name], name, at, mode)
    figure.update_yaxes(rangemode="tozero", matches="y")
    figure.update_yaxes(title_text=f"alignment (mutual k-NN, k = {points['k'].iloc[0]})", col=1)
    for modality, name in dict.fromkeys(zip(points["modality"], points["group"], strict=True)):
        marker = group_mark(name, find_modality(modality), mode)
        name_mark(figure, heading(name), marker, group=f"{modality} {name}")
    return name_chance(figure, mode).figure()


def _add_growth(
    figure: Drawing, points: pd.DataFrame, panel: str, at: dict[str, int], mode: Mode
) -> None:
    _, axis, logarithmic = PANELS[panel]
    ends = [points["x"].min(), points["x"].max()]
    figure.add_scatter(
        x=ends,
        y=[points["chance"].iloc[0]] * 2,
        **chance_line(mode),
        showlegend=False,
        hoverinfo="skip",
        **at,
    )
    for _, run in points.groupby("line", sort=False):
        figure.add_scatter(**_joined(run, mode), **at)
    for (modality, name), group in points.groupby(["modality", "group"], sort=False):
        place = {"x": group["x"], "y": group["score"], "legendgroup": f"{modality} {name}"}
        figure.add_scatter(**{**_strip(group, mode), **place}, **at)
    if not logarithmic:
        figure.update_xaxes(title_text=axis, **in_percent(), **at)
        return
    ticks = sorted(set(points["x"])) if panel == "tasks" else round_ticks(*ends)
    figure.update_xaxes(
        title_text=axis,
        type="log",
        tickvals=ticks,
        ticktext=[count_text(tick) for tick in ticks],
        **at,
    )


def _joined(run: pd.DataFrame, mode: Mode) -> dict[str, object]:
    """Return the line of a run, through the mean at each place, in the color of its last model's
    group.
    """
    name = str(run["group"].iloc[-1])
    means = run.groupby("x")["score"].mean()
    return {
        "x": means.index,
        "y": means,
        "mode": "lines",
        "line": {"color": clear(hue(name, mode), 0.55), "width": 2},
        "legendgroup": f"{run['modality'].iloc[-1]} {name}",
        **SILENT,
    }


def _strip(group: pd.DataFrame, mode: Mode) -> dict[str, object]:
    name, modality = str(group["group"].iloc[0]), str(group["modality"].iloc[0])
    sizes = [marker_size(count) for count in group["parameters"]]
    cards = [
        hover_card(
            sized(row["title"], row["parameters"]),
            f"alignment {row['score']:.3f}, chance {row['chance']:.3f}",
            ids=row["model"],
        )
        for row in group.to_dict("records")
    ]
    return {
        "x": group["score"],
        "y": [heading(name)] * len(group),
        "mode": "markers",
        "hovertext": cards,
        "showlegend": False,
        "marker": {
            "color": hue(name, mode),
            "opacity": 0.85,
            "size": sizes,
            "symbol": symbol(name, find_modality(modality)),
            "line": {"color": INK[mode].paper, "width": 1},
        },
        "customdata": group[["model"]].to_numpy(),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
