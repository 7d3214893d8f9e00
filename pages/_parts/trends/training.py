"""Alignment along training: with vision, with language, with reality, and between trainings."""

from __future__ import annotations

from core.questions.competence.question import Training
from core.study.parts import Comparison
from pages._shared import frame, section
from pages._shared.address import fragment
from pages._shared.queries import Place

METHODS = """Each line is one training, each mark a checkpoint: its mean alignment with the models
that a panel names, never those of its own training. The last panel compares it with checkpoints of
other trainings after exactly as many steps."""


@fragment
def show(at: Place, comparison: Comparison) -> None:
    """Draw alignment along every training that has checkpoints."""
    question = Training(at.scope, comparison)
    with frame.part():
        section.draw(
            at, question, key="training", header=question.title(), methods=METHODS, models=True
        )
