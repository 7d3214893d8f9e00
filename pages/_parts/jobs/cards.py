"""One job as everyone sees it: what runs, how far it is, how it ended, and its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from core.errors import PlatoscopeError
from core.figures.numbers import time_text
from core.jobs import queue
from core.jobs.job import Job, blockers
from core.progress import ProgressNote
from core.questions.sentences import listed
from core.settings import is_read_only, store_path
from pages._shared import address, frame

LOG = "log"  # what the address calls the job whose log is open
LOG_HEIGHT = 300  # pixels
_TROUBLE = "jobs-trouble"

Color = Literal["gray", "primary", "orange", "green", "red"]


class Badge(NamedTuple):
    """How a state is shown."""

    label: str
    icon: str
    color: Color


BADGES = {
    "queued": Badge("waiting", "schedule", "gray"),
    "running": Badge("running", "play_arrow", "primary"),
    "stopping": Badge("stopping", "pause", "orange"),
    "done": Badge("done", "check", "green"),
    "failed": Badge("failed", "error", "red"),
    "canceled": Badge("canceled", "block", "gray"),
}


def draw(job: Job, jobs: Sequence[Job]) -> None:
    """Draw a job with its buttons, and its log where it is open. jobs: all that may hold it up."""
    with st.container(border=True, gap="xsmall", key=f"job-{job.id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _draw_badge(job)
            st.caption(frame.plain(_facts(job, jobs)), width="stretch")
            if not is_read_only():
                _draw_buttons(job)
        st.code(frame.command(*job.words), language="bash", wrap_lines=True)
        if job.progress:
            st.progress(_share(job.progress), frame.plain(progress_text(job.progress)))
        if job.failure:
            st.error(frame.plain(job.failure), icon=":material/error:")
        if address.mark(LOG) == str(job.id) and not is_read_only():
            _draw_log(job)


def say_trouble() -> None:
    """Say once why the last click did nothing."""
    if trouble := st.session_state.pop(_TROUBLE, ""):
        st.toast(frame.plain(trouble), icon=":material/error:")


def progress_text(note: ProgressNote) -> str:
    """Say how far a job is: `gpt2 over cave: 8 of 20, 12 s left`."""
    left = "" if note.seconds_left is None else f", {time_text(note.seconds_left)} left"
    return f"{note.what}: {note.done:,} of {note.total:,}{left}"


def _share(note: ProgressNote) -> float:
    return min(1.0, note.done / note.total) if note.total else 0.0


def _draw_badge(job: Job) -> None:
    badge = BADGES["stopping" if job.is_stopping else job.state]
    st.badge(badge.label, icon=f":material/{badge.icon}:", color=badge.color)


def _draw_buttons(job: Job) -> None:
    opened = address.mark(LOG) == str(job.id)
    st.button(
        "Hide log" if opened else "Log",
        icon=":material/article:",
        type="tertiary",
        key=f"log-{job.id}",
        on_click=address.set_mark,
        args=(LOG, "" if opened else str(job.id)),
    )
    if not job.is_finished:
        _offer(job, "Cancel", "block", queue.cancel)
    elif job.state != "done":
        _offer(job, "Retry", "replay", queue.retry)


def _offer(job: Job, label: str, icon: str, change: Callable[[Path, int], Job]) -> None:
    st.button(
        label,
        icon=f":material/{icon}:",
        type="tertiary",
        key=f"{label.lower()}-{job.id}",
        disabled=job.is_stopping,
        on_click=_change,
        args=(change, job.id),
    )


def _change(change: Callable[[Path, int], Job], number: int) -> None:
    try:
        change(store_path(), number)
    except PlatoscopeError as error:
        st.session_state[_TROUBLE] = str(error)


def _draw_log(job: Job) -> None:
    """Draw the end of a log; it follows what the job prints, unless the visitor scrolls back."""
    with st.container(height=LOG_HEIGHT, autoscroll=True, key=f"log-of-{job.id}"):
        st.code(queue.log_of(job) or "Nothing has been printed yet.", language=None)


def _facts(job: Job, jobs: Sequence[Job]) -> str:
    """Say which job it is, whose, where and when, and what it waits for."""
    zone = _zone()
    device = job.lane or ("" if job.device == "auto" else job.device)
    folder = "" if job.folder == Path.cwd() else f"in {job.folder}"
    facts = [f"#{job.id}", job.owner, device, _when(job, zone), _wait(job, jobs), folder]
    return " · ".join(filter(None, facts))


def _wait(job: Job, jobs: Sequence[Job]) -> str:
    if job.state != "queued":
        return ""
    numbers = [f"#{number}" for number in blockers(job, jobs)]
    return f"waits for {listed(numbers)}" if numbers else "about to begin"


def _when(job: Job, zone: tzinfo | None) -> str:
    """Say when a job was queued, began or ended, and how long it took."""
    if job.ended_at:
        took = f", took {time_text(_seconds(job.started_at, job.ended_at))}"
        return f"ended {clock(job.ended_at, zone)}{took if job.started_at else ''}"
    if job.started_at:
        return f"began {clock(job.started_at, zone)}"
    return f"queued {clock(job.queued_at, zone)}"


def clock(time: str, zone: tzinfo | None) -> str:
    """Return a time in a time zone (None: the server's) as day and clock: Nov 22, 18:03."""
    local = datetime.fromisoformat(time).astimezone(zone)
    return local.strftime(f"%b {local.day}, %H:%M")


def _seconds(start: str | None, end: str) -> float | None:
    if start is None:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _zone() -> tzinfo | None:
    """Return the visitor's time zone; None where the browser names none."""
    try:
        return ZoneInfo(st.context.timezone) if st.context.timezone else None
    except (ZoneInfoNotFoundError, ValueError):
        return None
