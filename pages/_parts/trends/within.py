"""Alignment of pairs of models by their level, within each modality and across; more modalities."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.questions.alignment.axes import COMPETENCE, find_axis
from core.questions.competence.question import TasksSolved
from core.questions.convergence.levels import By
from core.questions.convergence.question import Levels
from core.study.models import basis_of, language_basis
from pages._parts.trends.modalities import show_modalities
from pages._shared import bar, controls, facts, frame, queries, section
from pages._shared.queries import Place

LEVELS: Mapping[By, str] = {
    "competence": "competence",
    "size": "size",
    "tasks": "number of tasks",
    "data": "amount of data",
}
METHODS = """Each diamond is the **adjusted mean** alignment of the pairs of models on one level,
with the mix of objectives and families held fixed, and its 95% interval over recipes; the circle is
the raw mean. Two seeds of a recipe never make a pair: they make the **ceiling**. **p** exchanges
levels among the recipes of each objective or family, so it says nothing about differences between
these."""


def show(at: Place) -> None:
    """Draw alignment by level, and of all modalities."""
    frame.need_stimuli(at)
    if len(queries.models(at)) < 2:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        by = controls.pick_labeled(controls.option_named(Levels, "by"), LEVELS)
        comparison = controls.pick_comparison(queries.size(at))
    with frame.part():
        section.draw(
            at, Levels(at.scope, (), comparison, by=by), key="convergence", methods=METHODS
        )
        if by == COMPETENCE:
            st.caption(_basis(at))
    show_modalities(at, comparison)


def _basis(at: Place) -> str:
    """Return what competence is here."""
    seen = basis_of(queries.ask(at, TasksSolved(at.scope)))
    read = language_basis(queries.models(at), facts.competence(at))
    coded = find_axis(COMPETENCE, unit=read).title.removeprefix(f"{COMPETENCE}: ")
    return frame.plain(f"Competence is, in vision, {seen}; in language, {coded}.")
