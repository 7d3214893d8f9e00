"""The sidebar of every page: the product's name, links to all pages, and the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from core.demo import under_way
from core.settings import store_path
from core.study.models import tell_apart
from core.study.parts import CAVE
from pages._shared import address, queries
from pages._shared.chosen import selection
from pages._shared.frame import part

WORDMARK = """<style>
.st-key-head { margin-top: -2.6rem; flex-wrap: nowrap; }
.wordmark { font: 600 1.35rem "Source Serif 4", "Source Serif", serif; }
</style><div class="wordmark">Platoscope</div>"""


def draw(pages: Mapping[str, Sequence[Page]], *, over_store: bool) -> None:
    """Draw the links to all pages and, for a page over the store, the choice of the dataset."""
    links = st.container(gap="small", key="navigation")
    if over_store:
        _pick_dataset()
    with links:
        _navigate(pages)


def head() -> DeltaGenerator:
    """Draw the product's name at the head of the sidebar, and return what has room beside it."""
    beside = st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key="head",
    )
    beside.html(WORDMARK, width="content")
    return beside


def _navigate(pages: Mapping[str, Sequence[Page]]) -> None:
    """Draw a link to each page, in groups; the dataset goes along, and what was chosen of it."""
    along = address.chosen("dataset") | address.chosen(selection.KEY) | address.chosen("stimulus")
    for group, members in pages.items():
        if group:
            st.caption(group)
        for page in members:
            st.page_link(page, query_params=along)


def _pick_dataset() -> None:
    """Choose the dataset, offer what has come in since, and say what was left out."""
    cards = queries.store().datasets()
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
        _offer_news(dataset, len(queries.store().models(dataset)))
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


@st.fragment(run_every="10s")
def _offer_news(dataset: str, shown: int) -> None:
    _show_build(under_way(store_path()))
    now = queries.count_models(dataset)
    if now < 0:
        st.rerun(scope="app")
    label = f"{now} models now: show them" if now != shown else "Refresh"
    if st.button(label, icon=":material/refresh:", type="primary" if now != shown else "tertiary"):
        st.rerun(scope="app")
