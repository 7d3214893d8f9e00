"""Stitches of many models: which kinds of networks can be stitched, and whether better ones are
cheaper.
"""

from __future__ import annotations

import math

import streamlit as st

from core.errors import InputError
from core.questions.stitching.question import StitchKinds, StitchTrend
from pages._shared import frame, section
from pages._shared.queries import Place

KINDS = """Each dot is one network stitched into another, averaged over two places: first layer into
first, and last into last. Diamonds are means over seeds with their 95% interval. **q** says whether
a kind differs from another seed of one recipe, adjusted for all kinds."""
TREND = """Each dot is one network stitched into another of the same size and seed and another
objective, filled with the color of the lower network and ringed with that of the upper. **p**
exchanges competence among the sizes of two objectives; below 0 something is gained, if the lower
network knows more of the task."""


def show_kinds(at: Place) -> None:
    """Draw what is lost by kind of pair."""
    st.header("Which networks can be stitched?", anchor=False)
    _show(at, StitchKinds(at.scope), KINDS, key="kinds", label="Compare kinds of networks")


def show_trend(at: Place) -> None:
    """Draw what is lost over competence."""
    st.header("Are better networks stitched more cheaply?", anchor=False)
    _show(at, StitchTrend(at.scope), TREND, key="trend", label="Follow the trend")


def _show(
    at: Place, question: StitchKinds | StitchTrend, methods: str, *, key: str, label: str
) -> None:
    with frame.part():
        try:
            section.draw(at, question, key=key, methods=methods, seconds=math.inf, label=label)
        except InputError as error:  # no models of this kind
            st.caption(frame.plain(error))
