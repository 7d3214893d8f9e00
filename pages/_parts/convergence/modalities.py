"""Do modalities meet? How near every two of them come, and each to reality."""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.modalities import figures
from core.questions.modalities.question import Modalities
from core.study.models import is_reality, trained
from core.study.parts import Comparison
from pages._shared import exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

READING = """Diamonds are means over all models of both modalities that finished a usual
training, circles means over the models of one size. **Bars** are 95 % intervals over what both
sides have several of: recipes, or trainings where a modality has fewer than three recipes. A
tick marks chance: the mean alignment of the same models when the stimuli of one side are
shuffled, and open diamonds are untrained models of both modalities: what of the events passes
through any network, learned or not. Modalities meet where models agree more than these. **q**
adjusts the p of the differences from chance and from untrained models, whose level is taken as
known, for all marks of the figure. The **ceiling** in the hover cards is what two trainings of one
recipe reach that differ in their seed, of two modalities the geometric mean of both."""


@fragment
def show_modalities(at: Place, comparison: Comparison) -> None:
    """Draw the mean alignment of every two modalities and of each with reality, where there are
    more than vision and language.
    """
    models = trained(queries.models(at))
    if models.loc[~is_reality(models), "modality"].nunique() < 3:
        return
    st.header("Do more than two modalities meet?", anchor=False)
    with frame.part():
        question = Modalities(at.scope, (), comparison)
        table = queries.ask(at, question)
        figure = figures.meetings(
            table, label=comparison.label, mode=frame.mode(), narrow=frame.narrow()
        )
        said = findings_of(question, table)
        prose.answer(said[:2])
        exportbar.draw(at, question, figure, key="modalities", table=table)
        prose.explain(READING, said[2:])
