"""What was published of what a page shows, listed with the command that answers it here."""

from __future__ import annotations

import streamlit as st

from core.questions.published.answer import list_published
from core.questions.published.question import On, PublishedValues
from pages._shared import frame, queries
from pages._shared.queries import Place

COLUMNS = {
    "work": "work",
    "place": "figure or table",
    "what": "what",
    "x": "model",
    "y": "compared with",
    "dataset": "dataset",
    "published": "published",
    "command": "command",
    "source": "source",
}
NOTE = """Values that others published, each with its source. Where this dataset and these models
are the same ones, they are drawn above, too; this prints one’s own beside them:"""


def show(at: Place, about: On) -> None:
    """Draw the list, folded away."""
    question = PublishedValues(at.scope, about)
    with st.expander("What was published"):
        st.markdown(NOTE)
        st.code(frame.question_command(question), language="bash", wrap_lines=True)
        table = list_published(question, queries.study(at))
        st.dataframe(table[list(COLUMNS)].rename(columns=COLUMNS), hide_index=True)
