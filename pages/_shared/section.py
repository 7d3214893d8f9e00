"""One section of a page: a question's figure with its export bar, what it says, and the methods."""

from __future__ import annotations

import streamlit as st

from core.figures.grammar import Plot
from core.questions.finding import sentences
from core.questions.question import StudyQuestion
from pages._shared import exportbar, frame, prose, queries
from pages._shared.queries import Place


def draw(
    at: Place,
    question: StudyQuestion,
    *,
    key: str,
    header: str = "",
    methods: str = "",
    plot: Plot | None = None,
    lead: int = 1,
    models: bool = False,
) -> None:
    """Draw a question's answer: header, the first findings, figure, export bar; the methods and all
    further findings are closed.

    plot: in place of the question's own. lead: how many findings stand above the figure. models:
    whether its dots are models, which a click selects.
    """
    answered = queries.answer(at, question)
    if header:
        st.header(header, anchor=False)
    said = sentences(answered.findings)
    prose.answer(said[:lead])
    shown = plot or question.plot(answered.table)
    figure = shown.draw(frame.mode(), narrow=frame.narrow())
    bar = exportbar.draw_models if models else exportbar.draw
    bar(at, question, figure, key=key, table=answered.table)
    if methods:
        prose.explain(methods, said[lead:])
