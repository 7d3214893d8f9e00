"""A page that is open while the store grows says so, and is drawn again at a click."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.errors import UnknownNameError
from core.figures.numbers import counted
from pages._shared import queries

IN_VIEW = """<style>
.st-key-news { position: fixed; bottom: 1.5rem; right: 1.5rem; width: auto; z-index: 100; }
</style>"""


class News(NamedTuple):
    """What a store holds: models embedded over a dataset (-1 if it is gone), datasets, and the
    digest of all that is published over the dataset.
    """

    models: int
    datasets: int
    digest: str


def follow(dataset: str) -> None:
    """Offer what comes into the store after the page was drawn; it is shown when the visitor asks
    for it.
    """
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
