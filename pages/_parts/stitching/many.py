"""Stitches of many models: which kinds of networks can be stitched, and whether better ones are
cheaper.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.questions.asking import findings_of
from core.questions.stitching import many_figures
from core.questions.stitching.question import StitchKinds, StitchTrend
from pages._parts.stitching import queue
from pages._shared import exportbar, frame, prose, queries
from pages._shared.queries import Place

KINDS = """Each small dot is one network that goes on from another, averaged over two places: from
the other's first layer behind its own first one, and from the last behind the last. These are the
depths that networks of all sizes have. An early layer that feeds a late one, and a late one that
feeds an early one, are one place each. Diamonds are means over seeds with their 95 % **interval**.
**Lost** is the share of what the upper network has above chance: at the left line nothing, at the
right line all. q says whether a kind differs from another seed of one recipe, adjusted for all
kinds."""
TREND = """Each dot is one network that goes on from another of the same size and seed and another
objective, averaged over its first and last layers: filled with the color of the lower network,
ringed with that of the upper. The black line joins the means of the sizes. The trend takes seeds
and both ways of two objectives together and gives each two objectives a mean of their own; **p** is
how often a change at least as large appears when competence is dealt anew among their sizes. Below
0 something is gained: a network that was never supervised has a head fitted to what it happens to
know, and a supervised lower network knows more."""


def show_kinds(at: Place) -> None:
    """Draw what is lost by kind of pair."""
    st.header("Which networks can be stitched?", anchor=False)
    with frame.part():
        question = StitchKinds(at.scope)
        table = _recall(at, question, "Compare kinds of networks in the background", key="kinds")
        if table is None:
            return
        said = findings_of(question, table)
        prose.answer(said[: prose.LEAD])
        figure = many_figures.kinds(table, _titles(at), frame.mode())
        exportbar.draw(at, question, figure, key="kinds", table=table)
        prose.explain(KINDS, said[prose.LEAD :])


def show_trend(at: Place) -> None:
    """Draw what is lost over competence."""
    st.header("Are better networks stitched more cheaply?", anchor=False)
    with frame.part():
        question = StitchTrend(at.scope)
        table = _recall(at, question, "Follow the trend in the background", key="trend")
        if table is None:
            return
        said = findings_of(question, table)
        prose.answer(said[: prose.LEAD])
        figure = many_figures.trend(table, _titles(at), frame.mode())
        exportbar.draw(at, question, figure, key="trend", table=table)
        prose.explain(TREND, said[prose.LEAD :])


def _recall(
    at: Place, question: StitchKinds | StitchTrend, label: str, *, key: str
) -> pd.DataFrame | None:
    """Return the kept answer; where there is none offer to make it, or say why none can be."""
    try:
        table = queries.recall(at, question)
    except InputError as error:
        st.caption(frame.plain(error))
        return None
    if table is None:
        queue.offer(label, question, key=key)
    return table


def _titles(at: Place) -> dict[str, str]:
    models = queries.models(at)
    return dict(zip(models["model"], models["title"], strict=True))
