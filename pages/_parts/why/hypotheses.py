"""Convergence: do models converge as they get better, and why?"""

from __future__ import annotations

import streamlit as st

from core.questions.convergence.question import AnnaKarenina, FineTuned, Hypotheses
from core.study.parts import Comparison
from pages._shared import bar, controls, exportbar, frame, queries, section
from pages._shared.address import fragment
from pages._shared.queries import Place

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
    """Draw the three hypotheses, weak and strong models, and what fine-tuning costs."""
    frame.need_stimuli(at)
    if len(queries.models(at)) < 2:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        comparison = controls.pick_comparison(queries.size(at))
    show_hypotheses(at, comparison)
    show_thirds(at, comparison)
    show_copies(at, comparison)


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
