"""What takes minutes is queued as a job, and followed beside the place where its answer will be."""

from __future__ import annotations

import streamlit as st

from core.jobs import queue
from core.questions.question import StudyQuestion
from core.questions.words import to_words
from core.settings import is_read_only, store_path
from pages._parts.jobs import cards
from pages._parts.library import queued
from pages._shared import address, frame


def offer(label: str, question: StudyQuestion, *, key: str) -> None:
    """Draw the button that queues a question's command or, while it waits or runs, its job; the
    command alone where the store is only shown.
    """
    words = tuple(to_words(question))
    under_way = [job.id for job in queue.unfinished(store_path()) if job.words == words]
    if under_way:
        address.fragment(_draw_job, run_every="1s")(under_way[0])
        return
    if is_read_only():
        frame.tell_shown(frame.ELSEWHERE)
        st.code(frame.question_command(question), language="bash", wrap_lines=True)
        return
    st.button(
        label,
        icon=":material/playlist_add:",
        key=f"queue-{key}",
        on_click=queued.submit,
        args=(words,),
    )


def _draw_job(number: int) -> None:
    with frame.part():
        job = queue.job(store_path(), number)
        if job.is_finished:
            st.rerun(scope="app")
        cards.say_trouble()
        cards.draw(job, queue.unfinished(store_path()))
