"""The frame that all pages share, which the server runs for each: settings, navigation, sidebar."""

from typing import NamedTuple

import streamlit as st

from core.settings import ROOT
from pages._shared import address, frame, queries, selection, sidebar


class Entry(NamedTuple):
    """A page in the navigation: its file in pages/, its name in the address, and its icon.

    over_store: whether it is about a dataset of the store.
    """

    file: str
    path: str
    title: str
    icon: str
    over_store: bool = True


PAGES = (
    Entry("overview.py", "start", "Overview", "landscape"),
    Entry("trends.py", "trends", "Trends", "trending_up"),
    Entry("why.py", "why", "Why", "psychology_alt"),
    Entry("models.py", "models", "Models", "hub"),
    Entry("images.py", "images", "Images", "photo_library"),
    Entry("color.py", "color", "Color", "palette"),
    Entry("robustness.py", "robustness", "Robustness", "straighten"),
    Entry("transfer.py", "transfer", "Transfer", "cable"),
    Entry("implications.py", "implications", "Implications", "redeem"),
    Entry("theory.py", "theory", "Theory", "function", over_store=False),
    Entry("data.py", "data", "Data", "inventory_2"),
)
START = PAGES[0]


def draw() -> None:
    """Draw the page that the address names, in its frame."""
    icon = str(ROOT / "data" / "icon.png")
    st.set_page_config(page_title="Platoscope", page_icon=icon, layout="wide")
    entries = {
        st.Page(
            entry.file,
            title=entry.title,
            icon=f":material/{entry.icon}:",
            url_path=entry.path,
            default=entry is START,
        ): entry
        for entry in PAGES
    }
    every = [*entries]
    page = st.navigation([*every, *address.former_pages(every)], position="hidden")
    if page not in every:
        page.run()  # opens another page
    address.begin(page.url_path)
    queries.begin()
    frame.watch_window()
    frame.keep_legible()
    over_store = entries[page].over_store
    with st.sidebar:
        dataset = sidebar.draw(every, over_store=over_store)
    if dataset:
        sidebar.offer_news(dataset)
    if over_store:
        selection.show_chosen()  # it stays in view, and need not wait for the page
    page.run()
    frame.freeze_imports()


if __name__ == "__main__":  # processes that are started for work import this file too
    draw()
