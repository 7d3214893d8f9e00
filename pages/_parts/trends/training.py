"""Alignment along trainings that have checkpoints."""

from __future__ import annotations

from dataclasses import replace

from core.questions.competence.question import Training
from pages._shared import bar, controls, frame, queries, section
from pages._shared.queries import Place

CAPTION = """A line is one training, a point a checkpoint: its mean alignment with the models that
the panel names, without those of its own training."""
METHODS = """The last panel compares checkpoints with those of other trainings after exactly as many
steps. Only trainings with two checkpoints or more are shown."""


def is_offered(at: Place) -> bool:
    """Return whether some training has two checkpoints."""
    steps = queries.models(at).dropna(subset="step")
    return bool((steps.groupby("run")["step"].nunique() > 1).any())


def show(at: Place) -> None:
    frame.need_stimuli(at)
    with bar.controls_bar():
        question = controls.pick(Training, at, more=("layers", "as"))
    at = replace(at, scope=question.scope)
    section.draw(at, question, key="training", caption=CAPTION, methods=METHODS, models=True)
