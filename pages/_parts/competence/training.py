"""Alignment along training: with vision, with language, with reality, and between trainings."""

from __future__ import annotations

import streamlit as st

from core.figures import tables
from core.metrics import METRICS
from core.questions.competence import figures as figures
from core.questions.competence.findings import tell_training
from core.questions.models import answer as mapping
from pages._shared import exportbar, frame, queries
from pages._shared.among import Among
from pages._shared.queries import Place

READING = """**How to read it.** Each line is one training, each mark a copy of the model taken
on the way: its mean alignment with the models that a panel names, of which those of
its own training are none. In the last panel these are the copies of the other
trainings of its modality after exactly as many steps, which differ from step to
step."""


@st.fragment
def show(at: Place, asked: Among) -> None:
    """Draw alignment along every training that has copies, and say what is seen."""
    st.subheader("Does alignment grow while a model trains?", anchor=False)
    with frame.part():
        draw(at, asked)


def draw(at: Place, asked: Among) -> None:
    """Draw the plot; with no copies along any training it says so."""
    table = queries.compared(at, mapping.follow_training, **asked.compared)
    points, models = tables.training_points(table, queries.models(at)), queries.models(at)
    figure = figures.training(
        points, label=asked.label, chance=asked.chance(at), mode=frame.mode(), narrow=frame.narrow()
    )
    recipe = queries.recipe(at, "training", list(models["model"]), **asked.compared)
    followed = list(dict.fromkeys(table["model"]))
    command = asked.align_command(at, followed, list(models["model"])) if followed else None
    exportbar.plot(figure, key="training", table=points, recipe=recipe, command=command)
    if followed:
        turned = not METRICS[asked.metric].spec.higher_is_more_aligned
        st.markdown(f"{READING}\n\n**What is seen.** {tell_training(table, turned=turned)}")
