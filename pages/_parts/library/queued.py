"""Queuing a command from the Library, and following the job that it became."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.errors import PlatoscopeError
from core.jobs import queue
from core.jobs.job import Job
from core.settings import is_read_only, store_path
from pages._parts.jobs import cards
from pages._shared import address, frame

OPEN = "add"  # what the address calls the form that is open
_JOB, _TROUBLE = "queued-job", "queued-trouble"


def offer(label: str, words: Sequence[str], *, disabled: bool, after: Callable[[], None]) -> None:
    """Draw the button that queues a command; after: what is called once it is queued. Where the
    store is only shown, say that there is none.
    """
    if is_read_only():
        frame.tell_shown(frame.ELSEWHERE)
        return
    st.button(
        label,
        icon=":material/playlist_add:",
        type="primary",
        key="queue",
        disabled=disabled,
        on_click=submit,
        args=(words, after),
    )


def submit(words: Sequence[str], after: Callable[[], None] = lambda: None) -> None:
    """Queue a command in answer to a click, or follow the job that waits or runs with the very
    same one; after: what is called once it is queued.
    """
    try:
        same = [job for job in queue.unfinished(store_path()) if job.words == tuple(words)]
        job = same[0] if same else queue.submit(store_path(), words)
        st.session_state[_JOB] = job.id
    except PlatoscopeError as error:
        st.session_state[_TROUBLE] = str(error)
        return
    after()


def follow() -> Job | None:
    """Draw how far the job is that was queued last in this tab, or why none was, and return it;
    None without one.
    """
    if trouble := st.session_state.pop(_TROUBLE, ""):
        st.error(frame.plain(trouble), icon=":material/error:")
    number = st.session_state.get(_JOB)
    if number is None:
        return None
    job = queue.job(store_path(), number)
    pace = None if job.is_finished else "1s"
    address.fragment(_draw_job, run_every=pace)(number, job.is_finished)
    return job


def forget() -> None:
    """Draw no job until another is queued."""
    st.session_state.pop(_JOB, None)


def _draw_job(number: int, was_over: bool) -> None:
    with frame.part():
        job = queue.job(store_path(), number)
        if job.is_finished != was_over:
            st.rerun(scope="app")
        cards.say_trouble()
        cards.draw(job, queue.unfinished(store_path()))
