"""Figures of deep linear networks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.figures.grammar import (
    Axis,
    Bars,
    Dots,
    Facet,
    Fixed,
    Heat,
    Level,
    Line,
    Mark,
    Palette,
    Plot,
    Scale,
)
from core.figures.theme import INK, Mode
from core.theory.deep_linear.runs import NO_NOISE, NOISE

ALIGNMENT = Axis("linear CKA", range=(0, 1.02))
CKA = Scale("alignment", "linear CKA", low=0.0, high=1.0)
RUNS = Palette("run", {NOISE: "ember", NO_NOISE: "soft", "entropic loss": "ember"})
MEASURES = {  # of a layer
    "proportion": "cosine of E[h hᵀ] and E[g gᵀ]",
    "offset": "λ* of the layer's scale",
    "gradients_apart": "gradient balance, ‖X − Y‖ / (‖X‖ + ‖Y‖)",
    "norm": "norm of W on its modes",
    "spread": "first over last variance of h",
}
STATEMENTS = {
    "within": "any two layers of one network",
    "between": "any two layers of both",
    "same_layer": "the same layer of both",
}


def main(preset: str, rows: str, table: pd.DataFrame) -> Plot:
    """Return the main figure of a table of `DeepLinear`."""
    if rows == "pairs":
        return layer_maps(table)
    if rows == "layers":
        return over_layers(table, "proportion")
    drawn = {
        "sgd": over_training,
        "theorem-1": over_training,
        "minima": other_minima,
        "sharpness": sharpness,
        "edge-of-stability": edge,
        "limits": limits,
        "hierarchy": hierarchy,
        "breakers": breakers,
    }
    return drawn.get(preset, broken)(table)


def melted(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return a row for each of these columns: panel, its name, and y."""
    kept = [name for name in table if name not in names]
    long = table.melt(kept, list(names), "panel", "y")
    return long.assign(panel=long["panel"].map(dict(names)))


def _steps(table: pd.DataFrame) -> Axis:
    """Return the axis of steps; 0 has no place on a logarithmic one."""
    return Axis("steps of training", log=bool(table["at"].max() > 1000))


def layer_maps(pairs: pd.DataFrame) -> Plot:
    """Draw the alignment of all hidden layers with all at the last moment, a panel for each run.
    pairs: row, column, alignment, and run or nothing.
    """
    facet = None
    for name in {"at", "strength", "value"} & set(pairs):
        pairs = pairs[pairs[name] == pairs[name].max()]
    if "run" in pairs:
        least = pairs.groupby("run")["alignment"].transform("min")
        pairs = pairs.assign(least=least)
        facet = Facet("run", note="least alignment {least:.2f}", share="xy")
    return Plot(
        "Alignment layer by layer",
        (
            Heat(
                "column",
                "row",
                CKA,
                label="{alignment:.2f}",
                card=("{row} with {column}: {alignment:.4f}",),
            ),
        ),
        x=Axis(names=True),
        y=Axis(names=True),
        facet=facet,
        row=30,
        empty="No alignment could be measured.",
        table=pairs,
    )


def over_training(looks: pd.DataFrame) -> Plot:
    """Draw least alignment, loss and entropy over training, a line per network."""
    panels = {
        "min_alignment": "Least alignment of any two layers",
        "excess_loss": "Loss above its floor",
        "entropy": "Entropy over its least",
    }
    high = Axis("", log=True)
    return Plot(
        "Least alignment, loss and entropy over training",
        (Line("at", "y", by="network", color=RUNS, card=("{run}, network {network}", "{y:.4g}")),),
        x=_steps(looks),
        y={"Least alignment of any two layers": ALIGNMENT}
        | {panels[name]: high for name in ("excess_loss", "entropy")},
        facet=Facet("panel"),
        height=260,
        table=melted(looks, panels),
    )


def over_layers(layers: pd.DataFrame, measure: str) -> Plot:
    """Draw a measure of each layer over training, a panel per network and a shade per layer, named
    at its line's end; dotted without noise. measure: a key of MEASURES.
    """
    rows = layers.dropna(subset=measure)
    rows = rows[rows["layer"] > 0].assign(name=[f"network {name}" for name in rows["network"]])
    shades = Palette("layer")
    marks: list[Mark] = []
    for runs, dash in (((NOISE, "entropic loss"), "solid"), ((NO_NOISE,), "dot")):
        query = f"run in {list(runs)}"
        ends = "{layer}" if dash == "solid" else ""
        card = ("{name}, layer {layer}, {run}", f"{{{measure}:.4g}}")
        marks.append(
            Line(
                "at", measure, by="layer", rows=query, color=shades, dash=dash, ends=ends, card=card
            )
        )
    return Plot(
        MEASURES[measure],
        tuple(marks),
        x=_steps(rows),
        y=Axis(MEASURES[measure], log=measure in ("norm", "spread")),
        facet=Facet("name"),
        legend=False,
        height=240,
        table=rows,
    )


def symmetry(looks: pd.DataFrame, *, at: float | None = None, least: float | None = None) -> Plot:
    """Draw entropy, loss and least alignment along a symmetry. at: the λ that is looked at; least:
    λ*.
    """
    panels = {
        "entropy": "Entropy S(λ) over the least of minima",
        "excess_loss": "Loss above its floor",
        "alignment": "Least alignment of the layers",
    }
    levels = []
    if least is not None and abs(least) <= looks["value"].max():
        levels.append(Level(least, "chance", f"λ* = {least:.3f}".replace("-", "−"), along="x"))
    if at is not None:
        levels.append(Level(at, "control", f"λ = {at:.2f}".replace("-", "−"), along="x"))
    top = max(1e-6, 2 * float(looks["excess_loss"].max()))
    return Plot(
        "Entropy, loss and alignment along a symmetry",
        (Line("value", "y", color=Fixed("ember"), card=("λ = {value:.2f}: {y:.4g}",)),),
        x=Axis("λ"),
        y={
            panels["entropy"]: Axis(),
            panels["excess_loss"]: Axis(range=(0, top)),
            panels["alignment"]: ALIGNMENT,
        },
        facet=Facet("panel"),
        levels=tuple(levels),
        height=240,
        table=melted(looks, panels),
    )


def sharpness(looks: pd.DataFrame) -> Plot:
    """Draw sharpness, entropy and alignment over the same time, for data on which noise sharpens
    (first row) and on which it flattens.
    """
    measures = {
        "sharpness": "sharpness",
        "entropy": "entropy over its least",
        "alignment": "alignment with the theorem's solution",
    }
    data = {"sharpens": "Little noise in strong modes", "flattens": "Ill-conditioned view"}
    long = melted(looks, measures)
    long["panel"] = long["data"].map(data) + ": " + long["panel"]
    names = [f"{kind}: {name}" for kind in data.values() for name in measures.values()]
    axes = {name: ALIGNMENT if "alignment" in name else Axis(log=True) for name in names}
    return Plot(
        "Sharpness, entropy and alignment over training",
        (Line("at", "y", color=RUNS, card=("{run}, {at:,} steps", "{y:.4g}")),),
        x=Axis("steps of training", log=True),
        y=axes,
        facet=Facet("panel", dict(zip(names, names, strict=True)), columns=3),
        height=230,
        table=long,
    )


def edge(looks: pd.DataFrame) -> Plot:
    """Draw sharpness over 2 / η, sharpness and alignment over η² · steps, a color per size of
    steps.
    """
    panels = {
        "edge": "Sharpness over 2 / η",
        "sharpness": "Sharpness",
        "alignment": "Alignment with the theorem's solution",
    }
    top = float(np.nanmax([1.1, looks["edge"].max() * 1.05]))
    sizes = sorted(looks["step"].unique(), reverse=True)
    colors = ["ember", "text", "soft", "language", "vision", "chance"]
    palette = Palette(
        "step",
        dict(zip(sizes, colors, strict=False)),
        {step: f"η = {step:.3g}" for step in sizes},
    )
    theory = float(looks["sharpness_theory"].iloc[0])
    return Plot(
        "Sharpness and alignment at the edge of stability",
        (Line("time", "y", color=palette, card=("η = {step:.3g}, {at:,} steps", "{y:.4g}")),),
        x=Axis("η² · steps", log=True),
        y={
            panels["edge"]: Axis(range=(0, top)),
            panels["sharpness"]: Axis(log=True),
            panels["alignment"]: ALIGNMENT,
        },
        facet=Facet("panel"),
        levels=(
            Level(1.0, "ceiling", "the edge, 2 / η", rows=f"panel == '{panels['edge']}'"),
            Level(theory, "control", "of the theorem's solution", rows="panel == 'Sharpness'"),
        ),
        height=260,
        table=melted(looks, panels),
    )


def broken(looks: pd.DataFrame) -> Plot:
    """Draw least and mean alignment over the strength of a breaker, measured and predicted."""
    kinds = {"": "least over layer pairs", "_mean": "mean over layer pairs"}
    long = pd.concat(
        [
            looks[["strength", f"measured{end}", f"predicted{end}"]]
            .set_axis(["strength", "measured", "predicted"], axis=1)
            .assign(kind=name, size=7 if end else 13)  # often on each other
            for end, name in kinds.items()
        ]
    )
    color = Palette("kind", dict(zip(kinds.values(), ("ember", "text"), strict=True)))
    return Plot(
        "Alignment as the theorem is broken",
        (
            Line("strength", "predicted", color=color, dash="dash", width=1.5),
            Dots(
                "strength",
                "measured",
                color=color,
                size="size",
                card=("{kind}: {measured:.4f}", "[[predicted {predicted:.4f}]]"),
            ),
        ),
        x=Axis("strength"),
        y=Axis("linear CKA between the networks", range=(-0.03, 1.02)),
        table=long,
    )


def breakers(looks: pd.DataFrame) -> Plot:
    """Draw the alignment that each way to break the theorem leaves, measured and predicted."""
    return Plot(
        "What breaks perfect alignment",
        (
            Dots(
                "predicted",
                "title",
                symbol="line-ns-open",
                size=14,
                name="predicted",
                color=Fixed("text"),
            ),
            Dots(
                "reached", "title", name="measured", color=Fixed("ember"), card=("{reached:.4f}",)
            ),
        ),
        x=ALIGNMENT,
        y=Axis(names=True),
        row=26,
        table=looks.sort_values("reached"),
    )


def limits(looks: pd.DataFrame) -> Plot:
    """Draw the least alignment over time and over η · time, a shade per size of steps; gradient
    flow is dashed.
    """
    panels = {"time": "Over time t = η · steps", "noise": "Over η · t"}
    long = looks.assign(noise=(looks["time"] * looks["step"]).where(looks["step"] > 0))
    kept = [name for name in long if name not in panels]
    long = long.melt(kept, list(panels), "panel", "x").assign(
        panel=lambda rows: rows["panel"].map(panels)
    )
    steps = sorted(long.loc[long["step"] > 0, "step"].unique())
    names = {step: f"SGD, η = {step:g}" for step in steps}
    card = ("η = {step:g}, {at:,} steps", "{min_alignment:.4f}")
    return Plot(
        "Alignment by size of steps and time",
        (
            Line(
                "x",
                "min_alignment",
                rows="step == 0",
                name="gradient flow, η → 0",
                dash="dash",
                card=card,
            ),
            Line(
                "x", "min_alignment", rows="step > 0", color=Palette("step", names=names), card=card
            ),
        ),
        x={name: Axis("", log=True) for name in panels.values()},
        y=Axis("least linear CKA", range=(0, 1.02)),
        facet=Facet("panel"),
        table=long,
    )


def hierarchy(looks: pd.DataFrame) -> Plot:
    """Draw how far the statements of the theorem hold: ways of training (rows) by what differs
    between two networks (columns).
    """
    table = looks.assign(within=looks[["within_a", "within_b"]].min(axis=1))
    long = melted(table, STATEMENTS).rename(columns={"y": "alignment"})
    return Plot(
        "What layers depend on, by way of training",
        (
            Heat(
                "differs",
                "training",
                CKA,
                label="{alignment:.2f}",
                card=("{training}, networks that differ in {differs}: {alignment:.4f}",),
            ),
        ),
        x=Axis(names=True),
        y=Axis(names=True),
        facet=Facet("panel", columns=3),
        row=40,
        table=long,
    )


def other_minima(looks: pd.DataFrame) -> Plot:
    """Draw the least alignment of other minima as a histogram, with SGD's marked."""
    drawn = looks.loc[looks["by"] == "chance", "min_alignment"]
    counts, edges = np.histogram(drawn, bins=np.linspace(0, 1, 41))
    bars = pd.DataFrame({"x": (edges[:-1] + edges[1:]) / 2, "minima": counts})
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
        table=bars,
    )


def played(pairs: pd.DataFrame, mode: Mode, *, narrow: bool) -> go.Figure:
    """Draw the layer maps after training, with a slider and a button that play it from the start.
    pairs: of all moments.
    """
    moments = sorted(pairs["at"].unique())
    drawn = [layer_maps(pairs[pairs["at"] == at]).draw(mode, narrow) for at in moments]
    names = [f"{at:,}" for at in moments]
    figure = drawn[-1]
    figure.frames = [
        go.Frame(data=one.data, layout={"annotations": one.layout.annotations}, name=name)
        for one, name in zip(drawn, names, strict=True)
    ]
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}}
    steps = [{"label": name, "method": "animate", "args": [[name], still]} for name in names]
    play = {"fromcurrent": False, "frame": {"duration": 450, "redraw": True}}
    button = {"label": "▶ Play", "method": "animate", "args": [names, play]}
    place = {"x": 0, "y": 0, "xanchor": "left", "yanchor": "top"}
    look = {"bgcolor": INK[mode].paper, "bordercolor": INK[mode].soft, "font": {"size": 12}}
    ink = {"font": {"size": 11}, "bgcolor": INK[mode].soft, "bordercolor": INK[mode].soft}
    slider = {
        "steps": steps,
        "active": len(steps) - 1,
        "currentvalue": {"prefix": "steps of training: ", "font": {"size": 13}},
        "pad": {"l": 90, "t": 34},
        **{"x": 0, "len": 1, "y": 0},
        **ink,
    }
    menu = {"type": "buttons", "buttons": [button], "pad": {"t": 48}, "showactive": False}
    figure.update_layout(sliders=[slider], updatemenus=[menu | place | look])
    return figure.update_layout(height=figure.layout.height + 90)
