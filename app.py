"""The frame: page settings, navigation and the sidebar that all pages share."""

import streamlit as st

from core.settings import ROOT
from views._shared import frame

st.set_page_config(page_title="Platoscope", page_icon=str(ROOT / "data" / "icon.png"), layout="wide")

# The folder must not be called `pages`: on a fresh server Streamlit takes that one for its old page discovery, so that the first
# deep link finds no page, or runs a page's file without this frame where the url_path is the file's stem.
PAGES = [
    st.Page("views/overview.py", title="Overview", icon=":material/landscape:", url_path="start", default=True),
    st.Page("views/alignment.py", title="Alignment", icon=":material/query_stats:", url_path="align"),
    st.Page("views/stimuli.py", title="Stimuli", icon=":material/photo_library:", url_path="gallery"),
]

page = st.navigation(PAGES)
frame.watch_width()
with st.sidebar:
    frame.sidebar()
page.run()
