"""Answers that take long: what they take is said first, then they are made here or as a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from core.figures.numbers import time_text
from core.questions.question import StudyQuestion
from core.questions.words import to_words
from core.settings import is_read_only
from pages._parts.library import queued
from pages._shared import address, frame, queries
from pages._shared.queries import Place

PATIENCE = 10.0  # seconds that a visitor waits unasked


def ask(
    at: Place, question: StudyQuestion, seconds: Callable[[], float], *, what: str = "This"
) -> pd.DataFrame | None:
    """Return the answer where it is kept, takes a moment or is wanted all the same; else draw about
    how long it takes and the buttons that make it, and return None.

    seconds: about how long, asked where it is not kept. what: takes so long, in words.
    """
    kept = queries.recall(at, question)
    wanted = f"wanted-{queries.question_recipe(at, question).digest}"
    if kept is not None or st.session_state.get(wanted) or (takes := seconds()) <= PATIENCE:
        return queries.ask(at, question)
    once = "" if is_read_only() else ", once: the answer is kept"
    st.info(f"{what} takes about {time_text(takes)} here{once}.", icon=":material/hourglass_empty:")
    if is_read_only():
        frame.tell_shown(frame.ELSEWHERE)
    else:
        _offer(wanted, question)
    st.code(frame.question_command(question), language="bash", wrap_lines=True)
    return None


def _offer(wanted: str, question: StudyQuestion) -> None:
    """Draw the buttons that make the answer. wanted: whether it is, in the session."""
    with st.container(horizontal=True):
        st.button(
            "Compute it here",
            icon=":material/play_arrow:",
            type="primary",
            key=f"here-{wanted}",
            on_click=st.session_state.__setitem__,
            args=(wanted, True),
        )
        st.button(
            "Queue it as a job",
            icon=":material/playlist_add:",
            key=f"job-{wanted}",
            on_click=_queue,
            args=(to_words(question),),
        )


def _queue(words: Sequence[str]) -> None:
    """Queue a command in answer to a click, and draw the whole page, which follows it."""
    queued.submit(words)
    address.redraw_page()


def follow() -> None:
    """Draw how far the job is that was queued last, once on a page."""
    queued.follow()
