"""The frame that all pages share, which the server runs for each: settings, navigation, sidebar."""

from typing import NamedTuple

import streamlit as st

from core.settings import ROOT
from pages._shared import address, frame, selection, sidebar


class Entry(NamedTuple):
    """A page in the navigation: its file in pages/, its name in the address, and its icon."""

    file: str
    path: str
    title: str
    icon: str


PAGES = {
    "": [Entry("overview.py", "start", "Overview", "landscape")],
    "Models": [
        Entry("alignment.py", "alignment", "Alignment", "query_stats"),
        Entry("competence.py", "competence", "Competence", "trending_up"),
        Entry("convergence.py", "convergence", "Convergence", "join_inner"),
        Entry("benefits.py", "benefits", "Benefits", "redeem"),
        Entry("models.py", "models", "Models", "hub"),
        Entry("metrics.py", "metrics", "Metrics", "straighten"),
    ],
    "Stimuli": [
        Entry("stimuli.py", "stimuli", "Stimuli", "photo_library"),
        Entry("dispersion.py", "dispersion", "Dispersion", "scatter_plot"),
        Entry("captions.py", "captions", "Captions", "notes"),
        Entry("color.py", "color", "Color", "palette"),
    ],
    "Experiments": [
        Entry("adapters.py", "adapters", "Adapters", "join"),
        Entry("stitching.py", "stitching", "Stitching", "cable"),
        Entry("reading.py", "reading", "Reading across", "auto_stories"),
        Entry("neurons.py", "neurons", "Neurons", "neurology"),
        Entry("translation.py", "translation", "Translation", "translate"),
    ],
    "Theory": [
        Entry("theory.py", "theory", "Theory", "function"),
    ],
    "Store": [
        Entry("library.py", "library", "Library", "inventory_2"),
        Entry("jobs.py", "jobs", "Jobs", "manufacturing"),
    ],
}
START = PAGES[""][0]


def draw() -> None:
    """Draw the page that the address names, in its frame."""
    icon = str(ROOT / "data" / "icon.png")
    st.set_page_config(page_title="Platoscope", page_icon=icon, layout="wide")
    pages = {
        group: [
            st.Page(
                page.file,
                title=page.title,
                icon=f":material/{page.icon}:",
                url_path=page.path,
                default=page is START,
            )
            for page in entries
        ]
        for group, entries in PAGES.items()
    }
    every = [page for group in pages.values() for page in group]
    page = st.navigation([*every, *address.former_pages(every)], position="hidden")
    if page not in every:
        page.run()  # opens another page
    address.begin(page.url_path)
    frame.watch_window()
    frame.keep_legible()
    over_store = page not in pages["Theory"]
    with st.sidebar:
        dataset = sidebar.draw(pages, over_store=over_store)
    if dataset:
        sidebar.offer_news(dataset)
    if over_store:
        selection.show_chosen()  # it stays in view, and need not wait for the page
    page.run()
    frame.freeze_imports()


if __name__ == "__main__":  # processes that are started for work import this file too
    draw()
