"""A figure for a paper: as it will be printed, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.figures import exports
from core.figures.legends import legend_text
from core.figures.printing import ONE_COLUMN, TWO_COLUMNS, to_print
from core.recipe import Recipe
from pages._shared.files import images

T = TypeVar("T")
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
        width = _pick_one("Width", _WIDTHS, start=TWO_COLUMNS)
        transparent = _pick_one("Background", _GROUNDS, start=False)
    return width, transparent


def _pick_one(label: str, names: Mapping[T, str], *, start: T) -> T:
    """Choose one of a few values; the choice is the dialog's, and not of the address."""
    return st.segmented_control(
        label, names, default=start, format_func=names.__getitem__, required=True
    )
