"""The published explanations of convergence, each decided by one test; weak and strong models;
fine-tuning.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.questions.asking import Answered
from core.questions.convergence.question import FineTuned, Levels, Summary
from pages._parts.trends.within import need_pair
from pages._shared import bar, controls, exportbar, frame, queries, section
from pages._shared.address import fragment
from pages._shared.queries import Place

CAPTION = """Each row: a prediction, the test that decides it and its 95% CI. q: FDR-adjusted."""
NEEDED = """No prediction is testable here: they need two families or objectives with models of two
sizes or competences. Import a table with the columns file, family, objective, parameters,
competence."""
METHODS = """Which test decides was fixed before any was run. **Multitask**: a model of more tasks
has fewer solutions. **Capacity**: larger models come closer to the best solution. **Simplicity**:
networks prefer simple solutions, here a low effective rank. Permutations are of trainings within
an objective or family. Source: Huh et al. 2024, section 3."""
KARENINA = """Cells: adjusted mean alignment of pairs from two thirds of competence. Above:
alignment among weak models minus that of weak with strong ones."""
COST = """Points: change of alignment with one language model when vision models are fine-tuned,
with 95% CI over model–copy pairs."""


def show(at: Place) -> None:
    frame.need_stimuli(at)
    need_pair(at)
    with bar.controls_bar():
        more = ("models", "layers", "as", "permutations", "seed")
        question = controls.pick(Summary, at, more=more)
    at = replace(at, scope=question.scope)
    answered = section.draw(at, question, key="claims", caption=CAPTION, methods=METHODS, say=_say)
    if answered and answered.table["value"].isna().all():
        how = frame.command("import", "MODELS.csv", "--dataset", at.dataset)
        st.code(how, language="bash", wrap_lines=True)
    _show_more(at, question)
    if answered:
        table = answered.table

        def show_tests() -> None:
            st.dataframe(table, hide_index=True)
            exportbar.draw_table(at, question, table, key="claims-table")

        frame.fold("All tests", show_tests, key="tests")


def _say(answered: Answered) -> list[str]:
    if answered.table["value"].isna().all():
        return [NEEDED]
    return [answered.findings[0].line]


@fragment
def _show_more(at: Place, question: Summary) -> None:
    """Draw weak and strong models, and what fine-tuning costs, if the store has these."""
    about = (at.scope, question.names, question.comparison)
    thirds = Levels(*about, question.permutations, question.seed, between=True)
    copies = FineTuned(*about)
    for one, title, caption in (
        (thirds, "Weak and strong models (Anna Karenina)", KARENINA),
        (copies, "Fine-tuning", COST),
    ):
        with frame.part():
            if len(queries.ask(at, one)):
                key = one.command.replace(" ", "-")
                section.closed(title, at, one, key=key, caption=caption)
