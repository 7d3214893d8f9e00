"""Implications: transfer, bias and hallucination as models get better."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd

from core.errors import NotApplicableError
from core.questions.benefits import Benefits, in_short, overview, uniform_distance
from pages._shared import controls, facts, frame, queries, section
from pages._shared.address import fragment
from pages._shared.queries import Place

POINTS = """Points: trainings; lines: means of a learner or family. Bars: 95% CI over seeds. Dotted:
chance (uniform colors)."""
METHODS = """Points are learners (transfer) or language models; lines join one learner or family. q
is adjusted for the shares of the data. Transfer: a learner also predicts, by a linear map, how a
frozen model of the other modality represents the same items; the gain is its score minus that
without transfer (95% CI over seeds). Bias: distance between the colors that a model expects and the
world's law. Hallucination: share of freely written captions that no scene can match; lines join a
family's means. Chance is a gain of 0 and no trend; shuffled words form no caption."""
NEEDED = """Needs models trained with and without transfer, or a synthetic dataset whose true
frequencies are known. The demo has both:"""
CURVES = "Small points: seeds. Diamonds: their means."
TRANSFER = """The exchange rate is how many extra training examples one cross-modal example is
worth, interpolated on the curve without transfer and never extrapolated."""
COLORS = """The model completes “There is a car painted” for every kind of object. Its
probabilities of the colors are renormalized and averaged over the words for a kind."""


def show(at: Place) -> None:
    """Draw section 5 of Huh et al. (2024): trends, exchange rates and one model's color law."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    with frame.part():
        if not facts.has_implications(at):
            raise frame.NeededError(NEEDED, frame.command("demo"))
        chance = np.nan
        with suppress(NotApplicableError):  # no world, no law
            law = queries.recall(at, Benefits(at.scope, "colors"))
            if law is not None:
                chance = uniform_distance(law.drop_duplicates(["kind", "color"]))
        found = section.draw(
            at,
            Benefits(at.scope),
            key="trends",
            caption=POINTS,
            methods=METHODS,
            plot=partial(overview, chance=chance),
            lead=0,
            say=lambda answered: in_short(answered.findings[1:]),
        )
        table = found.table.dropna(subset="y") if found else pd.DataFrame(columns=["panel"])
        if (table["panel"] == "transfer").any():
            question = Benefits(at.scope, "transfer")
            words = {"caption": CURVES, "methods": TRANSFER}
            section.closed("Exchange rate of transfer", at, question, key="transfer", **words)
        biased = table.loc[table["panel"] == "bias", "model"]
        if len(biased):
            draw = partial(_colors, at, set(biased))
            frame.fold("Expected colors", draw, key="colors", link=("model",))


@fragment
def _colors(at: Place, names: set[str]) -> None:
    models = queries.models(at)
    models = models[models["model"].isin(names)]
    largest = models.loc[models["parameters"].idxmax(), "model"]
    model = controls.pick_model("Model", models, "model", default=str(largest))
    with frame.part():
        section.draw(at, Benefits(at.scope, "colors", (model,)), key="colors", methods=COLORS)


frame.draw("What follows for transfer, bias and hallucination?", show)
