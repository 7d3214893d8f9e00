"""The sidebar of every page: the product's name, links to all pages, and the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import streamlit as st
from streamlit.navigation.page import Page

from core.cave.demo import under_way
from core.errors import PlatoscopeError
from core.jobs import queue
from core.jobs.job import Job
from core.settings import store_path
from core.study.models import tell_apart
from core.study.parts import CAVE
from pages._shared import address, queries
from pages._shared.chosen import selection
from pages._shared.frame import part
from pages._shared.texts import Texts

JOBS = "jobs"  # the address of the page that shows them
WORDMARK = """<style>
.st-key-head { margin-top: -2.6rem; }
.st-key-navigation { gap: 0.7rem; }  /* all pages and the dataset fit a window of 800 px */
.wordmark { font: 600 1.35rem "Source Serif 4", "Source Serif", serif; }
</style><div class="wordmark">Platoscope</div>"""


def draw(pages: Mapping[str, Sequence[Page]], *, over_store: bool) -> str | None:
    """Draw the product's name, links to all pages and, for a page over the store, the choice of the
    dataset; return the name of the dataset, None if there is none.
    """
    st.container(key="head").html(WORDMARK)
    links = st.container(gap="small", key="navigation")
    dataset = _pick_dataset() if over_store else None
    with links:
        _navigate(pages)
    return dataset


def _navigate(pages: Mapping[str, Sequence[Page]]) -> None:
    """Draw a link to each page, in groups; the dataset goes along, and what was chosen of it."""
    along = address.chosen("dataset") | address.chosen(selection.KEY) | address.chosen("stimulus")
    for group, members in pages.items():
        if group:
            st.caption(group)
        for page in members:
            draw = _link_jobs if page.url_path == JOBS else st.page_link
            draw(page, query_params=along)


@st.fragment(run_every="5s")
def _link_jobs(page: Page, *, query_params: Texts) -> None:
    """Link to the jobs, and say how many run and wait."""
    jobs: list[Job] = []
    with suppress(PlatoscopeError):  # the page itself says what is wrong with the queue
        jobs = queue.unfinished(store_path())
    running = sum(job.state == "running" for job in jobs)
    counts = {"running": running, "waiting": len(jobs) - running}
    summary = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    st.page_link(
        page, label=f"{page.title}: {summary}" if summary else page.title, query_params=query_params
    )


def _pick_dataset() -> str | None:
    """Choose the dataset, show how far a build is, and say what was left out."""
    cards, dataset = queries.store().datasets(), None
    if cards:
        names = [card.name for card in cards]
        titles = dict(zip(names, tell_apart([card.title for card in cards], names), strict=True))
        dataset = st.selectbox(
            "Dataset",
            names,
            format_func=titles.__getitem__,
            **address.bind("dataset", CAVE if CAVE in names else names[0], names),
        )
        with part():
            selection.pick(dataset)
        _follow_build()
    else:
        _await_dataset(under_way(store_path()) is not None)
    problems = queries.store().problems()
    if problems:
        with st.expander(
            f"{len(problems)} file{'s' if len(problems) > 1 else ''} left out",
            icon=":material/warning:",
        ):
            for problem in problems:
                st.text(problem)
    return dataset


@st.fragment(run_every="2s")
def _await_dataset(building: bool) -> None:
    """Draw the page anew once a build begins or ends, or a dataset is there; until then show how
    far the build is.
    """
    built = under_way(store_path())
    if queries.store().datasets() or (built is not None) != building:
        st.rerun(scope="app")
    _show_build(built)


def _show_build(built: tuple[int, int, str] | None) -> None:
    if built:
        done, total, what = built
        st.progress(done / total, f"Building the demo: {done} of {total} {what}")


@st.fragment(run_every="5s")
def _follow_build() -> None:
    _show_build(under_way(store_path()))
