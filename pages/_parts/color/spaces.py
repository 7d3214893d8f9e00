"""Layouts of colors side by side, and two of them over each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.questions.color import space_figures as figures
from core.questions.color.perception import color_words
from pages._parts.color import cloud
from pages._parts.color.hues import Hues
from pages._shared import exportbar, frame, prose
from pages._shared.address import fragment
from pages._shared.queries import Place

READING = """Each dot is a color, drawn in that color. Dots that are close are
colors that the source finds similar. Each layout is rotated, scaled and, where that fits better,
mirrored onto perception, so that all share the axes {axes}. τ says how well the order of color
differences matches perception's (0 is chance), disparity how much of the layout's shape does not
(0 is the same, 1 nothing in common)."""
AXES = {
    3: "of CIELAB: L* dark to light, a* green to red, b* blue to yellow",
    2: "of perception's own plane",
}
WORDS = """The words are 24 from two public surveys that asked which color a word means. The
published figure has 20 words of another survey; neither they nor their coordinates are public, so
these words differ. A layout has the colors that its source has:"""

Tables = Mapping[str, pd.DataFrame]  # layouts by source


@fragment
def show(at: Place, hues: Hues, tables: Tables) -> None:
    """Draw the layouts and the overlay.

    A fragment: choosing what is overlaid redraws nothing else.
    """
    dims, above = hues.question.dims, st.container()
    st.header("Two layouts overlaid", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        x, y = _pick_two(hues, list(tables))
    mode, narrow = frame.mode(), frame.narrow()
    with above:
        figure = figures.layouts(list(tables.values()), mode=mode, narrow=narrow)
        draw(at, hues, figure, tables, key="layouts")
        prose.explain(READING.format(axes=AXES[dims]))
        _show_words(tables)
    figure = figures.overlay(tables[x], tables[y], mode=mode)
    draw(at, hues, figure, {name: tables[name] for name in (x, y)}, key="overlay")
    with frame.part():
        cloud.show(at, hues)


def draw(at: Place, hues: Hues, figure: go.Figure, tables: Tables, *, key: str) -> None:
    """Draw a figure of some layouts with its export bar."""
    table = pd.concat(list(tables.values()), ignore_index=True)
    exportbar.draw(at, hues.layout(*tables), figure, key=key, table=table)


def _pick_two(hues: Hues, names: list[str]) -> tuple[str, str]:
    look: dict[str, Any] = {
        "format_func": hues.titles.get,
        "bind": "query-params",
        "width": 320,
    }
    x = st.selectbox("Dots and words", names, key="over-x", **look)
    y = st.selectbox("Squares", names, index=min(1, len(names) - 1), key="over-y", **look)
    return x, y


def _show_words(tables: Tables) -> None:
    """Show which words each source lays out and which it lacks."""
    every = list(color_words()["word"])
    with st.expander("Which colors, and why not others"):
        st.markdown(WORDS)
        lacks = {
            table["source"].iloc[0]: [word for word in every if word not in set(table["color"])]
            for table in tables.values()
        }
        rows = [
            {"source": title, "colors": len(table), "missing words": ", ".join(words)}
            for (title, words), table in zip(lacks.items(), tables.values(), strict=True)
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True)
