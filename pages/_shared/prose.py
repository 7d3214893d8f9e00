"""Text around figures: the answer, and closed methods with further findings."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from pages._shared.frame import plain

_STATISTIC = re.compile(r"\b([nkpqrρ]) (=|\\?[<>]) ")


def answer(sentences: Sequence[str]) -> None:
    """Draw the findings that answer a page's question."""
    if sentences:
        st.markdown(unparted(plain(" ".join(sentences))))


def unparted(text: str) -> str:
    """Return a text in which no line ends within a statistic such as n = 5."""
    return _STATISTIC.sub("\\1\u00a0\\2\u00a0", text)


def explain(how: str, findings: Sequence[str] = (), formulas: Sequence[str] = ()) -> None:
    """Draw the methods of a figure, formulas and further findings, closed."""
    with st.expander("Methods and results" if findings else "Methods"):
        st.markdown(how)
        for formula in formulas:  # one below the other, since a phone shows no wide one
            st.latex(formula)
        st.markdown("\n".join(f"- {plain(one)}" for one in findings))
