"""Stitches of many models: which kinds of networks can be stitched, and whether better ones are
cheaper.
"""

from __future__ import annotations

import streamlit as st

from core.errors import InputError
from core.questions.stitching.question import StitchKinds, StitchTrend
from pages._parts.stitching import queue
from pages._shared import frame, queries, section
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
    with frame.part():
        question = StitchKinds(at.scope)
        if _is_kept(at, question, "Compare kinds of networks in the background", key="kinds"):
            section.draw(at, question, key="kinds", methods=KINDS)


def show_trend(at: Place) -> None:
    """Draw what is lost over competence."""
    st.header("Are better networks stitched more cheaply?", anchor=False)
    with frame.part():
        question = StitchTrend(at.scope)
        if _is_kept(at, question, "Follow the trend in the background", key="trend"):
            section.draw(at, question, key="trend", methods=TREND)


def _is_kept(at: Place, question: StitchKinds | StitchTrend, label: str, *, key: str) -> bool:
    """Return whether the answer is kept; if not, offer to make it, or say why it cannot be made."""
    try:
        kept = queries.recall(at, question) is not None
    except InputError as error:
        st.caption(frame.plain(error))
        return False
    if not kept:
        queue.offer(label, question, key=key)
    return kept
