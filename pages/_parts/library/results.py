"""What is kept over a dataset: answers, neighbors and measurements."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.machine.memory import size_text
from core.questions.kept import STALE
from core.store.editing import results_over
from pages._parts.library import changes, held, tables
from pages._shared import bar, controls, queries
from pages._shared.address import bind
from pages._shared.queries import Place

STATES = {"any": "All", "fresh": "Fresh", "stale": "Stale"}
READING = """A fresh result is shown instead of being computed again. What a **stale** one rests on
has changed since: a model was embedded again, or Platoscope computes it in another way now. It is
never shown, and takes room."""


def show(at: Place) -> None:
    """Draw a row per result, and offer to delete those that are stale."""
    kept = tuple((one.name, one.made_at) for one in results_over(queries.store().root, at.dataset))
    every = held.results(at, kept)
    stale = every[every["state"] == STALE]
    with bar.controls_bar():
        text = st.text_input("Search", placeholder="part of a question", **bind("search", ""))
        state = controls.pick_segment("State", STATES, "state", start="any")
    st.markdown(READING)
    if len(stale):
        made = dict(zip(stale["name"], stale["made_at"], strict=True))
        changes.offer_results(at.dataset, made, int(stale["bytes"].sum()))
    rows = every[every["holds"].str.contains(text, case=False, regex=False)]
    _draw(rows if state == "any" else rows[rows["state"] == state], len(every))


def _draw(rows: pd.DataFrame, total: int) -> None:
    size = size_text(int(rows["bytes"].sum()))
    st.caption(f"{len(rows)} of {total} results, {size} on the disk")
    shown = pd.DataFrame(
        {
            "result": rows["holds"],
            "asked": rows["about"],
            "models": rows["models"],
            "size": rows["bytes"],
            "made": tables.days(rows["made_at"]),
            "state": rows["state"],
        }
    )
    st.dataframe(shown, hide_index=True, column_config=tables.COLUMNS)
