"""Figures of adapters: alignment before and after, training pairs, retrieval, kernels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.figures.grammar import (
    Axis,
    Dots,
    Facet,
    Fixed,
    Heat,
    Level,
    Line,
    Palette,
    Plot,
    Scale,
    Symbols,
)
from core.questions.adapters.baselines import METHODS
from core.questions.adapters.kernels import AFTER, BEFORE, REFERENCE
from core.questions.adapters.maps import DEPTHS
from core.questions.adapters.measures import (
    ADAPTERS,
    ALIGNMENT,
    AVERAGE,
    CENTERED,
    CHANCE,
    ENCODERS,
    GAIN,
    MEAN,
    PAIRS,
    RANK,
    RECALL,
)
from core.questions.adapters.measures import BEFORE as WITHOUT
from core.questions.adapters.measures import REFERENCE as TRUTH

AVERAGE_BEFORE = "average before"
SEEN = (2, 98)  # percentiles of the products between which a kernel's colors lie
DRAWN = 64  # stimuli of a kernel
SHAPES = ("diamond", "square", "triangle-up", "cross", "x")
RECALLS = f"{RECALL}_10"


def gain_plot(table: pd.DataFrame, label: str) -> Plot:
    """Draw alignment with the reference before and in the common space, a row per encoder, with
    the interval of the gain around the value reached; a panel per set of encoders and reference.

    table: of `Adaptation`, of one number of pairs.
    """
    keys = [ENCODERS, TRUTH, "what"]
    rows = table[table["measure"] == ALIGNMENT]
    gains = table[table["measure"] == GAIN].set_index(keys)[["value", "low", "high"]]
    rows = rows.drop(columns=["low", "high"]).join(
        gains.add_prefix("gain_").rename(
            columns={"gain_value": "gain", "gain_low": "low", "gain_high": "high"}
        ),
        on=keys,
    )
    for name, method in (("before", WITHOUT), ("chance", CHANCE)):
        level = rows[(rows["method"] == method) & (rows["what"] == AVERAGE)]
        rows = rows.join(level.set_index(keys[:2])["value"].rename(name), on=keys[:2])
    rows = rows[rows["what"] != AVERAGE]
    rows = rows.assign(
        left=rows["value"] - rows["gain"] + rows["low"],
        right=rows["value"] - rows["gain"] + rows["high"],
        set=rows[ENCODERS] + ", reference " + rows[TRUTH],
    )
    marks = {
        WITHOUT: ("before", "soft", "circle-open"),
        CENTERED: ("before, centered", "soft", "diamond-open"),
        ADAPTERS: ("common space, 95% CI of the gain", "ember", "circle"),
    }
    several = rows["set"].nunique() > 1
    return Plot(
        "Alignment with the reference before and after",
        marks=tuple(
            Dots(
                "value",
                "title",
                rows=f"method == '{method}'",
                color=Fixed(color),
                symbol=shape,
                size=11,
                name=name,
                card=(
                    "<b>{title}</b>",
                    f"{name}: {{value:.3f}}",
                    "gain {gain:+.3f}[[ [{low:+.3f}, {high:+.3f}]]]",
                )[: 3 if method == ADAPTERS else 2],
                ids="{what}",
                left="left" if method == ADAPTERS else "",
                right="right" if method == ADAPTERS else "",
            )
            for method, (name, color, shape) in marks.items()
        ),
        x=Axis(label, zero=True),
        y=Axis("", names=True),
        facet=Facet("set", columns=2, share="x") if several else None,
        levels=(
            Level("before", "control", name=AVERAGE_BEFORE, along="x"),
            Level("chance", along="x"),
        ),
        empty="No alignment can be computed on the test stimuli.",
        row=56,
    ).over(rows)


def curve_plot(table: pd.DataFrame, label: str) -> Plot:
    """Draw alignment of the mean and recall at 10 by the number of training pairs, next to the
    baselines.
    """
    align, recall = (table[table["measure"] == name] for name in (ALIGNMENT, RECALLS))
    after = align[(align["method"] == ADAPTERS) & (align["what"] == MEAN)]
    before = align[(align["method"] == WITHOUT) & (align["what"] == AVERAGE)]
    rows = pd.concat(
        [
            after.assign(part="alignment"),
            before.assign(part="alignment", method=AVERAGE_BEFORE),
            recall[recall["method"] != CHANCE].assign(part="recall"),
        ]
    )
    rows = rows.groupby(["part", "method", PAIRS], sort=False)["value"].mean().reset_index()
    chances = {
        name: part.loc[part["method"] == CHANCE, "value"].mean()
        for name, part in (("alignment", align), ("recall", recall))
    }
    colors = {ADAPTERS: "ember", AVERAGE_BEFORE: "text", **dict.fromkeys(METHODS, "soft")}
    shapes = {ADAPTERS: "circle", AVERAGE_BEFORE: "circle-open"}
    palette = Palette("method", colors)
    return Plot(
        "What training pairs are worth",
        marks=(
            Line(PAIRS, "value", by="method", color=palette),
            Dots(
                PAIRS,
                "value",
                color=palette,
                symbol=Symbols("method", {**shapes, **dict(zip(METHODS, SHAPES, strict=True))}),
                card=("{method}: {value:.3f} with {pairs:,} pairs",),
            ),
        ),
        x=Axis("training pairs", log=True, ticks="data"),
        y={"alignment": Axis(label, zero=True), "recall": Axis("recall at 10", zero=True)},
        facet=Facet("part", {"alignment": "Alignment of the mean", "recall": "Retrieval"}),
        levels=(Level("chance"),),
        height=330,
    ).over(rows.assign(chance=rows["part"].map(chances)))


def retrieval_plot(table: pd.DataFrame) -> Plot:
    """Draw recall at 10 of adapters and baselines, a dot per direction."""
    measured = [*(f"{RECALL}_{k}" for k in DEPTHS), RANK]
    rows = table[table["measure"].isin(measured)].drop_duplicates(
        [ENCODERS, PAIRS, "what", "method", "measure"]
    )
    keys = [ENCODERS, PAIRS, "what", "title", "method"]
    wide = rows.set_index([*keys, "measure"])["value"].unstack().reset_index()
    chance = wide.loc[wide["method"] == CHANCE, RECALLS].mean()
    shown = wide[wide["method"] != CHANCE].assign(chance=chance)
    return Plot(
        "Retrieval by adapters and by methods without training",
        marks=(
            Dots(
                RECALLS,
                "method",
                color=Palette("title"),
                size=10,
                card=(
                    "<b>{method}</b>, {title}",
                    "recall at 1, 5, 10: {recall_1:.3f}, {recall_5:.3f}, {recall_10:.3f}",
                    "median rank {median_rank:.1f}",
                ),
            ),
        ),
        x=Axis("recall at 10", zero=True),
        y=Axis("", names=(ADAPTERS, *METHODS)),
        levels=(Level("chance", along="x"),),
        row=36,
    ).over(shown)


def course_plot(table: pd.DataFrame) -> Plot:
    """Draw the loss by epoch of a training that goes on."""
    rows = table.melt("epoch", var_name="of", value_name="loss")
    return Plot(
        "Training of the adapters",
        marks=(Line("epoch", "loss", by="of", color=Palette("of")),),
        x=Axis("epoch", whole=True),
        y=Axis("InfoNCE in nats", zero=True),
        height=240,
    ).over(rows)


def kernel_plot(table: pd.DataFrame, unit: str) -> Plot:
    """Draw kernels over the same stimuli in the same order, each in colors of its own range; of
    more than DRAWN stimuli every second, third, …
    """
    heads = {REFERENCE: "{title} (reference)", BEFORE: "{title}", AFTER: "{title}, common space"}
    parts = []
    for (when, _), rows in table.groupby(["when", "what"], sort=False):
        shown = rows["x"].unique()
        shown = shown[:: -(-len(shown) // DRAWN)]
        order = {stimulus: place for place, stimulus in enumerate(shown)}
        rows = rows[rows["x"].isin(order) & rows["y"].isin(order)]
        low, high = np.percentile(rows.loc[rows["x"] != rows["y"], "product"], SEEN)
        parts.append(
            rows.assign(
                kernel=f"{when} {rows['what'].iloc[0]}",
                head=heads[str(when)].format(title=rows["title"].iloc[0]),
                across=rows["y"].map(order),
                down=len(order) - 1 - rows["x"].map(order),
                shade=rows["product"].clip(low, max(high, low + 1e-6)),
            )
        )
    return Plot(
        "Kernels before and after adapters",
        marks=(
            Heat(
                "across",
                "down",
                z=Scale("shade", bar=False),
                card=(f"{{x}} and {{y}}: {unit} {{product:.3g}}",),
            ),
        ),
        x=Axis(bare=True),
        y=Axis(bare=True, equal=True),
        facet=Facet(
            "kernel",
            head="<b>{head}</b>",
            note="alignment {alignment:.3f} || ",
            columns=3,
            share="",
        ),
        height=240,
    ).over(pd.concat(parts))
