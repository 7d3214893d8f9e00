"""What better models buy, as figures."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.figures.grammar import Axis, Dots, Facet, Level, Line, Palette, Plot
from core.modalities import LANGUAGE
from core.questions.benefits.transfer import MEAN

SIZE = Axis("parameters", log=True, ticks=(50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000))
KINDS = Palette(
    "kind",
    {"without": "soft", "with transfer": "CLIP"},
    {name: f"{name}, mean and seeds" for name in ("without", "with transfer")},
)
TRANSFER = Plot(
    "Transfer between modalities",
    marks=(
        Dots("events", "score", rows=f"seed != '{MEAN}'", color=KINDS, size=6, opacity=0.55),
        Line("events", "score", rows=f"seed == '{MEAN}'", color=KINDS),
        Dots(
            "events",
            "score",
            rows=f"seed == '{MEAN}'",
            color=KINDS,
            symbol="diamond",
            size=10,
            card=("<b>{kind}</b>", "{score:.3f}, mean over the seeds"),
            ids="{learner}, {events:,} events",
        ),
    ),
    facet=Facet(
        "modality",
        {
            "language": "Language models that learn from images",
            "vision": "Vision models that learn from captions",
        },
    ),
    x={
        "language": Axis("captioned events seen", log=True, ticks="data"),
        "vision": Axis("images seen", log=True, ticks="data"),
    },
    y={
        "language": Axis("1 − bits per byte of captions"),
        "vision": Axis("share of tasks solved"),
    },
    empty="No learner here was trained with and without transfer.",
)
BIAS = Plot(
    "Bias over size",
    marks=(
        Line("parameters", "value", rows="model != ''", color="family", by="line", mean="recipe"),
        Dots(
            "parameters",
            "value",
            rows="model != ''",
            color="family",
            modality=LANGUAGE,
            card=("<b>{title}</b>", "{value:.3f}"),
            ids="{model}",
            select=("model",),
        ),
    ),
    facet=Facet(
        "measure",
        note="{rise:+.3f} per tenfold · {p:p} || {trend_reason:wrap}",
    ),
    x=SIZE,
    y={
        "distance from the law": Axis("total variation distance from the world's own colors"),
        "amplification": Axis("probability of the most common color, model − world"),
    },
    levels=(
        Level(0.0, "zero"),
        Level("value", "control", "{title}", rows="model == ''", several=True, say=True),
    ),
    empty="No language model here could be measured.",
)
HALLUCINATION = replace(
    BIAS,
    title="Hallucination over size",
    y={
        "impossible captions": Axis("share of captions of impossible events", percent=True),
        "no caption": Axis("share of texts that do not begin with a caption", percent=True),
    },
)


def transfer(table: pd.DataFrame) -> Plot:
    """Draw how good learners are over the data they saw, with transfer and without: means over the
    seeds, and the seeds as small dots. table: rows of `Transfer`.
    """
    scores = {"without": "without", "with_transfer": "with transfer"}
    kept = ["modality", "learner", "events", "seed"]
    long = table.rename(columns=scores).melt(kept, list(scores.values()), "kind", "score")
    return TRANSFER.over(long)


def over_size(plot: Plot, table: pd.DataFrame) -> Plot:
    """Draw each measure of language models over their size: a line per family through the means
    over seeds, and controls, which have no model, from edge to edge. table: rows of `Bias` or
    `Hallucination`.
    """
    family = table["line"].str.replace(r" (language|masked)$", "", regex=True)
    return plot.over(table.assign(family=family))
