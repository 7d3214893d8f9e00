"""Figures of contrastive learners."""

from __future__ import annotations

import pandas as pd

from core.figures.grammar import (
    Axis,
    Dots,
    Facet,
    Fixed,
    Heat,
    Line,
    Palette,
    Plot,
    Scale,
    Symbols,
)

VIEWS = {"lossy": "events merged", "noisy": "noisy", "shuffled": "shuffled pairs"}
_COLORS = Palette("view", {"lossy": "ember", "noisy": "text", "shuffled": "soft"}, VIEWS)
_UNIT = (0, 1.02)  # of axes from 0 to 1, so that a point at 1 is whole


def kernels(table: pd.DataFrame) -> Plot:
    """Draw the PMI kernel next to the learned products, each on its own scale since slope and
    offset are free.
    """
    names = {"pmi": "K PMI, in nats", "learned": "learned ⟨f(a), f(b)⟩"}
    long = table.melt(["first", "second"], list(names), "panel", "z")
    axis = Axis("event")
    return Plot(
        "PMI kernel and learned products",
        (Heat("first", "second", Scale("z", bar=False), card=("{first}, {second}: {z:.3f}",)),),
        x=axis,
        y=Axis("event", reversed=True),
        facet=Facet("panel", names, share="xy"),
        height=330,
        table=long,
    )


def products(table: pd.DataFrame) -> Plot:
    """Draw the learned product of every pair of events against its PMI, with the fit."""
    ends = pd.DataFrame({"pmi": [table["pmi"].min(), table["pmi"].max()]})
    ends["learned"] = table["slope"].iloc[0] * ends["pmi"] + table["offset"].iloc[0]
    card = ("events {first} and {second}", "PMI {pmi:.3f}, learned {learned:.3f}")
    kinds = (
        ("first < second", "two events", "soft", 5, "circle"),
        ("first == second", "an event with itself", "ember", 7, "diamond"),
    )
    return Plot(
        "Learned products against PMI",
        (
            *(
                Dots(
                    *("pmi", "learned"),
                    rows=rows,
                    name=name,
                    color=Fixed(color),
                    size=size,
                    symbol=symbol,
                    card=card,
                )
                for rows, name, color, size, symbol in kinds
            ),
            Line("pmi", "learned", table=ends, name="least-squares fit", dash="dash", width=1.5),
        ),
        x=Axis("K PMI, in nats"),
        y=Axis("learned ⟨f(a), f(b)⟩"),
        height=380,
        table=table,
    )


def information(table: pd.DataFrame, measure: str = "cka") -> Plot:
    """Draw alignment of two modalities over the mutual information that is left: dots measured,
    dashed lines predicted, dotted ones unrelated pairs. measure: "cka" or "mutual_knn".
    """
    predicted = (Line("bits", "predicted", color=_COLORS, dash="dash", width=1.5),)
    chance = {"cka": "chance_cka", "mutual_knn": "chance_knn"}[measure]
    return Plot(
        "Alignment over what is left to know",
        (
            *(predicted if measure == "cka" else ()),
            Dots(
                "bits",
                measure,
                color=_COLORS,
                size=10,
                symbol=Symbols(
                    "view", dict(zip(VIEWS, ("circle", "square", "diamond"), strict=True))
                ),
                card=("{view}, {share:.0%} lost", f"{{{measure}:.3f}}"),
            ),
            Line(
                "bits", chance, by="view", color=Fixed("chance"), dash="dot", name="unrelated pairs"
            ),
        ),
        x=Axis("mutual information left, in bits", zero=True),
        y=Axis({"cka": "CKA", "mutual_knn": "mutual k-NN"}[measure], range=_UNIT),
        height=380,
        table=table,
    )


def widths(table: pd.DataFrame) -> Plot:
    """Draw R² over the width of the embedding, with the best that the width allows."""
    return Plot(
        "R² over width",
        (
            Line("width", "best", color=Fixed("soft"), dash="dash", name="best of any embedding"),
            Dots(
                "width",
                "r2",
                color=Fixed("ember"),
                name="learned",
                card=("width {width}: {r2:.4f}",),
            ),
        ),
        x=Axis("width of the embedding"),
        y=Axis("R² against K PMI", range=_UNIT),
        table=table,
    )
