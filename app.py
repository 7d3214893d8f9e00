"""The frame: page settings, navigation and the sidebar that all pages share."""

import streamlit as st

from core.settings import ROOT
from pages._server import memory
from pages._shared import address, frame, news, sidebar
from pages._shared.chosen import panel

PAGES = {
    "": [
        st.Page(
            "pages/overview.py",
            title="Overview",
            icon=":material/landscape:",
            url_path="start",
            default=True,
        )
    ],
    "Models": [
        st.Page(
            "pages/alignment.py",
            title="Alignment",
            icon=":material/query_stats:",
            url_path="alignment",
        ),
        st.Page(
            "pages/competence.py",
            title="Competence",
            icon=":material/trending_up:",
            url_path="competence",
        ),
        st.Page(
            "pages/convergence.py",
            title="Convergence",
            icon=":material/join_inner:",
            url_path="convergence",
        ),
        st.Page(
            "pages/benefits.py",
            title="Benefits",
            icon=":material/redeem:",
            url_path="benefits",
        ),
        st.Page("pages/models.py", title="Models", icon=":material/hub:", url_path="models"),
        st.Page(
            "pages/metrics.py", title="Metrics", icon=":material/straighten:", url_path="metrics"
        ),
    ],
    "Stimuli": [
        st.Page(
            "pages/stimuli.py", title="Stimuli", icon=":material/photo_library:", url_path="stimuli"
        ),
        st.Page(
            "pages/dispersion.py",
            title="Dispersion",
            icon=":material/scatter_plot:",
            url_path="dispersion",
        ),
        st.Page(
            "pages/captions.py", title="Captions", icon=":material/notes:", url_path="captions"
        ),
        st.Page("pages/color.py", title="Color", icon=":material/palette:", url_path="color"),
    ],
    "Experiments": [
        st.Page("pages/adapters.py", title="Adapters", icon=":material/join:", url_path="adapters"),
        st.Page(
            "pages/experiments/stitching.py",
            title="Stitching",
            icon=":material/cable:",
            url_path="stitching",
        ),
        st.Page(
            "pages/experiments/reading.py",
            title="Reading across",
            icon=":material/auto_stories:",
            url_path="reading",
        ),
        st.Page(
            "pages/experiments/neurons.py",
            title="Neurons",
            icon=":material/neurology:",
            url_path="neurons",
        ),
        st.Page(
            "pages/experiments/translation.py",
            title="Translation",
            icon=":material/translate:",
            url_path="translation",
        ),
    ],
    "Theory": [
        st.Page(
            "pages/theory/contrastive.py",
            title="Co-occurrence",
            icon=":material/graph_2:",
            url_path="theory-contrastive",
        ),
        st.Page(
            "pages/theory/deep_linear.py",
            title="Deep linear networks",
            icon=":material/stacks:",
            url_path="theory-deep-linear",
        ),
        st.Page(
            "pages/theory/attention.py",
            title="Queries and keys",
            icon=":material/key:",
            url_path="theory-attention",
        ),
    ],
    "Store": [
        st.Page(
            "pages/library.py", title="Library", icon=":material/inventory_2:", url_path="library"
        ),
        st.Page("pages/jobs.py", title="Jobs", icon=":material/manufacturing:", url_path="jobs"),
    ],
}


def draw() -> None:
    """Draw the page that the address names, in its frame."""
    icon = str(ROOT / "data" / "icon.png")
    st.set_page_config(page_title="Platoscope", page_icon=icon, layout="wide")
    page = st.navigation(PAGES, position="hidden")
    address.begin(page.url_path)
    frame.watch_window()
    frame.keep_legible()
    over_store = page not in PAGES["Theory"]
    with st.sidebar:
        dataset = sidebar.draw(PAGES, over_store=over_store)
    if dataset:
        news.follow(dataset)
    if over_store:
        panel.show()  # it stays in view wherever it is drawn, and need not wait for the page
    page.run()
    memory.freeze_imports()


if __name__ == "__main__":  # processes that are started for work import this file too
    draw()
