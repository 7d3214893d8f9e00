"""All pairs of layers of two networks: what each loses, and whether alignment predicts it."""

from __future__ import annotations

import math

import streamlit as st

from core.questions.stitching.question import Stitch, StitchMap
from pages._parts.stitching import pick
from pages._shared import frame, queries, section
from pages._shared.queries import Place

METHODS = """Each cell is one stitch: the row's layer of the lower network replaces the column's
layer of the upper one. Rings mark the path through both networks that loses least, never going
back. Alignment compares how stimuli are arranged; a stitch asks whether the upper network can use
them."""


def show(at: Place, one: Stitch) -> None:
    """Draw the map of two models if it is kept whole; else offer to make it."""
    st.header("Which layers can replace which?", anchor=False)
    with frame.part():
        question = StitchMap(at.scope, one.x, one.y, one.fitting)
        models = queries.models(at).set_index("model")
        every = len(models.loc[one.x, "layers"]) * len(models.loc[one.y, "layers"])
        made = len(pick.kept_places(at, one))
        takes = 0.0 if made == every else math.inf
        if takes:
            st.caption(f"{made} of {every} pairs of layers are kept.")
        label = "Stitch all layers"
        answered = section.draw(
            at, question, key="layers", methods=METHODS, seconds=takes, label=label
        )
        if answered:
            dots = question.prediction_plot(answered.table)
            section.draw(at, question, key="foretold", plot=dots, lead=0)
