"""What a page says around its figures: the answer first, methods and further results one click
away.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages._shared.frame import plain

LEAD = 2  # findings that make the answer of a page; the others are seen below the plot


def answer(sentences: Sequence[str]) -> None:
    """Draw the answer of a page: the first of a question's findings says it, the second its
    strongest caveat.
    """
    if sentences:
        st.markdown(plain(" ".join(sentences)))


def explain(how: str, findings: Sequence[str] = (), formulas: Sequence[str] = ()) -> None:
    """Draw how a figure was made, with its formulas, and all further findings, closed."""
    with st.expander("Methods and results" if findings else "Methods"):
        st.markdown(how)
        for formula in formulas:  # one below the other, since a phone shows no wide one
            st.latex(formula)
        st.markdown("\n".join(f"- {plain(one)}" for one in findings))
