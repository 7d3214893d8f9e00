"""Tables of the Library: a click on a row opens it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

UNKNOWN = "—"
number = st.column_config.NumberColumn
COLUMNS = {  # how a column of this name is drawn: as numbers, since a click on its head sorts it
    **dict.fromkeys(("size", "stimuli on disk", "embeddings", "results"), number(format="bytes")),
    "parameters": number(format="compact"),
    "time": number(format="%.1f s"),
    "alignment": number(format="%.3f"),
}


def days(made_at: pd.Series) -> pd.Series:
    """Return the days of times in ISO 8601, a dash where a time is unknown."""
    return made_at.str[:10].replace("", UNKNOWN)


def draw(table: pd.DataFrame, *, key: str, opens: tuple[str, Sequence[str]]) -> None:
    """Draw a table; a click on a row puts its name into a control.

    opens: the control's key, and the name of each row.
    """
    control, names = opens
    count = f"{key}-clicks"
    clicks = st.session_state.setdefault(count, 0)
    grid = (
        f"{key}-{clicks}"  # a new one after each click, or the same row could not be clicked again
    )

    def choose() -> None:
        if cells := st.session_state[grid].selection.cells:
            st.session_state[control] = names[cells[0][0]]
            st.session_state[count] = clicks + 1

    with st.container(key=key):
        st.dataframe(
            table,
            key=grid,
            column_config=COLUMNS,
            hide_index=True,
            on_select=choose,
            selection_mode="single-cell",
            placeholder=UNKNOWN,
        )


def when(made_at: str) -> str:
    """Return a time in ISO 8601 for people, a dash where it is unknown."""
    return made_at.replace("T", " ").replace("+00:00", " UTC") or UNKNOWN


def height(table: pd.DataFrame) -> int:
    """Return the height in pixels of a table that scrolls beyond ten rows."""
    return 35 * (min(len(table), 10) + 1) + 3
