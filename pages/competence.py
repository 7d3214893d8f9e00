"""Competence: do better models agree more, and does agreement tell what a model can do?"""

from __future__ import annotations

import streamlit as st

from pages._parts.competence import bins, downstream, scores, training
from pages._shared import among, controls, frame, queries
from pages._shared.queries import Place


def show(at: Place) -> None:
    """Draw figures 2 (left) and 4 of the published work, alignment along training, and every value
    with its origin.
    """
    frame.need_stimuli(at)
    every = queries.models(at)
    if every.empty:
        frame.need_readers(at, "caption", "image")
    with st.sidebar:
        models = controls.pick_finished(every)
        seeing_and_reading = models[models["modality"] != "world"]
        names = (
            controls.pick_models("Models", seeing_and_reading, "models")
            if len(seeing_and_reading)
            else []
        )
        asked = among.pick(at)
    chosen = models[models["model"].isin(names)]
    bins.show(at, chosen, asked)
    downstream.show(at, chosen, asked)
    training.show(at, asked)
    scores.show(at)
    scores.show_import(at)


frame.draw("Do better models agree more?", show)
