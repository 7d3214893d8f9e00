"""The sidebar of every page: dataset, links to all pages, and a button that shows new data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st
from streamlit.navigation.page import Page

from core.cave.demo import under_way
from core.errors import PlatoscopeError, UnknownNameError
from core.figures.numbers import counted
from core.jobs import queue
from core.jobs.queue import Job
from core.settings import store_path
from core.study.models import tell_apart
from core.study.parts import CAVE
from pages._shared import address, facts, queries, selection
from pages._shared.address import Texts
from pages._shared.frame import part
from pages._shared.queries import Place

DATA = "data"  # the address of the page that shows jobs
IMPLICATIONS = "implications"
WORDMARK = """<style>
.st-key-head { margin-top: -2.6rem; }
.st-key-navigation { gap: 0.7rem; }  /* all pages and the dataset fit a window of 800 px */
.wordmark { font: 600 1.35rem "Source Serif 4", "Source Serif", serif; }
</style><div class="wordmark">Platoscope</div>"""
NEWS = "New data: show it"
NEW = "new"  # in the session while a page is being drawn
State = tuple[int, str] | None
IN_VIEW = """<style>
.st-key-news { position: fixed; bottom: 1.5rem; right: 1.5rem; width: auto; z-index: 100; }
</style>"""


def draw(pages: Sequence[Page], *, over_store: bool) -> str | None:
    """Draw the dataset and selected models of a page over the store, and links to all pages that
    apply to it, which keep this choice; return the dataset's name.
    """
    st.container(key="head").html(WORDMARK)
    dataset = _pick_dataset() if over_store else None
    keys = ("dataset", selection.KEY, "stimulus")
    along = {name: texts for key in keys for name, texts in address.chosen(key).items()}
    applies = dataset is None or facts.has_implications(queries.here(dataset))
    with st.container(gap="small", key="navigation"):
        for page in pages if applies else [one for one in pages if one.url_path != IMPLICATIONS]:
            link = _link_jobs if page.url_path == DATA else st.page_link
            link(page, query_params=along)
    return dataset


@st.fragment(run_every="5s")
def _link_jobs(page: Page, *, query_params: Texts) -> None:
    """Link to the page Data, with the number of running and waiting jobs."""
    jobs: list[Job] = []
    with suppress(PlatoscopeError):  # the page itself says what is wrong with the queue
        jobs = queue.unfinished(store_path())
    running = sum(job.state == "running" for job in jobs)
    counts = {"running": running, "waiting": len(jobs) - running}
    summary = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    label = f"{page.title}: {summary}" if summary else page.title
    st.page_link(page, label=label, query_params=query_params)


def _pick_dataset() -> str | None:
    """Draw the choice of the dataset, the progress of a build, and files left out."""
    cards, dataset = queries.store().datasets(), None
    if cards:
        names = [card.name for card in cards]
        titles = dict(zip(names, tell_apart([card.title for card in cards], names), strict=True))
        start = CAVE if CAVE in names else names[0]
        bound = address.bind("dataset", start, names)
        dataset = st.selectbox("Dataset", names, format_func=titles.__getitem__, **bound)
        with part():
            selection.pick(dataset)
    _follow_build(bool(cards), under_way(store_path()) is not None)
    problems = queries.store().problems()
    if problems:
        label = f"{counted(len(problems), 'file', 'files')} left out"
        with st.expander(label, icon=":material/warning:"):
            for problem in problems:
                st.text(problem)
    return dataset


@st.fragment(run_every="2s")
def _follow_build(has_datasets: bool, building: bool) -> None:
    """Draw the progress of a build; redraw the page once an empty store has a dataset, or if its
    build begins or ends.
    """
    built = under_way(store_path())
    if not has_datasets and (queries.store().datasets() or (built is not None) != building):
        st.rerun(scope="app")
    if built:
        done, total, what = built
        st.progress(done / total, f"Building the demo: {done} of {total} {what}")


def offer_news(dataset: str) -> None:
    """Offer a button that shows what came into the store after the page was drawn."""
    st.html(IN_VIEW)
    shown = _state_of(dataset, queries.here)
    st.session_state[NEW] = True
    with st.container(key="news"):
        _offer(dataset, shown)


@st.fragment(run_every="5s")
def _offer(dataset: str, shown: State) -> None:
    if st.session_state.pop(NEW, False):  # the page is being drawn
        return
    now = _state_of(dataset, queries.place)
    if now is None:
        st.rerun(scope="app")
    if now != shown and st.button(NEWS, icon=":material/refresh:", type="primary"):
        st.rerun(scope="app")


def _state_of(dataset: str, find: Callable[[str], Place]) -> State:
    """Return the number of datasets, and the digest of this one; None if it is gone."""
    try:
        return len(queries.store().datasets()), find(dataset).digest
    except UnknownNameError:
        return None
