"""A figure for a paper: as it will be printed, and its files."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.figures import exports
from core.figures.legends import legend_text
from core.figures.printing import ONE_COLUMN, TWO_COLUMNS, to_print
from core.recipe import Recipe
from pages._shared.files import images

_WIDTHS = {ONE_COLUMN: "85 mm, one column", TWO_COLUMNS: "175 mm, two columns"}
_GROUNDS = {False: "White", True: "Transparent"}


@st.fragment
def draw_button(figure: go.Figure, table: pd.DataFrame, recipe: Recipe, *, key: str) -> None:
    """Draw the button that shows a figure as it will be printed."""
    if st.button("Figure", type="tertiary", key=f"figure-{key}"):
        _show(figure, table, recipe, key=key)


@st.dialog("Figure for a paper", width="large")
def _show(figure: go.Figure, table: pd.DataFrame, recipe: Recipe, *, key: str) -> None:
    title, caption = figure.layout.meta["title"], legend_text(figure, table, recipe)
    width, transparent = _pick()
    printed = to_print(figure, width=width, transparent=transparent)
    chart = f"chart-print-{key}"
    with st.container(key=chart):
        config = {"displaylogo": False, "modeBarButtons": [["toImage"]], "displayModeBar": True}
        st.plotly_chart(
            printed, theme=None, key=f"print-{key}", width=printed.layout.width, config=config
        )
    name, text = exports.file_name(title, recipe, "")[:-1], exports.to_recipe_json(recipe).decode()
    images.draw_formats(images.Print(chart, name, title, caption, text, width), key=key)
    st.caption("Text to set below it:")
    st.code(caption, language=None, wrap_lines=True)


def _pick() -> tuple[int, bool]:
    """Choose the width in millimeters, and whether the ground is transparent."""
    with st.container(horizontal=True):
        width = st.segmented_control(
            "Width",
            _WIDTHS,
            default=TWO_COLUMNS,
            format_func=lambda one: _WIDTHS[one],
            required=True,
        )
        transparent = st.segmented_control(
            "Background",
            _GROUNDS,
            default=False,
            format_func=lambda one: _GROUNDS[one],
            required=True,
        )
    return width, transparent
