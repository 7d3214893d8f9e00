"""The trend of alignment along an axis, and the layers of two models."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.figures.grammar import Axis as PlotAxis
from core.figures.grammar import (
    Dots,
    Facet,
    Fixed,
    Heat,
    Level,
    Line,
    Palette,
    Plot,
    Ribbon,
    Scale,
    Size,
    Symbols,
    Text,
)
from core.figures.theme import heading, wrap
from core.metrics.spec import MetricSpec
from core.questions.alignment.axes import Axis
from core.questions.alignment.points import NOISE, fits
from core.study.layers import LayerChoice, layer_matrix, pick

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon", "bowtie")
NO_LAYERS = "No pair of layers has an alignment here."
CARD = (
    "<b>{title_x}[[ ({parameters_x:count})]] × {title_y}[[ ({parameters_y:count})]]</b>",
    "alignment {score:.3f}[[, chance {chance:.3f}]]",
    "[[{share:.2f} of the way from chance to the ceiling]]",
    "[[95% interval over stimuli {low:.3f} to {high:.3f}]]",
)
CALIBRATED = (
    CARD[0],
    "calibrated alignment {score:.3f}",
    "raw score {raw:.3f}[[, chance {raw_chance:.3f}]]",
    "[[95% interval over stimuli {raw_low:.3f} to {raw_high:.3f}]]",
    "{p:p}, adjusted for all pairs {p_adjusted:p}",
)
SHARED = (CARD[0], "alignment {alignment:.3f}", "{share:.2f} of the way from chance to the ceiling")


def trend(points: pd.DataFrame, axis: Axis, *, label: str, bound: str = "") -> Plot:
    """Return alignment against what is on the axis, one panel per group of the models compared
    with; each line is one of these, wider if it is larger.

    points: of `core.questions.alignment.points.trend_points`, with what the answer knows more;
    symbol_x: another grouping of the models on the axis. label: of the score. bound: of
    noise_ceiling, see `core.study.noise.bound_of`.
    """
    points = points.sort_values("panel", key=lambda panel: panel == REALITY, kind="stable")
    lines = fits(points, axis)
    seen = points[points["axis"].notna() & points["score"].notna()]
    # better language models of any family follow each other, larger ones of several do not, nor do
    # vision models of several objectives
    follow = axis.is_competence and axis.side == "language"
    points = points.assign(run=points["model_y"] + ("" if follow else " " + points["group_x"]))
    bands, means = [], []
    for panel, fit in lines.items():
        if len(fit.band) and panel in set(seen["panel"]):
            bands.append(fit.band.assign(x=axis.unplace(fit.band["x"]), panel=panel))
            if (
                seen.loc[seen["panel"] == panel, "model_y"].nunique() > 1
            ):  # of one they are its dots
                means.append(fit.points.assign(x=axis.unplace(fit.points["x"]), panel=panel))
    band = pd.concat(bands) if bands else pd.DataFrame(columns=["x", "fit", "low", "high", "panel"])
    mean = pd.concat(means) if means else pd.DataFrame(columns=["x", "y", "panel"])
    symbol: str | Symbols = ""
    if "symbol_x" in points and points["symbol_x"].any():
        names = list(points["symbol_x"].unique())
        shapes = {name: SYMBOLS[place % len(SYMBOLS)] for place, name in enumerate(names)}
        symbol = Symbols("symbol_x", shapes, {name: name for name in names})
    card = CALIBRATED if "raw" in points else SHARED if "alignment" in points else CARD
    number = "{axis:count}" if axis.log else "{axis:.2f}"
    noise = f"noise ceiling {bound}"
    marks: tuple[Ribbon | Line | Dots, ...] = (
        Ribbon("x", "low", "high", table=band, color=Fixed("soft"), name="fit, 95% band"),
        Line("x", "fit", table=band, dash="dash", color=Fixed("soft"), name="fit, 95% band"),
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
            modality="" if symbol else "modality_x",
            symbol=symbol,
            size=Size("parameters_x", times=0.75),
            card=(
                *card,
                f"[[{noise}{{{NOISE}:.3f}}]]",
                f"{axis.short} {number}",
                "layers {layer_x} × {layer_y}",
            ),
            ids="{model_x} × {model_y}",
            select=("model_x", "model_y"),
        ),
    )
    if "published" in points:
        crosses = Dots(
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
        marks = (*marks, crosses)
    diamonds = Dots(
        "x",
        "y",
        table=mean,
        symbol="diamond",
        size=8,
        name="mean of the panel, fitted",
        card=("mean of the panel {y:.3f}",),
    )

    def note(rows: pd.DataFrame) -> str:
        fit = lines[str(rows["panel"].iloc[0])]
        numbers = f"Spearman {fit.spearman:.2f} · R² {fit.r2:.2f} · n = {fit.n}".replace("-", "−")
        text = wrap(fit.reason) if fit.reason else numbers
        ceilings = rows[NOISE].dropna() if NOISE in rows else pd.Series(dtype=float)
        ends = dict.fromkeys(f"{end:.2f}" for end in (ceilings.min(), ceilings.max()))
        return f"{text}<br>{noise}{' to '.join(ends)}" if len(ceilings) else text

    panels = list(dict.fromkeys(seen["panel"]))
    return Plot(
        f"Alignment and {axis.short}",
        marks=(*marks, diamonds),
        x=PlotAxis(axis.title, log=axis.log),
        y=PlotAxis(label, zero=True),
        facet=Facet(
            "panel",
            names={panel: heading(panel) for panel in panels},
            note=note,
            columns=2 if len(panels) == 4 else 3,
            share="xy",
        ),
        levels=(
            Level("chance"),
            Level("ceiling", "ceiling", name="ceiling {ceiling:.3g}"),
            Level(NOISE, "noise ceiling", name=_noise_name(bound), several=True),
        ),
        empty=_why_empty(points, axis),
        height=330 if len(panels) <= 3 else 265,
    ).over(points)


def _why_empty(points: pd.DataFrame, axis: Axis) -> str:
    if points.empty:
        return "No pair of models is chosen: pick at least one language model and one vision model."
    if points["score"].isna().all() and "alignment" in points:
        return "No ceiling is known here, so there is no share of the way to it."
    if points["score"].isna().all():
        return "No alignment can be computed for these models."
    if axis.is_competence and axis.side == "vision":
        return "None of these vision models was measured: platoscope probe does."
    if not axis.is_competence:
        return f"None of these {axis.models} has a value on this axis ({axis.short})."
    return (
        "Of none of these language models is the competence known: features made elsewhere and"
        " masked models have no bits per byte; say it by platoscope model set NAME --competence"
        " VALUE, or put another thing on the axis."
    )


def _noise_name(bound: str) -> str:
    """Return what the legend calls a noise ceiling, of which `bound` says that it is a bound."""
    return f"noise ceiling ({bound.strip()})" if bound else "noise ceiling"


def layer_map(table: pd.DataFrame, spec: MetricSpec, bound: str = "") -> Plot:
    """Return the alignment of every layer of one model with every layer of another; a star marks
    the best pair. table: the answer of `Alignment` with all layers, of two models.
    """
    several = len(table[["model_x", "model_y"]].drop_duplicates()) > 1
    if several or table["score"].isna().all():
        return Plot("Layers", marks=(), empty="Choose two models." if several else NO_LAYERS)
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
            Text("layer_y", "layer_x", "★", table=best, size=16, color=Fixed("paper")),
            Text(
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


def layer_profiles(table: pd.DataFrame, spec: MetricSpec, bound: str = "") -> Plot:
    """Return for each layer of either model, over its relative depth, how aligned it is with the
    layer of the other model that fits it best. table: as of `layer_map`.
    """
    scored = table.dropna(subset="score")
    if scored.empty:
        return Plot("Layers", marks=(), empty=NO_LAYERS)
    parts = []
    for side in "xy":
        best = scored.groupby(f"layer_{side}", as_index=False).agg(
            score=("score", "max" if spec.higher_is_more_aligned else "min"),
            name=(f"layer_name_{side}", "first"),
            title=(f"title_{side}", "first"),
        )
        last = max(int(table[f"layer_{side}"].max()), 1)
        parts.append(best.assign(depth=best[f"layer_{side}"] / last))
    titles = [str(part["title"].iloc[0]) for part in parts]
    colors = dict(zip(titles, ("text", "ember"), strict=False))
    return Plot(
        f"Depth of {titles[0]} and {titles[-1]}",
        marks=(
            Dots(
                "depth",
                "score",
                join=True,
                size=7,
                color=Palette("title", colors=colors),
                card=("{name}", "alignment {score:.3f}"),
            ),
        ),
        x=PlotAxis("relative depth: 0 the first layer, 1 the last"),
        y=PlotAxis("alignment with the other’s best layer"),
        levels=(
            Level("chance", table=table),
            Level(NOISE, "noise ceiling", name=_noise_name(bound), several=True),
        ),
    ).over(pd.concat(parts, ignore_index=True))
