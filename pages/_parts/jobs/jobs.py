"""Jobs: the queue of long work, as everyone over this store sees it."""

from __future__ import annotations

from math import ceil

import streamlit as st

from core.jobs import queue
from core.jobs.queue import Job
from core.settings import is_read_only, store_path
from pages._parts.jobs import adding
from pages._shared import address, controls, frame, runner

BUSY, IDLE = "1s", "5s"  # between two looks at the queue: while jobs run or wait, and else
PAGE = 20  # finished jobs at a time
STATES = {
    "all": "All",
    "unfinished": "Running and waiting",
    "failed": "Failed",
    "done": "Done",
    "canceled": "Canceled",
}
EMPTY = "No jobs yet."
HOW = """Long work is queued from the Library, above, or in a terminal by putting
`jobs add` before a command: `platoscope jobs add embed …`"""


def show() -> None:
    """Draw the form that queues a command, and the queue, which redraws itself."""
    if is_read_only():
        frame.tell_shown("no job is queued, canceled or retried here")
    else:
        adding.show()
    state = controls.pick_segment("State", STATES, "state", start="all", hidden=True)
    is_busy = bool(queue.unfinished(store_path()))
    address.fragment(follow, run_every=BUSY if is_busy else IDLE)(state, is_busy)


def follow(state: str, was_busy: bool) -> None:
    """Draw the jobs of a state as they are now; the pace of redraws follows the queue."""
    with frame.part():
        jobs = queue.jobs(store_path())
        if was_busy == all(job.is_finished for job in jobs):
            st.rerun(scope="app")
        runner.say_trouble()
        with st.container(key="jobs"):
            draw_jobs([job for job in jobs if shows(state, job)], any_job=bool(jobs))


def shows(state: str, job: Job) -> bool:
    """Return whether a job is among those of a state."""
    if state == "unfinished":
        return not job.is_finished
    return state in ("all", job.state)


def draw_jobs(jobs: list[Job], *, any_job: bool) -> None:
    """Draw running jobs first, then those that wait in the order of their turn, then a page of
    finished ones, the latest first.
    """
    if not jobs:
        st.info("No such job." if any_job else _empty(), icon=":material/lightbulb:")
    turns = sorted(jobs, key=lambda job: (job.state != "running", job.queued_at, job.id))
    finished = [job for job in jobs if job.is_finished]
    for job in (job for job in turns if not job.is_finished):
        runner.draw(job, jobs)
    below = st.container()
    page = controls.pick_page(ceil(len(finished) / PAGE), "page")
    with below:
        for job in finished[(page - 1) * PAGE : page * PAGE]:
            runner.draw(job, jobs)


def _empty() -> str:
    return EMPTY if is_read_only() else f"{EMPTY} {HOW}"
