"""The map of stimuli, and the set that is brushed on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.questions.dispersion.question import Spaces
from core.questions.stimuli import figures
from core.questions.stimuli.question import Plane, StimulusMap
from pages._parts.stimuli import selection
from pages._shared import clicks, controls, exportbar, frame, gallery, prose, queries, spread
from pages._shared.queries import Place

MAPS: Mapping[Plane, str] = {
    "residuals": "mean and first component",
    "pca": "consensus by PCA",
    "umap": "consensus by UMAP",
}
READING = {
    "residuals": (
        """Each dot is a stimulus. Right: far from the consensus on average
over the models; up: high on the first principal component of the residuals, which
holds {explained:.0f} % of their variance. Where both say the same, dots lie on a
line; stimuli off it owe their dispersion to a few models."""
    ),
    "pca": (
        """Each dot is a stimulus, placed along the two directions in
which the consensus varies most; units are those of a space of norm 1. The color is its
dispersion: a patch of one color is a kind of stimuli on which models agree, or differ."""
    ),
    "umap": (
        """Each dot is a stimulus; neighbors in the consensus are neighbors
here. Neither the axes nor the distances between patches mean anything. The color is the
dispersion."""
    ),
}
BRUSH = (
    "**Click a dot** to open it, or draw around dots to choose several; the symbols above the"
    " plot switch between lasso and box."
)


def show(at: Place, spaces: tuple[str, ...], *, by: str, shown: Sequence[int]) -> None:
    """Draw the map of the stimuli that pass the search, then those of them that are brushed."""
    kind = controls.pick_segment("Map", MAPS, "map", start="residuals", hidden=True)
    size = queries.card(at).size
    brushed = selection.brushed(size)
    question = StimulusMap(at.scope, Spaces(spaces), kind)
    points, axes = _points(at, question, by)
    drawn = points.iloc[list(shown)]
    figure = figures.stimulus_map(
        drawn,
        figures.Map(f"Stimuli: {MAPS[kind]}", axes, square=kind == "pca", unitless=kind == "umap"),
        value=f"dispersion: {spread.name_of(at, spaces, by)}",
        chosen=brushed,
        mode=frame.mode(),
    )
    exportbar.draw(
        at,
        question,
        figure,
        key="stimulus-map",
        table=drawn,
        on_select=partial(_brush, size),
        brush=True,
    )
    clicks.hear("stimulus-map", gallery.choose)
    explained = spread.residuals(at, spaces)["explained"].iloc[0]
    prose.explain(f"{spread.MEANING}\n\n{READING[kind].format(explained=100 * explained)} {BRUSH}")
    if brushed:
        st.header(f"{len(brushed):,} chosen", anchor=False)
        st.button(
            "Choose none",
            icon=":material/close:",
            type="tertiary",
            on_click=selection.brush,
            args=([], size),
        )
        selection.offer(at, brushed, name="brushed")
        gallery.show(at, brushed, key="brushed")


def _brush(size: int) -> None:
    """Take the brushed dots to the address: a chart forgets its selection when it is drawn anew.
    A dot that was clicked and not drawn around is opened.
    """
    selected = st.session_state["stimulus-map"].selection
    picked = [point["customdata"][0] for point in selected.points if point.get("customdata")]
    if not picked:
        return
    if selected.lasso or selected.box:
        selection.brush(sorted(set(picked)), size)
    else:
        gallery.choose(picked[0])


def _points(at: Place, question: StimulusMap, by: str) -> tuple[pd.DataFrame, tuple[str, str]]:
    """Return index, caption, x, y, value of every stimulus, and what the axes are."""
    plane = queries.ask(at, question)
    points = plane[["index", "x", "y"]].assign(
        caption=gallery.default_captions(at), value=plane[by]
    )
    if question.map == "residuals":
        return points, ("mean residual (spaces have norm 1)", "first component of the residuals")
    if question.map == "umap":
        return points, ("UMAP 1", "UMAP 2")
    first, second = (
        f"{100 * plane[share].iloc[0]:.0f} % of the variance" for share in ("share_x", "share_y")
    )
    return points, (f"component 1: {first}", f"component 2: {second}")
