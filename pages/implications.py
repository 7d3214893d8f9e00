"""Implications: transfer, bias and hallucination as models get better."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.questions.benefits import ModelColors, Transfer, Trends
from pages._shared import controls, frame, queries, section
from pages._shared.address import fragment
from pages._shared.controls import Look
from pages._shared.queries import Place

POINTS = """Points are learners (transfer) or language models; lines join one learner or one
family. Bars: 95% CI over seeds."""
TRENDS = """Transfer: a learner also predicts, by a linear map, how a frozen model of the other
modality represents the same items; the gain is its score minus that without transfer (95% CI over
seeds). Bias: distance between the colors that a model expects and the world's law. Hallucination:
share of freely written captions that no scene can match; lines join a family's means."""
CURVES = "Small points are seeds, diamonds their means."
TRANSFER = """The exchange rate is how many extra
training examples one cross-modal example is worth, interpolated on the curve without transfer and
never extrapolated."""
COLORS = """The model completes “There is a car painted” for every kind of object. Its
probabilities of the colors are renormalized and averaged over the words for a kind."""


def show(at: Place) -> None:
    """Draw section 5 of Huh et al. (2024): trends, exchange rates and one model's color law."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    table = pd.DataFrame(columns=list(Trends.columns))
    with frame.part():
        found = section.draw(
            at, Trends(at.scope), key="trends", caption=POINTS, methods=TRENDS, lead=2
        )
        table = found.table if found else table
    if (table["panel"] == "transfer").any():
        with frame.part():
            header = "Exchange rate: what is transfer worth?"
            section.draw(
                at,
                Transfer(at.scope),
                key="transfer",
                header=header,
                caption=CURVES,
                methods=TRANSFER,
            )
    measured = table.loc[(table["panel"] == "bias") & table["y"].notna(), "model"]
    if len(measured):
        _colors(at, list(measured))


@fragment
def _colors(at: Place, measured: list[str]) -> None:
    with frame.part():
        models = queries.models(at)
        models = models[models["model"].isin(measured)]
        st.header("Color law by kind of object", anchor=False)
        largest = models.loc[models["parameters"].idxmax(), "model"]
        labels = models.set_index("model")["title"].to_dict()
        help = "The language model that is asked for colors (default: the largest)."
        look = Look(label="Model", labels=labels, start=largest, help=help, width=320)
        model = controls.pick_option(controls.option_named(ModelColors, "model"), look)
        section.draw(at, ModelColors(at.scope, model), key="colors", methods=COLORS)


frame.draw("What follows: transfer, bias, hallucination?", show)
