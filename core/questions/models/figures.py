"""The map of models, and the tree of models next to their alignment with each other."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float64

from core.competence.records import SKILL
from core.figures.drawing import Drawing, draw_panels
from core.figures.marks import SILENT, cards, color_bar, flat_color_bar, name_mark
from core.figures.numbers import count_text, counted, share_text
from core.figures.theme import (
    INK,
    Mode,
    blank,
    clear,
    heading,
    hover_card,
    hue,
    mark_sizes,
    plain,
    reason,
    round_ticks,
    sized,
    symbol,
    template,
    wrap,
)
from core.modalities import find_modality
from core.questions.models.geometry import NEAREST
from core.study.models import basis_of, is_reality, named_kinds, skill_ranks

DESCRIBED = ("title", "modality", "group", "run")  # what findings of the map count
NAMED: Mapping[str, str] = {"group": "objective", "family": "family"}  # columns that color by name
SCALED: Mapping[str, str] = {
    "rank": "competence: rank in its modality",
    "parameters": "parameters",
    "step": "training steps",
}
LOGARITHMIC = ("parameters", "step")
HOLLOW = "rgba(0,0,0,0)"
SHRUNK = 0.75  # marks of one group lie close together
CHECKPOINT = 0.6  # of a mark's size, so that a training does not hide what came of it
STAR = 15.0
MOST_NAMES = 18  # in the legend, which would leave the map no room
MORE = "more"  # the entry of all others
BITS_SAVED = "1 − bits per byte of the captions"
LABEL, NARROW_LABEL = 44, 20  # characters of a model's title next to the tree
TREE: Mapping[str, int] = {"row": 1, "col": 1}
MATRIX: Mapping[str, int] = {"row": 1, "col": 2}

Scores = Float64[np.ndarray, "m m"]


def map_points(
    table: pd.DataFrame, models: pd.DataFrame, competence: pd.DataFrame, solved: pd.DataFrame
) -> pd.DataFrame:
    """Return a row per model that the map places, for `model_map`, in
    the order of steps within each training.

    table: as `ModelMap` returns it. rank: as `skill_ranks` gives it;
    skill: the competence in words, "" where unknown; nearest: the titles of the nearest models;
    followed: whether there are others of its training.
    """
    titles = models.set_index("model")["title"]
    skill = skill_texts(competence, solved)
    placed = table[table["reason"] == ""].drop(columns=list(DESCRIBED), errors="ignore")
    families = named_kinds(models, "family").to_numpy()
    points = placed.merge(models.assign(family=families), on="model")
    near = [
        ", ".join(titles[name] for name in names if name)
        for names in points[list(NEAREST)].itertuples(index=False)
    ]
    ranks = points["model"].map(skill_ranks(models, competence, solved))
    several = points.groupby("run")["step"].transform("nunique") > 1
    skills = [skill.get(name, "") for name in points["model"]]
    described = points.assign(rank=ranks, skill=skills, nearest=near, followed=several)
    return described.sort_values(
        ["modality", "group", "run", "step"], kind="stable", ignore_index=True
    )


def skill_texts(competence: pd.DataFrame, solved: pd.DataFrame) -> dict[str, str]:
    """Return in words the competence of each measured model, by name; arguments as of
    `core.study.models.skill_ranks`.
    """
    told = competence.dropna(subset="value")
    units = told["unit"].replace(SKILL, BITS_SAVED)
    shares = solved.dropna(subset="solved").set_index("model")["solved"]
    values = zip(told["model"], units, told["value"], strict=True)
    return {
        **{str(name): f"{unit}: {value:.2f}" for name, unit, value in values},
        **{
            str(
                name
            ): f"{basis_of(solved)} {share_text(share) if 0 <= share <= 1 else f'{share:g}'}"
            for name, share in shares.items()
        },
    }


def model_map(
    points: pd.DataFrame,
    *,
    color: str,
    distance: str = "",
    named: Collection[str] = (),
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw a mark per model where the map places it; marks of one training are joined in the order
    of their steps.

    points: as `core.questions.models.figures.map_points` returns them. color: a key of NAMED or
    SCALED. distance: what the distance of two marks is, which gets a scale; empty where it means
    nothing. named: the models that get their title.
    """
    points = points.assign(size=_sizes(points))
    figure = blank(mode, height=680 if narrow else 600, title="Map of models")
    groups = _entries(points, color)
    for _, run in points[points["followed"]].groupby("run", sort=False):
        line = {"color": clear(hue(str(run["group"].iloc[0]), mode), 0.3), "width": 1}
        group = groups[run["model"].iloc[-1]]
        look = {"mode": "lines", "line": line, "legendgroup": group, **SILENT}
        figure.add_scatter(x=run["x"], y=run["y"], **look)
    if color in NAMED:
        _add_named(figure, points, color, groups, mode)
    else:
        _add_scaled(figure, points, color, mode)
    for row in points[points["model"].isin(list(named))].to_dict("records"):
        _name(figure, row, mode)
    if distance and (width := float(np.ptp(points[["x", "y"]], axis=0).max())):
        _add_scale(figure, points, distance, width, mode)
    # a place means nothing: the map may be turned and mirrored
    bare = {"showticklabels": False, "showgrid": False}
    figure.update_xaxes(**bare).update_yaxes(**bare, scaleanchor="x", scaleratio=1)
    return figure.update_layout(margin_t=16, dragmode="pan").figure()


def _add_scale(
    figure: Drawing, points: pd.DataFrame, distance: str, width: float, mode: Mode
) -> None:
    """Draw a line as long as a round distance below the map, and say what it is."""
    left, at = points["x"].min(), points["y"].min() - 0.08 * width
    length = 10.0 ** math.floor(math.log10(width / 2))
    figure.add_scatter(
        x=[left, left + length],
        y=[at, at],
        mode="lines",
        line={"color": INK[mode].soft, "width": 3},
        **SILENT,
    )
    figure.add_annotation(
        x=left + length,
        y=at,
        text=f"{distance} {length:g}",
        showarrow=False,
        xanchor="left",
        xshift=8,
        font={"size": 12, "color": INK[mode].soft},
    )


def _name(figure: Drawing, row: Mapping[Hashable, Any], mode: Mode) -> None:
    """Write a mark's title above it."""
    ink, size = INK[mode], row["size"] + 7
    figure.add_annotation(
        x=row["x"],
        y=row["y"],
        text=plain(row["title"]),
        ax=0,
        ay=-34,
        arrowhead=0,
        arrowcolor=ink.text,
        standoff=size / 2,
        bgcolor=clear(ink.paper, 0.8),
    )


def _sizes(points: pd.DataFrame) -> pd.Series:
    """Return the marks' diameters; the world has no parameters, and its star is to be seen."""
    sizes = SHRUNK * mark_sizes(points["parameters"])
    sizes = sizes.mask(points["copy"].astype(bool), CHECKPOINT * sizes)
    return sizes.mask(is_reality(points), STAR)


def _entries(points: pd.DataFrame, color: str) -> dict[str, str]:
    """Return what stands for each model in the legend: its modality, or with it what it is colored
    by; one entry stands for all that have no room.
    """
    if color not in NAMED:
        return dict(zip(points["model"], points["modality"], strict=True))
    entries: dict[str, str] = {}
    for place, (_, kind) in enumerate(points.groupby(["modality", color], sort=False)):
        entries |= dict.fromkeys(kind["model"], str(place) if place < MOST_NAMES else MORE)
    return entries


def _add_named(
    figure: Drawing, points: pd.DataFrame, color: str, groups: Mapping[str, str], mode: Mode
) -> None:
    kinds = list(points.groupby(["modality", color], sort=False))
    for place, ((_, name), kind) in enumerate(kinds):
        figure.add_scatter(
            **_marks(kind, {"color": hue(str(name), mode)}, mode, by=color),
            name=heading(str(name)),
            legendgroup=groups[kind["model"].iloc[0]],
            showlegend=place < MOST_NAMES,
        )
    if len(kinds) > MOST_NAMES:
        more = f"and {len(kinds) - MOST_NAMES} more: point at them"
        name_mark(figure, more, {"color": HOLLOW}, group=MORE)


def _add_scaled(figure: Drawing, points: pd.DataFrame, color: str, mode: Mode) -> None:
    value = points[color].where(points[color] > 0) if color in LOGARITHMIC else points[color]
    shown = pd.Series(np.log10(value), index=points.index) if color in LOGARITHMIC else value
    for modality, kind in points.groupby("modality", sort=False):
        values = shown[kind.index]
        present = values.notna()
        marks = {"color": values[present], "coloraxis": "coloraxis"}
        named = {"legendgroup": str(modality), "showlegend": False}
        figure.add_scatter(**_marks(kind[present], marks, mode), **named)
        look = find_modality(str(modality))
        marker = {"color": INK[mode].soft, "symbol": look.symbol}
        name_mark(figure, look.title, marker, group=str(modality))
        hollow = _marks(kind[~present], {"color": HOLLOW}, mode, edge=INK[mode].soft)
        figure.add_scatter(**hollow, **named)
    bar = color_bar(wrap(SCALED[color], 16), len=0.8, **_ticks(value, color))
    figure.update_layout(
        coloraxis={
            "colorscale": list(INK[mode].scale[1:]),
            "colorbar": bar,
            "showscale": bool(shown.notna().any()),
        }
    )


def _ticks(value: pd.Series, color: str) -> dict[str, Any]:
    if color not in LOGARITHMIC:
        return {"tickvals": [0, 0.5, 1], "ticktext": ["least", "middle", "most"]}
    if value.isna().all():
        return {}
    ticks = round_ticks(float(value.min()), float(value.max())) or [float(value.max())]
    return {
        "tickvals": [math.log10(tick) for tick in ticks],
        "ticktext": [count_text(tick) for tick in ticks],
    }


def _marks(
    points: pd.DataFrame,
    color: Mapping[str, Any],
    mode: Mode,
    *,
    by: str = "group",
    edge: str = "",
) -> dict[str, Any]:
    marker = {
        **color,
        "size": points["size"].tolist(),
        "opacity": 1.0,
        "symbol": [
            symbol(group, find_modality(modality))
            for group, modality in zip(points[by], points["modality"], strict=True)
        ],
        "line": {"color": edge or INK[mode].paper, "width": 1.5 if edge else 1},
    }
    return {
        "x": points["x"],
        "y": points["y"],
        "mode": "markers",
        "marker": marker,
        "customdata": points[["model"]].to_numpy(),
        **cards(_card(row) for row in points.to_dict("records")),
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _card(row: Mapping[Hashable, Any]) -> str:
    step = "" if math.isnan(row["step"]) else f", after {counted(row['step'], 'step', 'steps')}"
    return hover_card(
        sized(row["title"], row["parameters"]),
        f"{plain(row['family'])}, {plain(row['objective'])}{step}",
        *([plain(row["skill"])] if row["skill"] else []),
        f"nearest: {wrap(plain(row['nearest']), 50)}",
        ids=row["model"],
    )


def tree(
    scores: Scores,
    branches: pd.DataFrame,
    models: pd.DataFrame,
    *,
    label: str,
    aligned_high: bool,
    mode: Mode,
    narrow: bool = False,
) -> go.Figure:
    """Draw a tree of models and, in the order of its leaves, the alignment of every two of them.

    scores: in that order, NaN on the diagonal; columns are in the order of rows. branches: as
    `core.questions.models.geometry.cluster` gives them. models: title and group of each, in that
    order. Titles are unique; long ones are cut in the middle, the hover card has them whole. Groups
    color the mark before each. label: of the scores.
    """
    if np.isnan(scores).all():
        return reason("No two of these models have an alignment.", mode)
    figure = _empty(len(models), mode)
    figure.add_scatter(**_brackets(branches, mode), **TREE)
    corner = {"x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom", "nticks": 5}
    figure.add_heatmap(
        **_cells(scores, [plain(title) for title in models["title"]]),
        colorscale=list(INK[mode].scale[:: 1 if aligned_high else -1]),
        colorbar=flat_color_bar(label, **corner, len=0.6 if narrow else 0.4),
        **MATRIX,
    )
    _name_leaves(figure, models, mode, narrow=narrow)
    return figure.figure()


def _empty(count: int, mode: Mode) -> Drawing:
    """Return room for the tree of so many models and the matrix, a row of both per model."""
    figure = draw_panels(1, 2, column_widths=(0.16, 0.84), horizontal_spacing=0.006)
    pitch = 13.0 if count <= 80 else 11.5
    figure.update_layout(
        template=template(mode),
        height=max(360, int(pitch * count + 120)),
        margin_t=64,
        meta={"title": "Tree and alignment of models"},
    )
    bare = {"showgrid": False, "fixedrange": True}
    figure.update_yaxes(range=[count - 0.5, -0.5], **bare)
    figure.update_xaxes(autorange="reversed", nticks=4, title_text="distance", **bare, **TREE)
    return figure.update_xaxes(
        showticklabels=False, showgrid=False, range=[-0.5, count - 0.5], **MATRIX
    )


def _brackets(branches: pd.DataFrame, mode: Mode) -> dict[str, object]:
    """Return all mergers as one broken line: leaves run down, distances to the left."""
    x, y = (
        [value for _, bracket in branches.groupby("branch") for value in (*bracket[axis], None)]
        for axis in ("y", "x")
    )
    line = {"color": INK[mode].soft, "width": 1.2}
    return {"x": x, "y": y, "mode": "lines", "line": line, **SILENT}


def _cells(scores: Scores, names: list[str]) -> dict[str, object]:
    return {
        "z": scores,
        "x": names,
        "y": names,
        "zmin": min(0.0, float(np.nanmin(scores))),
        "zmax": float(np.nanmax(scores)),
        "hoverongaps": False,
        "hovertemplate": "<b>%{y}</b><br><b>%{x}</b><br>alignment %{z:.3f}<extra></extra>",
    }


def _name_leaves(figure: Drawing, models: pd.DataFrame, mode: Mode, *, narrow: bool) -> None:
    """Write each model's title next to its row, after a mark in the color of its group."""
    most = NARROW_LABEL if narrow else LABEL
    leaves = [
        f"<span style='color:{hue(group, mode)}'>■</span> {plain(shorten(title, most))}"
        for title, group in zip(models["title"], models["group"], strict=True)
    ]
    figure.update_yaxes(showticklabels=False, **TREE)
    figure.update_yaxes(
        side="right",
        tickmode="array",
        tickvals=[plain(title) for title in models["title"]],
        ticktext=leaves,
        tickfont_size=11 if len(models) <= 80 else 10,
        **MATRIX,
    )


def shorten(text: str, most: int) -> str:
    """Cut a long text in its middle, since titles of one training differ at their ends.

    >>> shorten("ViT S · supervised after 1500 steps", 20)
    'ViT S · s…1500 steps'
    """
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
