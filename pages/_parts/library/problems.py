"""The files of the store that are left out, and why."""

from __future__ import annotations

import streamlit as st

from pages._shared import queries


def show() -> None:
    """Draw a sentence for each file that cannot be used; it says what to do with it."""
    problems = queries.store().problems()
    if not problems:
        st.markdown("Every file of the store can be used.")
        return
    st.markdown(
        "These files are in the store's folder, but no page and no command uses them. Each says"
        " why, and what to do."
    )
    for problem in problems:
        with st.container(border=True):
            st.text(problem)
