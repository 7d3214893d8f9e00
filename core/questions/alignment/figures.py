"""The trend of alignment along an axis, and the layers of two models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from core.encoders.encoder import REALITY
from core.figures.grammar import (
    NEAR,
    Dots,
    Facet,
    Fixed,
    Heat,
    Level,
    Line,
    Plot,
    Ribbon,
    Scale,
    Size,
)
from core.figures.grammar import Axis as PlotAxis
from core.figures.grammar import Text as Words
from core.figures.labels import Labels
from core.figures.texts import fill
from core.figures.theme import heading, plain
from core.metrics.spec import MetricSpec
from core.questions.alignment.axes import NOISE, Axis, fit_line, mean_points
from core.study.layers import LayerChoice, layer_matrix, pick

NAMED, LONGEST = 8, 12  # layers with their names on an axis, and letters of these
BAND = "linear fit, 95% CI"
LEVELS = ("chance", "ceiling", NOISE)
PAIR = (
    "<b>{title_x}[[ ({parameters_x:count})]] × {title_y}[[ ({parameters_y:count})]]</b>",
    "alignment {score:.3f}[[, chance {chance:.3f}]]",
    "[[95% CI over stimuli {low:.3f} to {high:.3f}]]",
    "[[raw score {raw:.3f}]][[, 95% CI {raw_low:.3f} to {raw_high:.3f}]]",
    "[[{p:p}, adjusted for all pairs {p_adjusted:p}]]",
    "layers {layer_x} × {layer_y}",
)


def _levels(bound: str) -> tuple[Level, ...]:
    """Return the lines of chance and both ceilings. bound: of the noise ceiling, "≥ " if it is a
    lower one; see `core.study.noise.bound_of`.
    """
    noise = f"noise ceiling ({bound.strip()})" if bound else "noise ceiling"
    return (
        Level("chance"),
        Level("ceiling", "ceiling", name="seed ceiling"),
        Level(NOISE, "noise ceiling", name=noise, several=True),
    )


def trend(
    points: pd.DataFrame, axis: Axis, *, label: str, bound: str = "", panels: bool = False
) -> Plot:
    """Return the mean alignment of each model with all that it is compared with, against what is on
    the axis, with a linear fit over recipes; in panels, one for each group of the models compared
    with, a line for each of these.

    points: of `core.questions.alignment.axes.trend_points`. label: of the score.
    """
    if panels:
        points = points.sort_values("panel", key=lambda panel: panel == REALITY, kind="stable")
    else:
        points = points[points["compared"]].assign(panel="")
    parts = {str(panel): rows for panel, rows in points.groupby("panel", sort=False)}
    means = [mean_points(rows) for rows in parts.values()]
    every = pd.concat(means) if means else mean_points(points)
    if every["axis"].isna().all() and len(every) and not panels:
        return _ranking(every, label=label, bound=bound)
    lines = {panel: fit_line(rows, axis) for panel, rows in parts.items()}
    bands = [
        _band(lines[panel].band, rows, axis, clip=panels).assign(panel=panel)
        for panel, rows in zip(parts, means, strict=True)
        if len(lines[panel].band)
    ]
    band = pd.concat(bands) if bands else pd.DataFrame(columns=["x", "fit", "low", "high", "panel"])
    drawn = every.dropna(subset=["axis", "score"])
    places = axis.place(drawn["axis"])
    pad = 0.08 * (places.max() - places.min()) or 0.1
    ends = tuple(axis.unplace(pd.Series([places.min() - pad, places.max() + pad])))
    number = "{axis:count}" if axis.log else "{axis:.2f}"
    # better language models of any family follow each other, larger ones of several do not, nor do
    # vision models of several objectives
    follow = axis.is_competence and axis.side == "language"
    points = points.assign(run=points["model_y"] + ("" if follow else " " + points["group_x"]))

    def note(rows: pd.DataFrame) -> str:
        fit = lines[str(rows["panel"].iloc[0])]
        found = f"n = {fit.n}: no fit" if fit.reason else f"ρ = {fit.spearman:.2f}, n = {fit.n}"
        return found.replace("-", "−")

    each = Line(
        "axis",
        "score",
        by="run",
        table=points,
        color=Fixed("soft"),
        width=Size("parameters_y"),
        opacity=0.5,
        name="a compared model",
        card=(*PAIR, f"[[noise ceiling {bound}{{{NOISE}:.3f}}]]"),
    )
    edge = Line("x", "high", table=band, width=1.0, opacity=0.6, color=Fixed("soft"), name=BAND)
    size = Size("parameters_x", times=0.75 if panels else 1.0)
    chance = pd.DataFrame({"x": ends, "y": drawn["chance"].mean(), "line": "chance"})
    sides = band.melt("x", ["fit", "low", "high"], "line", "y")
    names = Labels(
        "axis",
        "score",
        "{title_x}",
        size,
        low="low",
        high="high",
        lines=pd.concat([sides, chance]),
        color="group_x",
    )
    seen = list(dict.fromkeys(drawn["panel"]))
    return Plot(
        f"Alignment and {axis.short}",
        marks=(
            Line("x", "fit", table=band, dash="dash", color=Fixed("soft"), name=BAND),
            *(
                (Ribbon("x", "low", "high", table=band, color=Fixed("soft"), name=BAND),)
                if panels
                else (replace(edge, y="low"), edge)
            ),
            *((each,) if panels else ()),
            Dots(
                "axis",
                "score",
                color="group_x",
                modality="modality_x",
                size=size,
                low="low",
                high="high",
                card=(
                    "<b>{title_x}</b>[[ ({parameters_x:count})]]",
                    "mean alignment {score:.3f}[[ [{low:.3f}, {high:.3f}]]]",
                    f"{axis.short} {number}",
                    "with {count:.0f} models",
                ),
                ids="{model_x}",
                select=("model_x",),
            ),
            *(() if panels else (names,)),
        ),
        x=PlotAxis(axis.title, log=axis.log, range=ends if len(drawn) else None),
        y=PlotAxis(f"mean {label}", zero=True, range=None if panels else _span(drawn, band)),
        facet=Facet(
            "panel",
            names={panel: heading(panel) for panel in seen},
            note=note,
            columns=2 if len(seen) == 4 else 3,
            share="x",
        )
        if panels
        else None,
        levels=_levels(bound),
        empty=_why_empty(points, axis),
        height=430 if not panels else 330 if len(seen) <= 3 else 235,
    ).over(drawn)


def _band(band: pd.DataFrame, means: pd.DataFrame, axis: Axis, *, clip: bool) -> pd.DataFrame:
    """Return a fit's band within what points and line span, so that it does not flatten these; what
    is beyond is clipped or left out.
    """
    ends = pd.concat([means[["score", "low", "high"]].stack(), band["fit"]])
    within = band[["low", "high"]].clip(min(0.0, ends.min()), ends.max())
    if not clip:
        within = within.where(within == band[["low", "high"]])
    return band.assign(x=axis.unplace(band["x"]), **within)


def _span(means: pd.DataFrame, band: pd.DataFrame) -> tuple[float, float] | None:
    """Return what the vertical axis shows: 0, all marks and the levels that are drawn."""
    if means.empty:
        return None
    marks = pd.concat([means[["score", "low", "high"]].stack(), band["fit"]])
    levels = [means[name].max() for name in LEVELS if name in means]
    top = float(np.nanmax([marks.max(), *(one for one in levels if one <= NEAR * marks.max())]))
    return 1.05 * min(0.0, marks.min()), 1.05 * top


def _ranking(means: pd.DataFrame, *, label: str, bound: str) -> Plot:
    """Return the mean alignment of each model, the most aligned first."""
    means = means.sort_values("score", ascending=False)
    return Plot(
        "Mean alignment of each model",
        marks=(
            Dots(
                "score",
                "title_x",
                color="group_x",
                modality="modality_x",
                left="low",
                right="high",
                card=("<b>{title_x}</b>", "mean alignment {score:.3f}[[ [{low:.3f}, {high:.3f}]]]"),
                ids="{model_x}",
                select=("model_x",),
            ),
        ),
        x=PlotAxis(f"mean {label}", zero=True),
        y=PlotAxis("", names=tuple(dict.fromkeys(means["title_x"]))),
        levels=tuple(replace(level, along="x") for level in _levels(bound)),
        row=26,
    ).over(means)


def _why_empty(points: pd.DataFrame, axis: Axis) -> str:
    if points.empty:
        return f"No two models to compare: select {axis.models} and {axis.targets}."
    if points["score"].isna().all():
        return "No alignment can be computed for these models."
    if axis.is_competence and axis.side == "language":
        return (
            "The competence of these language models is unknown: models without next-word"
            " probabilities have no bits per byte. Choose another axis, or state it: platoscope"
            " model set NAME --competence VALUE."
        )
    return f"None of these {axis.models} has a value on this axis ({axis.short})."


def layer_map(table: pd.DataFrame, spec: MetricSpec, bound: str = "") -> Plot:
    """Return the alignment of every layer of one model with every layer of another; a star marks
    the best pair. table: the answer of `Alignment` with all layers, of two models.
    """
    several = len(table[["model_x", "model_y"]].drop_duplicates()) > 1
    if several or table["score"].isna().all():
        why = "Select two models." if several else "No pair of layers has an alignment here."
        return Plot("Layers", marks=(), empty=why)
    high, scores = spec.higher_is_more_aligned, layer_matrix(table).to_numpy()
    row, column = pick(scores, LayerChoice(), spec=spec)
    best = table[(table["layer_x"] == row) & (table["layer_y"] == column)]
    references = f"[[, chance {{chance:.3f}}]][[, noise ceiling {bound}{{{NOISE}:.3f}}]]"
    names = "{layer_name_x} × {layer_name_y}"
    said = [
        fill(text, best.iloc[0].to_dict(), escape=False)
        for text in (names, "{score:.3f}" + references)
    ]
    first, last = min(0.0, table["score"].min()), table["score"].max()
    kind = "title" if "title_x" in table else "model"
    x, y = (table[f"{kind}_{side}"] for side in "xy")
    return Plot(
        f"Layers of {x.iloc[0]} and {y.iloc[0]}",
        marks=(
            Heat(
                "layer_y",
                "layer_x",
                Scale("score", "alignment" if high else "distance", first, last, falling=not high),
                card=(names, "alignment {score:.3f}" + references),
            ),
            Words("layer_y", "layer_x", "★", table=best, size=16, color=Fixed("paper")),
        ),
        head="★ {best:wrap}<br>{reached}",
        x=_layer_axis(table, "y", y.iloc[0]),
        y=_layer_axis(table, "x", x.iloc[0]),
        height=max(250, 34 * len(scores) + 60),
        legend=False,
    ).over(table.assign(best=said[0], reached=said[1]))


def _layer_axis(table: pd.DataFrame, side: str, model: str) -> PlotAxis:
    """Return the axis of a model's layers: their names if these are few and short, else their
    numbers.
    """
    layers = table.drop_duplicates(f"layer_{side}").set_index(f"layer_{side}")
    names = layers[f"layer_name_{side}"].str.removeprefix("block ").sort_index().to_dict()
    few = len(names) <= NAMED and max(map(len, names.values())) <= LONGEST
    return PlotAxis(
        f"layer of {model}",
        whole=not few,
        ticks={at: plain(name) for at, name in names.items()} if few else (),
    )
