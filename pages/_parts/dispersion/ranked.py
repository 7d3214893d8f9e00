"""Figures 1C, 2A and 2F of the published work: how the stimuli are ranked, and in which space."""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.dispersion import ranking_figures as figures
from core.questions.dispersion.question import DispersionRankings
from core.questions.stimuli.question import DRAWN
from core.statistics.nulls import draw_sample
from pages._parts.dispersion.pick import Choice
from pages._shared import exportbar, frame, prose, queries, spread
from pages._shared.queries import Place

SAMPLE = 1  # seed of the stimuli that are drawn, not of the random set
READING = """Each dot is a stimulus, ranked first by the mean of its residuals, then by the
first component of all residuals. The {size:,} at either end are the low and
the high set of that ranking; the ticks below are a random set of as many."""
SPACE = """Each axis is a model: how far it lies from the consensus at a stimulus. The
dashed line is the first component, along which residuals vary most; a stimulus's score
is its place along it. Where models find the same stimuli hard, the dots follow the
diagonal."""


def show(at: Place, choice: Choice) -> None:
    """Draw both rankings side by side, then the space of residuals."""
    st.header("How are the stimuli ranked?", anchor=False)
    joint, seed = choice.effect.ranking.joint, choice.effect.trial.seed
    question = DispersionRankings(at.scope, joint, choice.size, seed)
    table = queries.ask(at, question)
    dots = table.iloc[draw_sample(len(table), DRAWN, seed=SAMPLE)]
    if len(dots) < len(table):
        st.caption(f"The plots show {len(dots):,} of {len(table):,} stimuli, drawn at random.")
    figure = figures.ranked(dots, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="rankings", table=table)
    agreement, *rest = findings_of(question, table)
    prose.explain(READING.format(size=choice.size), [agreement])
    looks = spread.described(at, joint.spaces)
    titles = dict(zip(looks["space"], looks["title"], strict=True))
    drawn = figures.residual_space(dots, table, titles, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, drawn, key="residual-space", table=table)
    if len(titles) > figures.MOST_AXES:
        st.caption(f"The first {figures.MOST_AXES} of {len(titles)} models are drawn.")
    prose.explain(SPACE, rest)
