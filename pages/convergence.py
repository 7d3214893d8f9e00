"""Convergence: do models converge as they get better, and why?"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.questions.alignment.axes import COMPETENCE, find_axis
from core.questions.competence.question import TasksSolved
from core.questions.convergence.levels import By
from core.questions.convergence.question import AnnaKarenina, FineTuned, Hypotheses, Levels
from core.study.models import basis_of, language_basis
from core.study.parts import Comparison
from pages._parts.convergence.modalities import show_modalities
from pages._shared import bar, controls, exportbar, facts, frame, queries, section
from pages._shared.address import fragment
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
KARENINA = """Models are cut into thirds of competence within their modality. Each cell is the
adjusted mean alignment of all pairs of two thirds. **Weak** above each panel is how much less (−)
weak models agree with each other than with strong ones; p decides."""
PREDICTIONS = """**Multitask**: a model that must solve more tasks has fewer ways to do so.
**Capacity**: a larger model can come closer to the best solution, and so to other large ones.
**Simplicity**: networks prefer simple solutions, so simpler networks should agree more."""
TESTS = """Each of the three published hypotheses is judged by one test that was fixed before any
was run; **q** is its p adjusted for all three. The other tests in the table decide nothing.
Simplicity is measured by the effective rank of the last layer."""
COST = """Each dot shows how alignment with one language model changes when vision models are
fine-tuned: the mean over sizes and seeds, each model compared with its own copy. Bars are 95%
intervals."""


def show(at: Place) -> None:
    """Draw alignment by level, the three hypotheses and what fine-tuning costs."""
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
    show_thirds(at, comparison)
    show_hypotheses(at, comparison)
    show_copies(at, comparison)
    show_modalities(at, comparison)


def _basis(at: Place) -> str:
    """Return what competence is here."""
    seen = basis_of(queries.ask(at, TasksSolved(at.scope)))
    read = language_basis(queries.models(at), facts.competence(at))
    coded = find_axis(COMPETENCE, unit=read).title.removeprefix(f"{COMPETENCE}: ")
    return frame.plain(f"Competence is, in vision, {seen}; in language, {coded}.")


@fragment
def show_thirds(at: Place, comparison: Comparison) -> None:
    """Draw how alike strong models are, weak ones, and both with each other."""
    header = "Is each weak model weak in its own way?"
    with frame.part():
        question = AnnaKarenina(at.scope, (), comparison)
        section.draw(at, question, key="anna-karenina", header=header, methods=KARENINA)


@fragment
def show_hypotheses(at: Place, comparison: Comparison) -> None:
    """Draw the verdict on each hypothesis, and all tests as a table."""
    st.header("Why would they converge?", anchor=False)
    with frame.part():
        question = Hypotheses(at.scope, (), comparison)
        answered = queries.answer(at, question)
        for finding in answered.findings:
            st.markdown(frame.plain(finding.sentence))
        with st.expander("All tests"):
            st.dataframe(answered.table.drop(columns="decides"), hide_index=True)
            st.markdown(f"{PREDICTIONS}\n\n{TESTS}")
        exportbar.draw_table(at, question, answered.table, key="hypotheses")


@fragment
def show_copies(at: Place, comparison: Comparison) -> None:
    """Draw what fine-tuning changes, if there are models and their copies."""
    question = FineTuned(at.scope, (), comparison)
    with frame.part():
        if len(queries.ask(at, question)):
            section.draw(at, question, key="fine-tuned", header=question.title(), methods=COST)


frame.draw("Do models converge as they get better?", show)
