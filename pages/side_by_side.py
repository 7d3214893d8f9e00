"""Two views of the dashboard beside each other, each of which works as it does alone."""

from __future__ import annotations

import streamlit as st

from core.figures.theme import INK
from core.settings import store_path
from core.store.notes.views import SavedView, read_views
from pages._shared import address, frame
from pages._shared.saved import links

SIDES = ("left", "right")
STYLE = """<style>
[data-testid=stMainBlockContainer] {{ padding-left: 1rem; padding-right: 1rem; }}
[data-testid=stIFrame] {{
  height: max(30rem, calc(100vh - 11.5rem)); border: 1px solid {edge} !important;
}}
</style>"""


def show() -> None:
    """Draw two views, each below its name."""
    linked = [link for side in SIDES for link in st.query_params.get_all(side)]
    views: list[SavedView] = []
    with frame.part():
        views = read_views(store_path())
    options = links.options(views, linked)
    st.html(STYLE.format(edge=INK[frame.mode()].chance))
    for side, column, start in zip(SIDES, st.columns(2), options, strict=False):
        with column:
            _draw_side(side, options, start)


def _draw_side(side: str, options: dict[str, str], start: str) -> None:
    link = st.selectbox(
        f"{side.capitalize()} view",
        list(options),
        format_func=options.__getitem__,
        **address.bind(side, start, options, kind="view"),
    )
    page = links.page_of(link)
    if page:
        st.page_link(
            page,
            label="Open alone",
            icon=":material/open_in_full:",
            query_params=links.query_of(link),
        )
    st.iframe(_embedded(link), height=600, alt=options[link])


def _embedded(link: str) -> str:
    """Return a link without the frame that Streamlit draws around a page, in this page's colors."""
    joint = "&" if "?" in link else "?"
    return f"{link}{joint}embed=true&embed_options={frame.mode()}_theme"


frame.draw_alone("How do two views compare?", show)
