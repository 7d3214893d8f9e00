"""What was chosen on a chart, as the browser says; of what no browser sends nothing is taken."""

from __future__ import annotations

from typing import Any

import streamlit as st


def picked_dots(chart: str) -> list[list[Any]]:
    """Return what the chosen dots of a chart stand for: the custom data of those that have any."""
    try:
        points = st.session_state[chart]["selection"]["points"]
        return [list(point["customdata"]) for point in points if point.get("customdata")]
    except (AttributeError, KeyError, TypeError):
        return []


def is_drawn_around(chart: str) -> bool:
    """Return whether dots were chosen by an area, not by a click."""
    try:
        selection = st.session_state[chart]["selection"]
        return bool(selection.get("lasso") or selection.get("box"))
    except (AttributeError, KeyError, TypeError):
        return False
