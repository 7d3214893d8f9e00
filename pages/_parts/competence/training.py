"""Alignment along training: with vision, with language, with reality, and between trainings."""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.competence import figures
from core.questions.competence.points import training_points
from core.questions.competence.question import Training
from core.study.parts import Comparison
from pages._shared import exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

READING = """Each line is one training, each mark a checkpoint: its mean
alignment with the models that a panel names, never those of its own training. The last
panel compares it with the checkpoints of the other trainings of its modality after
exactly as many steps, so its models differ from step to step."""


@fragment
def show(at: Place, comparison: Comparison) -> None:
    """Draw alignment along every training that has checkpoints, and say what is seen."""
    st.header("Does alignment grow while a model trains?", anchor=False)
    with frame.part():
        draw(at, Training(at.scope, comparison))


def draw(at: Place, question: Training) -> None:
    """Draw the plot; without checkpoints along any training it says so."""
    comparison, table = question.comparison, queries.ask(at, question)
    points = training_points(table, queries.models(at))
    figure = figures.training(
        points,
        label=comparison.label,
        chance=comparison.chance(queries.size(at)),
        mode=frame.mode(),
        narrow=frame.narrow(),
    )
    exportbar.draw_models(at, question, figure, key="training", table=points)
    if len(table):
        prose.explain(READING, findings_of(question, table))
