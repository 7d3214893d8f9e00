"""What was chosen on a chart, as the browser says; of what no browser sends nothing is taken."""

from __future__ import annotations

from typing import Any

import streamlit as st


def picked_dots(chart: str, *, around: bool = False) -> list[list[Any]]:
    """Return what the chosen dots of a chart stand for: the custom data of those that have any.

    around: only those that were drawn around, not one that was clicked.
    """
    try:
        picked = st.session_state[chart]["selection"]
        if around and not (picked.get("lasso") or picked.get("box")):
            return []
        return [list(dot["customdata"]) for dot in picked["points"] if dot.get("customdata")]
    except (AttributeError, KeyError, TypeError):
        return []
