"""Stimuli: which of them do models agree on, and what do two models find alike?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.questions.stimuli import figures
from core.questions.stimuli.question import SharedNeighbors
from pages._parts.stimuli import ends, opened, plane, selection
from pages._shared import (
    bar,
    comparing,
    controls,
    exportbar,
    frame,
    gallery,
    prose,
    queries,
    spread,
)
from pages._shared.pair import pick_pair
from pages._shared.queries import Place

AGREEMENT = """A bar counts the stimuli for which the two layers share this many
nearest neighbors; the marked bar holds this stimulus. The mean, divided by k, is their
alignment by mutual k-nearest neighbors."""
SHOWN = 12  # neighbors drawn of each model
VIEWS = {"gallery": "Gallery", "map": "Map", "ends": "Low and high dispersion"}


def show(at: Place) -> None:
    """Draw the browser, or the stimulus that was opened from it."""
    index = gallery.chosen(queries.card(at).size)
    if index is None:
        browse(at)
        return
    frame.need_stimuli(at)
    with bar.controls_bar():
        k = comparing.pick_k(queries.card(at).size)
        spaces = spread.pick_spaces(at)
    opened.show(at, index)
    with frame.part():
        opened.show_residuals(at, spaces, index)
        opened.show_neighbors(at, spaces, index)
    show_pair(at, index, k)


def browse(at: Place) -> None:
    """Draw all stimuli as pictures, as a map, or those of least and of most dispersion side by
    side.
    """
    try:
        with bar.controls_bar():
            view = controls.pick_segment("View", VIEWS, "view", start="gallery", hidden=True)
            frame.need_stimuli(at)
            with bar.more():
                spaces = spread.pick_spaces(at)
            by = spread.pick_summary(at, spaces)
            if view == "ends":
                size = spread.pick_set_size(queries.card(at).size)
    except frame.NeededError:
        if view != "gallery":  # pictures can be seen without any model
            raise
        show_gallery(at, gallery.search(at, None))
        return
    if view == "ends":
        ends.show(at, spaces, by=by, size=size)
        return
    passed = gallery.search(at, lambda: spread.residuals(at, spaces)[by])
    if view == "map" and passed:
        plane.show(at, spaces, by=by, shown=passed)
    else:
        show_gallery(at, passed)


def show_gallery(at: Place, indices: list[int]) -> None:
    """Draw the stimuli that pass the search, with what can be done with them."""
    if not indices:
        st.info(
            "No stimulus matches this search and these filters: remove one of them.",
            icon=":material/search_off:",
        )
        return
    selection.offer(at, indices, name="found")
    gallery.show(at, indices, key="all")


def show_pair(at: Place, index: int, k: int) -> None:
    """Draw the nearest neighbors in two models side by side, then how often they agree on all
    stimuli.
    """
    every = queries.models(at)
    models = every[~every["model"].isin(queries.without_neighbors(at, list(every["model"]), k=k))]
    if len(models) < 2:
        raise frame.NeededError(
            "Neighbors are compared between two models: embed another one.",
            frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2"),
        )
    st.header(f"Its {k} nearest neighbors in two models", anchor=False)
    left, right = st.columns(2, gap="large")
    pair = pick_pair(at, models, k=k, left=left, right=right)
    (x, layer_x), (y, layer_y) = pair.places
    near_x, near_y = queries.neighbors(at, x, layer_x, k=k), queries.neighbors(at, y, layer_y, k=k)
    both = set(near_x[index].tolist()) & set(near_y[index].tolist())
    for side, near, key in ((left, near_x, "a"), (right, near_y, "b")):
        with side:
            gallery.grid(at, near[index, :SHOWN].tolist(), key=key, width=108, marked=both)
    gallery.frame_marked()
    more = f" The first {SHOWN} are drawn." if k > SHOWN else ""
    st.markdown(
        f"**{len(both)} of {k}** are among the nearest in"
        f" both{', framed above' if both else ''}.{more} Most similar first."
    )
    show_agreement(at, index, models, SharedNeighbors(at.scope, pair, k))


def show_agreement(at: Place, index: int, models: pd.DataFrame, question: SharedNeighbors) -> None:
    """Draw on how many neighbors the two layers agree, for all stimuli."""
    st.header("Do they agree here more than elsewhere?", anchor=False)
    table, titles = queries.ask(at, question), models.set_index("model")["title"]
    title_x, title_y = (titles[model] for model in question.models())
    figure = figures.agreement(
        table["shared"].to_numpy(),
        chosen=index,
        k=question.k,
        title_x=title_x,
        title_y=title_y,
        mode=frame.mode(),
    )
    exportbar.draw(at, question, figure, key="agreement", table=table)
    prose.explain(AGREEMENT)


frame.draw("Which stimuli do models agree on?", show)
