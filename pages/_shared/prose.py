"""Text around figures: the answer, and closed methods with further findings."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages._shared.frame import plain


def answer(sentences: Sequence[str]) -> None:
    """Draw the findings that answer a page's question."""
    if sentences:
        st.markdown(plain(" ".join(sentences)))


def explain(how: str, findings: Sequence[str] = (), formulas: Sequence[str] = ()) -> None:
    """Draw the methods of a figure, formulas and further findings, closed."""
    with st.expander("Methods and results" if findings else "Methods"):
        st.markdown(how)
        for formula in formulas:  # one below the other, since a phone shows no wide one
            st.latex(formula)
        st.markdown("\n".join(f"- {plain(one)}" for one in findings))
