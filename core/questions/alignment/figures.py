"""The trend of alignment along an axis, and the layers of two models."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.encoders.encoder import REALITY
from core.figures.grammar import Axis as PlotAxis
from core.figures.grammar import Dots, Facet, Fixed, Heat, Level, Line, Plot, Ribbon, Scale, Size
from core.figures.grammar import Text as Words
from core.figures.theme import heading
from core.metrics.spec import MetricSpec
from core.questions.alignment.axes import Axis
from core.questions.alignment.points import NOISE, fit_line, fits, mean_points
from core.study.layers import LayerChoice, layer_matrix, pick

MOST_NAMED = 14  # dots that have their names next to them
BAND = "linear fit, 95% CI"
PAIR = "<b>{title_x}[[ ({parameters_x:count})]] × {title_y}[[ ({parameters_y:count})]]</b>"
CARD = (
    PAIR,
    "alignment {score:.3f}[[, chance {chance:.3f}]]",
    "[[{share:.2f} of the way from chance to the ceiling]]",
    "[[95% CI over stimuli {low:.3f} to {high:.3f}]]",
)
CALIBRATED = (
    PAIR,
    "calibrated alignment {score:.3f}",
    "raw score {raw:.3f}[[, chance {raw_chance:.3f}]]",
    "[[95% CI over stimuli {raw_low:.3f} to {raw_high:.3f}]]",
    "{p:p}, adjusted for all pairs {p_adjusted:p}",
)


def _levels(bound: str) -> tuple[Level, ...]:
    """Return the lines of chance and both ceilings. bound: of the noise ceiling, of which it says
    that it is a lower one; see `core.study.noise.bound_of`.
    """
    noise = f"noise ceiling ({bound.strip()})" if bound else "noise ceiling"
    return (
        Level("chance"),
        Level("ceiling", "ceiling", name="ceiling {ceiling:.3g}"),
        Level(NOISE, "noise ceiling", name=noise, several=True),
    )


def mean_trend(points: pd.DataFrame, axis: Axis, *, label: str, bound: str = "") -> Plot:
    """Return the mean alignment of each model with all that it is compared with, against what is on
    the axis, with a linear fit over recipes.

    points: of `core.questions.alignment.points.trend_points`, with `compared`. label: of the score.
    """
    points = points[points["compared"]]
    means = mean_points(points)
    fit = fit_line(points, axis)
    band = fit.band.assign(x=axis.unplace(fit.band["x"])) if len(fit.band) else fit.band
    number = "{axis:count}" if axis.log else "{axis:.2f}"
    drawn = means.dropna(subset=["axis", "score"])
    if drawn.empty and len(means):
        return _ranking(means, label=label, bound=bound)
    places = axis.place(drawn["axis"])
    pad = 0.06 * (places.max() - places.min()) or 0.1
    # names are right of their dots
    ends = axis.unplace(pd.Series([places.min() - pad, places.max() + 2.5 * pad]))
    return Plot(
        f"Alignment and {axis.short}",
        marks=(
            Ribbon("x", "low", "high", table=band, color=Fixed("soft"), name=BAND),
            Line("x", "fit", table=band, dash="dash", color=Fixed("soft"), name=BAND),
            Dots(
                "axis",
                "score",
                color="group_x",
                modality="modality_x",
                size=Size("parameters_x"),
                low="low",
                high="high",
                label="{title_x}" if len(drawn) <= MOST_NAMED else "",
                side="bottom right",
                card=(
                    "<b>{title_x}</b>[[ ({parameters_x:count})]]",
                    "mean alignment {score:.3f}[[ [{low:.3f}, {high:.3f}]]]",
                    f"{axis.short} {number}",
                    "with {count:.0f} models",
                ),
                ids="{model_x}",
                select=("model_x",),
            ),
        ),
        x=PlotAxis(axis.title, log=axis.log, range=tuple(ends) if len(drawn) else None),
        y=PlotAxis(f"mean {label}", zero=True),
        levels=_levels(bound),
        empty=_why_empty(points, axis),
        height=430,
    ).over(means)


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


def trend(points: pd.DataFrame, axis: Axis, *, label: str, bound: str = "") -> Plot:
    """Return alignment against what is on the axis, a panel for each group of the models compared
    with; each line is one of these, wider if it is larger.

    points: of `core.questions.alignment.points.trend_points`, with what the answer knows more.
    """
    points = points.sort_values("panel", key=lambda panel: panel == REALITY, kind="stable")
    lines = fits(points, axis)
    seen = points[points["axis"].notna() & points["score"].notna()]
    # better language models of any family follow each other, larger ones of several do not, nor do
    # vision models of several objectives
    follow = axis.is_competence and axis.side == "language"
    points = points.assign(run=points["model_y"] + ("" if follow else " " + points["group_x"]))
    bands, means = [], []
    for panel in set(seen["panel"]):
        fit = lines[panel]
        if len(fit.band):
            bands.append(fit.band.assign(x=axis.unplace(fit.band["x"]), panel=panel))
            if seen.loc[seen["panel"] == panel, "model_y"].nunique() > 1:  # else they are its dots
                means.append(fit.points.assign(x=axis.unplace(fit.points["x"]), panel=panel))
    band = pd.concat(bands) if bands else pd.DataFrame(columns=["x", "fit", "low", "high", "panel"])
    mean = pd.concat(means) if means else pd.DataFrame(columns=["x", "y", "panel"])
    number = "{axis:count}" if axis.log else "{axis:.2f}"
    noise = f"[[noise ceiling {bound}{{{NOISE}:.3f}}]]"
    more = (noise, f"{axis.short} {number}", "layers {layer_x} × {layer_y}")
    published = Dots(
        "axis",
        "published",
        symbol="x-thin",
        name="published",
        card=(
            "<b>{title_x} × {title_y}</b>",
            "published {published:.3f}, here {score:.3f}",
            "published of the layers {published_layers}",
        ),
        ids="{published_by}",
    )

    def note(rows: pd.DataFrame) -> str:
        fit = lines[str(rows["panel"].iloc[0])]
        if fit.reason:
            return f"n = {fit.n}: no fit"
        return f"ρ = {fit.spearman:.2f}, n = {fit.n}".replace("-", "−")

    panels = list(dict.fromkeys(seen["panel"]))
    return Plot(
        f"Alignment and {axis.short}",
        marks=(
            Ribbon("x", "low", "high", table=band, color=Fixed("soft"), name=BAND),
            Line("x", "fit", table=band, dash="dash", color=Fixed("soft"), name=BAND),
            Line(
                "axis",
                "score",
                by="run",
                color=Fixed("soft"),
                width=Size("parameters_y"),
                opacity=0.5,
                name="a compared model",
            ),
            Dots(
                "axis",
                "score",
                color="group_x",
                modality="modality_x",
                size=Size("parameters_x", times=0.75),
                card=(*(CALIBRATED if "raw" in points else CARD), *more),
                ids="{model_x} × {model_y}",
                select=("model_x", "model_y"),
            ),
            *((published,) if "published" in points else ()),
            Dots(
                "x",
                "y",
                table=mean,
                symbol="diamond",
                size=8,
                name="mean of the panel, fitted",
                card=("mean of the panel {y:.3f}",),
            ),
        ),
        x=PlotAxis(axis.title, log=axis.log),
        y=PlotAxis(label, zero=True),
        facet=Facet(
            "panel",
            names={panel: heading(panel) for panel in panels},
            note=note,
            columns=2 if len(panels) == 4 else 3,
            share="x",
        ),
        levels=_levels(bound),
        empty=_why_empty(points, axis),
        height=330 if len(panels) <= 3 else 235,
    ).over(points)


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
    beside = f"[[, chance {{chance:.3f}}]][[, noise ceiling {bound}{{{NOISE}:.3f}}]]"
    names = "{layer_name_x} × {layer_name_y}"
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
                card=(names, "alignment {score:.3f}" + beside),
            ),
            Words("layer_y", "layer_x", "★", table=best, size=16, color=Fixed("paper")),
            Words(
                "layer_y",
                "layer_x",
                f"best: {names}, {{score:.3f}}{beside}",
                table=best.assign(layer_y=-0.5, layer_x=len(scores) - 0.2),
                side="middle right",
            ),
        ),
        x=PlotAxis(f"layer of {y.iloc[0]}", whole=True),
        y=PlotAxis(f"layer of {x.iloc[0]}", whole=True),
        height=max(250, 34 * len(scores) + 60),
        legend=False,
    ).over(table)
