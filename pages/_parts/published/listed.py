"""What was published of what a page shows, listed with the command that answers it here."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from core.questions.published import On, PublishedValues, list_published
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
NOTE = """Published values, each with its source. If this dataset and these models are the published
ones, embedded as usual, your values appear next to them in what this prints{drawn}. A dataset from
outside the hub, such as COCO, is recognized by its name and size:"""
DRAWN: Mapping[On, str] = {
    "alignment": ", and the published ones as crosses among the raw scores above",
    "dispersion": ", and the published ones in the headings of the models held out",
}


def show(at: Place, about: On) -> None:
    """Draw the list, closed."""
    question = PublishedValues(at.scope, about)

    def draw() -> None:
        st.markdown(NOTE.format(drawn=DRAWN.get(about, "")))
        st.code(frame.question_command(question), language="bash", wrap_lines=True)
        st.dataframe(_table(at, question), hide_index=True)

    frame.fold("What was published", draw, key=f"published-{about}")


@st.cache_data(max_entries=32, show_spinner=False)
def _table(at: Place, question: PublishedValues) -> pd.DataFrame:
    table = list_published(question, queries.study(at))
    return table[list(COLUMNS)].rename(columns=COLUMNS)
