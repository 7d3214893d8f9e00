"""A training that goes on between redraws: its plot moves, and it can be stopped.

A fragment redraws itself for as long as the run goes on, and works for a moment each time after it
has drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import PlatoscopeError
from pages._shared import frame
from pages._shared.address import write_part


class Look(NamedTuple):
    """One look at a training: a value by name."""

    figures: Mapping[str, float | str]


class Run(NamedTuple):
    """Looks to come, each computed on demand. total: how many there will be, 0 if unknown."""

    looks: Iterator[Look]
    total: int = 0


MOMENT = 0.4  # seconds of work between two redraws; one look may take longer
# the browser keeps a former button, marked stale, until the run that draws the next one has ended
_ONE_BUTTON = """<style>
[data-testid=stMain]:has(.st-key-stop):has(.st-key-go-on, .st-key-train)
  :is(.st-key-stop, .st-key-go-on, .st-key-train)[data-stale=true] { display: none }
</style>"""


@dataclass
class Experiment:
    """A run under way, and what it has shown so far.

    unit: what a person calls its looks. error: what ended it early. clocked: whether a clock
    redraws it. busy: held by whoever works.
    """

    run: Run
    unit: str = "looks"
    looks: list[Look] = field(default_factory=list)
    state: Literal["running", "stopped", "done"] = "running"
    error: PlatoscopeError | None = None
    clocked: bool = False
    busy: Lock = field(default_factory=Lock)

    def work(self) -> None:
        """Take looks for a moment, at least one; none while another redraw, which a click cut
        short, still works on one.
        """
        if self.busy.acquire(blocking=False):
            try:
                self._take_looks()
            finally:
                self.busy.release()

    def _take_looks(self) -> None:
        until = time.monotonic() + MOMENT
        while self.state == "running":
            try:
                self.looks.append(next(self.run.looks))
            except StopIteration:
                self.state = "done"
            except PlatoscopeError as error:
                self.state, self.error = "done", error
            if time.monotonic() > until:
                return


def go_on(
    held: Experiment,
    show: Callable[[list[Look]], None],
    *,
    answer: DeltaGenerator | None = None,
) -> None:
    """Draw what an experiment has shown, with a bar of its progress and a button to stop it, and
    let it work while it runs.
    """
    held.clocked = held.state == "running"
    st.html(_ONE_BUTTON)

    @st.fragment(run_every=0.1 if held.clocked else None)
    def redraw() -> None:
        drawn = held.state
        _draw_state(held)
        with frame.part():
            if held.looks:
                show(held.looks)
            elif answer:
                answer.empty()  # a part may fill only what the whole page has drawn
            if held.error:
                raise held.error
        write_part()
        held.work()
        if held.state != drawn or held.clocked != (held.state == "running"):
            held.clocked = False  # until the page is drawn anew, which a quick click may put off
            st.rerun()

    redraw()


def _progress(held: Experiment) -> str:
    done, total = len(held.looks), held.run.total
    return f"{done} of {total} {held.unit}" if total else f"{done} {held.unit} so far"


def _draw_state(held: Experiment) -> None:
    if held.state == "done":
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        done, total = len(held.looks), held.run.total
        st.progress(done / total if total else min(done, 99) / 100, _progress(held))
        if held.state == "running":
            st.button(
                "Stop",
                icon=":material/stop:",
                key="stop",
                on_click=setattr,
                args=(held, "state", "stopped"),
            )
        else:
            st.button(
                "Go on",
                icon=":material/play_arrow:",
                key="go-on",
                on_click=setattr,
                args=(held, "state", "running"),
            )
