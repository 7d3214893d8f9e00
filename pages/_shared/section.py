"""A section of a page: the findings, figure and methods of a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.figures.grammar import Plot
from core.questions.asking import Answered
from core.questions.finding import sentences
from core.questions.question import StudyQuestion
from pages._shared import exportbar, frame, prose, runner
from pages._shared.queries import Place


def draw(
    at: Place,
    question: StudyQuestion,
    *,
    key: str,
    header: str = "",
    caption: str = "",
    methods: str = "",
    plot: Plot | Callable[[pd.DataFrame], Plot] | None = None,
    lead: int = 1,
    last: int | None = None,
    say: Callable[[Answered], Sequence[str]] | None = None,
    models: bool = False,
    seconds: Callable[[], float] | float = 0.0,
    label: str = "Compute it",
    offer: str = "",
    queue: str = "",
) -> Answered | None:
    """Draw a question's answer and return it: header, the first findings, figure, export bar,
    caption; methods, caveats and all further findings are closed. None if it is still to be
    computed.

    caption: what a point is, and what bars and lines are, in at most 40 words. plot: in place of
    the question's own, or makes it of the answer's table. lead: how many findings stand above the
    figure; last: where those that are closed end, if others are drawn elsewhere. say: returns the
    sentences that stand there instead. models: whether its dots are models, which a click selects.
    seconds, label: as of `runner.ask`. offer: what a visitor gets for it, as long as it is still to
    be computed. queue: the button's key, if the command has two.
    """
    if header:
        st.header(header, anchor=False)
    above = st.empty()
    answered = runner.ask(at, question, seconds, label=label, key=queue)
    if answered is None:
        above.markdown(offer)
        if methods:
            prose.explain(methods)
        return None
    first, rest = answered.findings[:lead], answered.findings[lead:last]
    lines = [one.line if methods else one.sentence for one in first]
    prose.answer(say(answered) if say else lines)
    shown = plot(answered.table) if callable(plot) else plot or question.plot(answered.table)
    bar = exportbar.draw_models if models else exportbar.draw
    bar(at, question, shown.draw, key=key, table=answered.table)
    if caption:
        st.caption(caption)
    if methods:
        caveats = [text for one in first for text in (one.note, one.published) if text]
        prose.explain(methods, [*caveats, *sentences(rest)])
    return answered


def closed(title: str, at: Place, question: StudyQuestion, *, key: str, **how: Any) -> None:
    """Draw a closed section under a title; how: as of `draw`."""
    frame.fold(title, partial(draw, at, question, key=key, **how), key=key)
