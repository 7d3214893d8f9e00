"""Layouts of colors side by side, and two of them over each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.questions.color import space_figures as figures
from core.questions.color.geometry.words import color_words
from pages._parts.color import turning
from pages._parts.color.hues import Asked
from pages._shared import exportbar, frame, queries
from pages._shared.queries import Place

READING = """**How to read it.** A dot is a color, drawn in itself. Near dots are colors that the
source finds alike. Each layout is turned, scaled and, where that fits better,
mirrored onto perception, so that all have the axes {axes}. τ says how far all pairs
of colors keep perception's order of unlikeness (0 is chance), disparity what of the
layout's shape is not perception's (0 is the same, 1 nothing). {turn}**Point at a
color** to find it in all."""
AXES = {
    3: "of CIELAB: L* dark to light, a* green to red, b* blue to yellow",
    2: "of perception's own plane",
}
WORDS = """The words are 24 of two public surveys that asked which color a word means. The
published figure has 20 words of another survey; neither they nor where it puts them
are public, so these are not they. A layout has the colors that its source has:"""


@st.fragment
def show(at: Place, asked: Asked, tables: Mapping[str, pd.DataFrame], dims: int) -> None:
    """Draw the layouts and the overlay.

    A fragment: turning them, or choosing what is overlaid, draws nothing else anew.
    """
    above = st.container()
    st.subheader("Two of them over each other", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        x, y = _pick_two(list(tables))
    with above:
        turn, tilt = _pick_angles(dims)
    seen: dict[str, Any] = {"turn": turn, "tilt": tilt, "mode": frame.mode()}
    with above:
        figure = figures.layouts(list(tables.values()), **seen, narrow=frame.narrow())
        table = pd.concat(list(tables.values()), ignore_index=True)
        _plot(at, asked, figure, table, "layouts", list(tables), dims=dims, turn=turn, tilt=tilt)
        st.markdown(
            READING.format(axes=AXES[dims], turn="**Drag a panel** to turn all. " * (dims == 3))
        )
        _tell_words(tables)
    both = pd.concat([tables[x], tables[y]], ignore_index=True)
    _plot(
        at,
        asked,
        figures.overlay(tables[x], tables[y], **seen),
        both,
        "overlay",
        [x, y],
        dims=dims,
        turn=turn,
        tilt=tilt,
    )
    turning.link(["layouts", "overlay"], turn=turn, tilt=tilt, flat=dims == 2)


def _pick_angles(dims: int) -> tuple[int, int]:
    if dims == 2:
        return 0, 0
    with st.container(horizontal=True):
        return turning.pick()


def _pick_two(names: list[str]) -> tuple[str, str]:
    x = st.selectbox("Dots and words", names, key="over-x", bind="query-params", width=320)
    y = st.selectbox(
        "Squares", names, index=min(1, len(names) - 1), key="over-y", bind="query-params", width=320
    )
    return x, y


def _plot(
    at: Place,
    asked: Asked,
    figure: go.Figure,
    table: pd.DataFrame,
    key: str,
    names: list[str],
    **choices: int,
) -> None:
    sources = [asked.sources[name] for name in names]
    given = [source.choices(queries.study(at)) for source in sources]
    recipe = queries.recipe(at, f"color-{key}", [], sources=given, **asked.chosen, **choices)
    commands = [asked.command(at, [source], "--dims", str(choices["dims"])) for source in sources]
    exportbar.plot(
        figure,
        key=key,
        table=table,
        recipe=recipe,
        command="\n".join(line for line in commands if line),
    )


def _tell_words(tables: Mapping[str, pd.DataFrame]) -> None:
    """Say which words each source lays out and which it lacks."""
    every = list(color_words()["word"])
    with st.expander("Which colors, and why not others"):
        st.markdown(WORDS)
        lacks = {
            name: [word for word in every if word not in set(table["color"])]
            for name, table in tables.items()
        }
        rows = [
            {"source": name, "colors": len(tables[name]), "words that it lacks": ", ".join(words)}
            for name, words in lacks.items()
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True)
