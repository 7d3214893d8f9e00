"""Long work runs as a job: a page queues a command and shows its progress and rows so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd
import streamlit as st

from core.errors import PlatoscopeError
from core.figures.numbers import time_text
from core.jobs import queue
from core.jobs.queue import Job
from core.progress import ProgressNote
from core.questions.asking import Answered
from core.questions.finding import listed
from core.questions.question import StudyQuestion
from core.questions.words import to_words
from core.settings import is_read_only, store_path
from pages._shared import address, frame, queries
from pages._shared.queries import Place

LONGEST_WAIT = 10.0  # seconds of an answer that the page computes without a click
LOG = "log"  # what the address calls the job whose log is open
LOG_HEIGHT = 300  # pixels
_JOB, _ERROR = "queued-job", "jobs-error"
BADGES = {  # by state: label, icon, color
    "queued": ("waiting", "schedule", "gray"),
    "running": ("running", "play_arrow", "primary"),
    "stopping": ("stopping", "pause", "orange"),
    "done": ("done", "check", "green"),
    "failed": ("failed", "error", "red"),
    "canceled": ("canceled", "block", "gray"),
}


def ask(
    at: Place,
    question: StudyQuestion,
    seconds: Callable[[], float] | float = math.inf,
    *,
    label: str = "Compute it",
    key: str = "",
) -> Answered | None:
    """Return the answer if it is kept or quick to compute. Otherwise draw the button that queues
    it, or its job with the rows so far, and return None.

    seconds: estimated time. label, key: of the button.
    """
    takes = _takes(at, question, seconds)
    if takes <= LONGEST_WAIT:
        return queries.answer(at, question)
    words = tuple(to_words(question))
    job = next((job for job in queue.jobs(store_path()) if job.words == words), None)
    if job and (not job.is_finished or job.state == "failed"):
        watch(job, question)
        return None
    if takes < math.inf:
        once = "" if is_read_only() else "; the answer is kept"
        st.info(f"This takes about {time_text(takes)}{once}.", icon=":material/hourglass_empty:")
    offer(label, words, key=f"queue-{key or question.command.replace(' ', '-')}")
    st.code(frame.question_command(question), language="bash", wrap_lines=True)
    return None


def waits(at: Place, question: StudyQuestion, seconds: Callable[[], float] | float) -> bool:
    """Return whether `ask` draws a button in place of an answer."""
    try:
        return _takes(at, question, seconds) > LONGEST_WAIT
    except PlatoscopeError:  # which `ask` says
        return False


def _takes(at: Place, question: StudyQuestion, seconds: Callable[[], float] | float) -> float:
    if queries.recall(at, question) is not None:
        return 0.0
    return seconds() if callable(seconds) else seconds


def offer(
    label: str,
    words: Sequence[str],
    *,
    key: str = "queue",
    disabled: bool = False,
    after: Callable[[], None] = lambda: None,
) -> None:
    """Draw the button that queues a command and then calls `after`; say so if the store is
    read-only.
    """
    if is_read_only():
        frame.draw_read_only(frame.ELSEWHERE)
        return
    icon = ":material/playlist_add:"
    act = partial(submit, words, after)
    st.button(label, icon=icon, type="primary", key=key, disabled=disabled, on_click=act)


def submit(words: Sequence[str], after: Callable[[], None] = lambda: None) -> None:
    """Queue a command unless the same one waits or runs, call `after`, and redraw the page."""
    try:
        same = [job for job in queue.unfinished(store_path()) if job.words == tuple(words)]
        st.session_state[_JOB] = (same[0] if same else queue.submit(store_path(), words)).id
    except PlatoscopeError as error:
        st.session_state[_ERROR] = str(error)
        return
    after()
    address.redraw_page()


def follow() -> Job | None:
    """Draw the job that was queued last in this tab and return it; None without one."""
    draw_error()
    number = st.session_state.get(_JOB)
    if number is None:
        return None
    job = queue.job(store_path(), number)
    watch(job)
    return job


def forget() -> None:
    """Draw no job until another is queued."""
    st.session_state.pop(_JOB, None)


def watch(job: Job, question: StudyQuestion | None = None) -> None:
    """Draw a job until it ends, with the rows of the question's answer so far; then redraw the
    page.
    """

    @partial(address.fragment, run_every=None if job.is_finished else "1s")
    def redraw() -> None:
        with frame.part():
            now = queue.job(store_path(), job.id)
            if now.is_finished != job.is_finished:
                st.rerun(scope="app")
            draw_error()
            draw(now, queue.unfinished(store_path()))
            if question and now.progress and now.progress.rows:
                rows = pd.DataFrame(now.progress.rows)
                figure = question.plot(rows).draw(frame.mode(), narrow=frame.narrow())
                st.plotly_chart(figure, theme=None, key=f"so-far-{job.id}")

    redraw()


def draw_error() -> None:
    """Draw once the error of the last click."""
    if error := st.session_state.pop(_ERROR, ""):
        st.error(frame.plain(error), icon=":material/error:")


def draw(job: Job, jobs: Sequence[Job]) -> None:
    """Draw a job with its buttons, and its log if it is open. jobs: all that it may wait for."""
    opened = address.mark(LOG) == str(job.id)
    with st.container(border=True, gap="xsmall", key=f"job-{job.id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            label, icon, color = BADGES["stopping" if job.is_stopping else job.state]
            st.badge(label, icon=f":material/{icon}:", color=color)
            st.caption(frame.plain(_facts(job, jobs)), width="stretch")
            if not is_read_only():
                label, said = ("Hide log", "") if opened else ("Log", str(job.id))
                _button(job, "log", label, "article", address.set_mark, LOG, said)
                if not job.is_finished:
                    _button(job, "cancel", "Cancel", "block", _change, queue.cancel, job.id)
                elif job.state != "done":
                    _button(job, "retry", "Retry", "replay", _change, queue.retry, job.id)
        st.code(frame.command(*job.words), language="bash", wrap_lines=True)
        if note := job.progress:
            share = min(1.0, note.done / note.total) if note.total else 0.0
            st.progress(share, frame.plain(progress_text(note)))
        if job.failure:
            st.error(frame.plain(job.failure), icon=":material/error:")
        if opened and not is_read_only():  # it follows what the job prints, unless scrolled back
            with st.container(height=LOG_HEIGHT, autoscroll=True, key=f"log-of-{job.id}"):
                st.code(queue.log_of(job) or "Nothing has been printed yet.", language=None)


def progress_text(note: ProgressNote) -> str:
    """Return the progress as a text: `gpt2 over cave: 8 of 20, 12 s left`."""
    left = "" if note.seconds_left is None else f", {time_text(note.seconds_left)} left"
    return f"{note.what}: {note.done:,} of {note.total:,}{left}"


def _button(
    job: Job, key: str, label: str, icon: str, act: Callable[..., None], *said: object
) -> None:
    st.button(
        label,
        icon=f":material/{icon}:",
        type="tertiary",
        key=f"{key}-{job.id}",
        disabled=job.is_stopping and key != "log",
        on_click=act,
        args=said,
    )


def _change(change: Callable[[Path, int], Job], number: int) -> None:
    try:
        change(store_path(), number)
    except PlatoscopeError as error:
        st.session_state[_ERROR] = str(error)


def _facts(job: Job, jobs: Sequence[Job]) -> str:
    """Return number, owner, time, folder, and what the job waits for."""
    if job.ended_at:
        when = f"ended {clock(job.ended_at)}"
        if job.started_at:
            took = datetime.fromisoformat(job.ended_at) - datetime.fromisoformat(job.started_at)
            when += f", took {time_text(took.total_seconds())}"
    elif job.started_at:
        when = f"began {clock(job.started_at)}"
    else:
        when = f"queued {clock(job.queued_at)}"
    wait = ""
    if job.state == "queued":
        turn = (job.queued_at, job.id)
        before = [one for one in jobs if one.state == "running" or (one.queued_at, one.id) < turn]
        numbers = sorted(f"#{one.id}" for one in before if not one.is_finished)
        wait = f"waits for {listed(numbers)}" if numbers else "about to begin"
    folder = "" if job.folder == Path.cwd() else f"in {job.folder}"
    return " · ".join(filter(None, [f"#{job.id}", job.owner, when, wait, folder]))


def clock(time: str) -> str:
    """Return a time in the visitor's time zone as day and clock: Nov 22, 18:03."""
    try:
        zone = ZoneInfo(st.context.timezone) if st.context.timezone else None  # the server's
    except (ZoneInfoNotFoundError, ValueError):
        zone = None
    local = datetime.fromisoformat(time).astimezone(zone)
    return local.strftime(f"%b {local.day}, %H:%M")
