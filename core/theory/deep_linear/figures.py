"""Figures of deep linear networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.drawing import play
from core.figures.grammar import (
    Axis,
    Bars,
    Dots,
    Facet,
    Fixed,
    Heat,
    Level,
    Line,
    Palette,
    Plot,
    Scale,
)
from core.figures.theme import Mode
from core.theory.deep_linear.setup import DATA, NO_NOISE, NOISE

ALIGNMENT = Axis("linear CKA", range=(0, 1.02))
CKA = Scale("alignment", "linear CKA", low=0.0, high=1.0)
RUNS = Palette("run", {NOISE: "ember", NO_NOISE: "soft", "entropic loss": "ember"})
HIGH = Axis(log=True)
STEPS = Axis("steps of training", log=True)
SINGLE = "h"  # a network alone, in the names of its layers
STATEMENTS = {
    "within": "any two layers of one network",
    "between": "any two layers of both",
    "same_layer": "the same layer of both",
}


def _panels(
    title: str, line: Line, table: pd.DataFrame, columns: Mapping[str, tuple[str, Axis]], x: Axis
) -> Plot:
    """Draw a line in a panel for each column, given the panel's name and y axis."""
    names = {column: name for column, (name, _) in columns.items()}
    return Plot(
        title,
        (line,),
        x=x,
        y=dict(columns.values()),
        facet=Facet("panel", columns=3),
        height=240,
        table=_long(table, names),
    )


def _long(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    kept = [column for column in table if column not in names]
    long = table.melt(kept, list(names), "panel", "y")
    return long.assign(panel=long["panel"].map(dict(names)))


def layer_maps(pairs: pd.DataFrame) -> Plot:
    """Draw the alignment of all hidden layers with all at the last moment, a panel for each run."""
    facet = None
    for name in {"at", "strength", "value"} & set(pairs):
        pairs = pairs[pairs[name] == pairs[name].max()]
    if "run" in pairs:
        pairs = pairs.assign(least=pairs.groupby("run")["alignment"].transform("min"))
        facet = Facet("run", note="least {least:.2f}", share="xy")
    card = ("{row} with {column}: {alignment:.4f}",)
    scale = CKA if facet else replace(CKA, bar=False)  # few cells have their numbers
    return Plot(
        "Alignment layer by layer",
        (Heat("column", "row", scale, label="{alignment:.2f}", card=card),),
        x=_layer_axis(pairs["column"]),
        y=_layer_axis(pairs["row"], upright=True),
        facet=facet,
        row=22,
        table=pairs,
    )


def _layer_axis(layers: pd.Series, *, upright: bool = False) -> Axis:
    """Name a network at its first layer alone, and all layers by their numbers.

    layers: such as a1, a2, b1; of a single network h1, h2, and other words.
    """
    names = dict[str, str]()
    for layer in layers.unique():
        network, number = layer[0], layer[1:]
        if not number.isdecimal():
            names[layer] = layer
        elif network == SINGLE:
            names[layer] = f"layer {number}"
        elif number != "1":
            names[layer] = number
        else:
            names[layer] = f"network {network}, layer 1" if upright else f"{network} 1"
    return Axis(names=names)


def played(pairs: pd.DataFrame, mode: Mode, narrow: bool = False) -> go.Figure:
    """Draw the layer maps after training, with a slider and a button that play all moments."""
    moments = sorted(pairs["at"].unique())
    drawn = [layer_maps(pairs[pairs["at"] == at]).draw(mode, narrow) for at in moments]
    names = [f"{at:,}" for at in moments]
    return play(drawn, names, mode, prefix="steps of training: ", active=len(names) - 1)


def over_training(looks: pd.DataFrame) -> Plot:
    """Draw least alignment, loss and entropy over training, a line per network."""
    columns = {
        "min_alignment": ("Least alignment of any two layers", ALIGNMENT),
        "excess_loss": ("Loss above its floor", HIGH),
        "entropy": ("Entropy over its least", HIGH),
    }
    card = ("{run}, network {network}", "{y:.4g}")
    line = Line("at", "y", by="network", color=RUNS, card=card)
    return _panels("Least alignment, loss and entropy over training", line, looks, columns, STEPS)


def over_layers(layers: pd.DataFrame) -> Plot:
    """Draw how proportional E[h hᵀ] and E[g gᵀ] are over training, a shade per layer."""
    rows = layers.dropna(subset="proportion").query("layer > 0")
    rows = rows.assign(name="network " + rows["network"])
    line = Line(
        "at",
        "proportion",
        by="layer",
        color=Palette("layer"),
        card=("{name}, layer {layer}, {run}", "{proportion:.4g}"),
    )
    return Plot(
        "Cosine of E[h hᵀ] and E[g gᵀ]",
        (
            replace(line, rows=f"run != {NO_NOISE!r}", ends="{layer}"),
            replace(line, rows=f"run == {NO_NOISE!r}", dash="dot"),
        ),
        x=STEPS,
        y=Axis("cosine of E[h hᵀ] and E[g gᵀ]"),
        facet=Facet("name"),
        legend=False,
        height=240,
        table=rows,
    )


def symmetry(looks: pd.DataFrame, *, at: float | None = None, least: float | None = None) -> Plot:
    """Draw entropy, loss and least alignment along a symmetry, with two marks: at, least (λ*)."""
    top = max(1e-6, 2 * float(looks["excess_loss"].max()))
    columns = {
        "entropy": ("Entropy S(λ)", Axis()),
        "excess_loss": ("Loss", Axis(range=(0, top))),
        "alignment": ("Least CKA", Axis(range=ALIGNMENT.range)),
    }
    line = Line("value", "y", color=Fixed("ember"), card=("λ = {value:.2f}: {y:.4g}",))
    title = "Entropy, loss and alignment along a symmetry"
    levels = []
    if least is not None and abs(least) <= looks["value"].max():
        levels.append(
            Level(least, "chance", f"least entropy, λ* = {least:.3f}".replace("-", "−"), along="x")
        )
    if at is not None:
        levels.append(
            Level(at, "control", f"layers shown, λ = {at:.2f}".replace("-", "−"), along="x")
        )
    return replace(_panels(title, line, looks, columns, Axis("λ")), levels=tuple(levels))


def sharpness(looks: pd.DataFrame) -> Plot:
    """Draw sharpness, entropy and alignment over the same time, a row for each data."""
    measures = {"sharpness": "sharpness", "entropy": "entropy over its least"}
    measures["alignment"] = "alignment with the theorem's solution"
    long = _long(looks, measures)
    long["panel"] = long["data"].map(DATA) + ": " + long["panel"]
    names = [f"{data}: {measure}" for data in DATA.values() for measure in measures.values()]
    return Plot(
        "Sharpness, entropy and alignment over training",
        (Line("at", "y", color=RUNS, card=("{run}, {at:,} steps", "{y:.4g}")),),
        x=STEPS,
        y={name: ALIGNMENT if "alignment" in name else HIGH for name in names},
        facet=Facet("panel", dict(zip(names, names, strict=True)), columns=3),
        height=230,
        table=long,
    )


def edge(looks: pd.DataFrame) -> Plot:
    """Draw sharpness over 2 / η, sharpness and alignment over time, a color per size of steps."""
    sizes = sorted(looks["step"].unique(), reverse=True)
    colors = dict(
        zip(sizes, ("ember", "text", "soft", "language", "vision", "chance"), strict=False)
    )
    palette = Palette("step", colors, {step: f"η = {step:.3g}" for step in sizes})
    top = float(np.nanmax([1.1, looks["edge"].max() * 1.05]))
    columns = {
        "edge": ("Sharpness over 2 / η", Axis(range=(0, top))),
        "sharpness": ("Sharpness", HIGH),
        "alignment": ("Alignment with the theorem's solution", ALIGNMENT),
    }
    line = Line("time", "y", color=palette, card=("η = {step:.3g}, {at:,} steps", "{y:.4g}"))
    title = "Sharpness and alignment at the edge of stability"
    plot = _panels(title, line, looks, columns, Axis("η² · steps", log=True))
    panel = plot.table["panel"]  # each level in its own
    marked = plot.table.assign(
        limit=panel.map({"Sharpness over 2 / η": 1.0}),
        solution=plot.table["sharpness_theory"].where(panel == "Sharpness"),
    )
    levels = (
        Level("limit", "ceiling", "the edge, 2 / η"),
        Level("solution", "control", "of the theorem's solution"),
    )
    return replace(plot, levels=levels, table=marked)


def broken(looks: pd.DataFrame) -> Plot:
    """Draw alignment over the strength of a breaker, measured (dots) and predicted (dashed)."""
    color = Fixed("ember")
    card = ("{measured:.4f}", "[[predicted {predicted:.4f}]]")
    return Plot(
        "Alignment as the theorem is broken",
        (
            Line("strength", "predicted", color=color, dash="dash", width=1.5, name="predicted"),
            Dots("strength", "measured", color=color, size=11, card=card, name="measured"),
        ),
        x=Axis("strength"),
        y=Axis("least linear CKA of the networks", range=(-0.03, 1.02)),
        table=looks,
    )


def breakers(looks: pd.DataFrame) -> Plot:
    """Draw the alignment that each way to break the theorem leaves, measured and predicted."""
    seen = Dots("reached", "title", name="measured", color=Fixed("ember"), card=("{reached:.4f}",))
    theory = Dots("predicted", "title", symbol="line-ns-open", size=14, name="predicted")
    return Plot(
        "What breaks perfect alignment",
        (theory, seen),
        x=ALIGNMENT,
        y=Axis(names=True),
        row=26,
        table=looks.sort_values("reached"),
    )


def limits(looks: pd.DataFrame) -> Plot:
    """Draw the least alignment over time and over η · time, a shade per size of steps."""
    panels = {"time": "Over time t = η · steps", "noise": "Over η · t"}
    wide = looks.assign(noise=(looks["time"] * looks["step"]).where(looks["step"] > 0))
    steps = sorted(looks.loc[looks["step"] > 0, "step"].unique())
    shades = Palette("step", names={step: f"SGD, η = {step:g}" for step in steps})
    flow = Line("y", "min_alignment", rows="step == 0", name="gradient flow, η → 0", dash="dash")
    card = ("η = {step:g}, {at:,} steps", "{min_alignment:.4f}")
    return Plot(
        "Alignment by size of steps and time",
        (flow, Line("y", "min_alignment", rows="step > 0", color=shades, card=card)),
        x=dict.fromkeys(panels.values(), HIGH),
        y=Axis("least linear CKA", range=(0, 1.02)),
        facet=Facet("panel"),
        table=_long(wide, panels),
    )


def hierarchy(looks: pd.DataFrame) -> Plot:
    """Draw the least alignment by way of training (rows) and what differs (columns)."""
    table = looks.assign(within=looks[["within_a", "within_b"]].min(axis=1))
    card = ("{training}, networks that differ in {differs}: {alignment:.4f}",)
    return Plot(
        "What layers depend on, by way of training",
        (Heat("differs", "training", CKA, label="{alignment:.2f}", card=card),),
        x=Axis(names=True),
        y=Axis(names=True),
        facet=Facet("panel", columns=3),
        row=40,
        table=_long(table, STATEMENTS).rename(columns={"y": "alignment"}),
    )


def other_minima(looks: pd.DataFrame) -> Plot:
    """Draw the least alignment of other minima as a histogram, with SGD's marked."""
    drawn = looks.loc[looks["by"] == "chance", "min_alignment"]
    counts, edges = np.histogram(drawn, bins=np.linspace(0, 1, 41))
    reached = float(looks.loc[looks["by"] == "SGD", "min_alignment"].iloc[0])
    return Plot(
        "Alignment of other minima of the same loss",
        (Bars("x", "minima", color=Fixed("soft"), card=("{minima} minima near {x:.2f}",)),),
        x=Axis("least linear CKA of the two networks' layers", range=(0, 1.02)),
        y=Axis("minima", zero=True),
        levels=(
            Level(reached, "control", f"SGD: {reached:.3f}", along="x"),
            Level(1.0, "ceiling", "least entropy", along="x"),
        ),
        table=pd.DataFrame({"x": (edges[:-1] + edges[1:]) / 2, "minima": counts}),
    )
