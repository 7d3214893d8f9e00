"""What a page says around its plots: the answer first, how a plot is read and what is seen in it
one click away.
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


def explain(how: str, findings: Sequence[str] = ()) -> None:
    """Draw how a plot is read and, next to it, what is seen, both closed."""
    reading, *seeing = st.columns(2 if findings else 1)  # one below the other on a phone
    with reading, st.expander("How to read it"):
        st.markdown(how)
    for place in seeing:
        with place, st.expander("What is seen"):
            st.markdown(plain(" ".join(findings)))


def derive(formulas: Sequence[str]) -> None:
    """Draw what is claimed as formulas, one below the other, since a phone shows no wide one."""
    with st.expander("The formulas"):
        for formula in formulas:
            st.latex(formula)
