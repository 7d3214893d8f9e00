"""The sidebar of every page: the product's name, links to all pages, and the dataset; and the
button that shows what came into the store after a page was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

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
from pages._shared import address, queries, selection
from pages._shared.address import Texts
from pages._shared.frame import part

DATA = "data"  # the address of the page that shows jobs
WORDMARK = """<style>
.st-key-head { margin-top: -2.6rem; }
.st-key-navigation { gap: 0.7rem; }  /* all pages and the dataset fit a window of 800 px */
.wordmark { font: 600 1.35rem "Source Serif 4", "Source Serif", serif; }
</style><div class="wordmark">Platoscope</div>"""
IN_VIEW = """<style>
.st-key-news { position: fixed; bottom: 1.5rem; right: 1.5rem; width: auto; z-index: 100; }
</style>"""


def draw(pages: Sequence[Page], *, over_store: bool) -> str | None:
    """Draw the product's name, for a page over the store the choice of the dataset and of models,
    and links to all pages; return the name of the dataset, None if there is none.

    The dataset goes along with the links, and what was chosen of it.
    """
    st.container(key="head").html(WORDMARK)
    dataset = _pick_dataset() if over_store else None
    keys = ("dataset", selection.KEY, "stimulus")
    along = {name: texts for key in keys for name, texts in address.chosen(key).items()}
    with st.container(gap="small", key="navigation"):
        for page in pages:
            link = _link_jobs if page.url_path == DATA else st.page_link
            link(page, query_params=along)
    return dataset


@st.fragment(run_every="5s")
def _link_jobs(page: Page, *, query_params: Texts) -> None:
    """Link to the data and jobs, and say how many run and wait."""
    jobs: list[Job] = []
    with suppress(PlatoscopeError):  # the page itself says what is wrong with the queue
        jobs = queue.unfinished(store_path())
    running = sum(job.state == "running" for job in jobs)
    counts = {"running": running, "waiting": len(jobs) - running}
    summary = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    label = f"{page.title}: {summary}" if summary else page.title
    st.page_link(page, label=label, query_params=query_params)


def _pick_dataset() -> str | None:
    """Choose the dataset, show how far a build is, and say what was left out."""
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
    """Show how far a build is; draw the page again if there is a first dataset, or if a build of an
    empty store begins or ends.
    """
    built = under_way(store_path())
    if not has_datasets and (queries.store().datasets() or (built is not None) != building):
        st.rerun(scope="app")
    if built:
        done, total, what = built
        st.progress(done / total, f"Building the demo: {done} of {total} {what}")


class News(NamedTuple):
    """What a store holds: models embedded over a dataset (-1 if it is gone), datasets, and the
    digest of all that is published over the dataset.
    """

    models: int
    datasets: int
    digest: str


def offer_news(dataset: str) -> None:
    """Offer what comes into the store after the page was drawn; it is shown at a click."""
    st.html(IN_VIEW)
    with st.container(key="news"):
        _offer(dataset, _now(dataset))


@st.fragment(run_every="5s")
def _offer(dataset: str, shown: News) -> None:
    now = _now(dataset)
    if now.models < 0:
        st.rerun(scope="app")
    offer = what_came(now, shown)
    if offer and st.button(offer, icon=":material/refresh:", type="primary"):
        st.rerun(scope="app")


def _now(dataset: str) -> News:
    datasets = len(queries.store().datasets())
    try:
        at = queries.place(dataset)
    except UnknownNameError:
        return News(-1, datasets, "")
    return News(queries.count_models(at), datasets, at.digest)


def what_came(now: News, shown: News) -> str:
    """Return what a button says that shows what is new; "" if nothing is."""
    if now == shown:
        return ""
    for count, before, one in (
        (now.models, shown.models, "model"),
        (now.datasets, shown.datasets, "dataset"),
    ):
        if count != before:
            return f"{counted(count, one, f'{one}s')} now: show {'it' if count == 1 else 'them'}"
    return "New results: show them"
