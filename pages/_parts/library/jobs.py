"""Jobs: the queue of long work over this store, shared by all visitors."""

from __future__ import annotations

from math import ceil

import streamlit as st

from core.jobs import queue
from core.settings import is_read_only, store_path
from pages._shared import address, controls, frame, runner

BUSY, IDLE = "1s", "5s"  # between two redraws: while jobs run or wait, and otherwise
PAGE = 20  # finished jobs at a time
STATES = {
    "all": "All",
    "unfinished": "Running and waiting",
    "failed": "Failed",
    "done": "Done",
    "canceled": "Canceled",
}
EMPTY = "No jobs yet."
HOW = """The buttons of a page queue long work. In a terminal, put `jobs add` before a command:
`platoscope jobs add embed …`"""


def show() -> None:
    """Draw the queue, which redraws itself."""
    if is_read_only():
        frame.draw_read_only("no job is queued, canceled or retried here")
    state = controls.pick_segment("State", STATES, "state", start="all", hidden=True)
    is_busy = bool(queue.unfinished(store_path()))
    address.fragment(follow, run_every=BUSY if is_busy else IDLE)(state, is_busy)


def follow(state: str, was_busy: bool) -> None:
    """Draw the jobs of a state: running jobs first, then waiting ones in their order, then a page
    of finished ones, the latest first. The pace of redraws follows the queue.
    """
    with frame.part():
        every = queue.jobs(store_path())
        if was_busy == all(job.is_finished for job in every):
            st.rerun(scope="app")
        runner.draw_error()
        jobs = [
            job
            for job in every
            if (not job.is_finished if state == "unfinished" else state in ("all", job.state))
        ]
        with st.container(key="jobs"):
            if not jobs:
                empty = EMPTY if is_read_only() else f"{EMPTY} {HOW}"
                st.info("No such job." if every else empty, icon=":material/lightbulb:")
            finished = [job for job in jobs if job.is_finished]
            unfinished = [job for job in jobs if not job.is_finished]
            for job in sorted(
                unfinished, key=lambda one: (one.state != "running", one.queued_at, one.id)
            ):
                runner.draw(job, jobs)
            below = st.container()
            page = controls.pick_page(ceil(len(finished) / PAGE), "page")
            with below:
                for job in finished[(page - 1) * PAGE : page * PAGE]:
                    runner.draw(job, jobs)
