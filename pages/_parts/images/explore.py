"""Stimuli: which of them do models agree on, and what do two models find alike?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from core.questions.dispersion.question import Spaces
from core.questions.stimuli.question import StimulusMap
from pages._parts.images import ends, nearest, opened, plane, selection
from pages._shared import bar, controls, facts, frame, gallery, prose, queries, spread
from pages._shared.queries import Place

VIEWS = {"map": "Map", "gallery": "Gallery", "ends": "Extremes"}


def show(at: Place) -> None:
    """Draw the browser, or the stimulus that was opened from it."""
    index = gallery.chosen(queries.card(at).size)
    if index is None:
        browse(at)
        return
    frame.need_stimuli(at)
    answer = st.container()
    with bar.controls_bar():
        k = controls.pick_k(queries.card(at).size)
        with bar.more():
            spaces = spread.pick_spaces(at)
    opened.show(at, index)
    with answer:
        prose.answer(opened.describe_rank(spread.residuals(at, spaces)["mean"], index))
    with frame.part():
        nearest.show(at, index, k)
    with frame.part():
        opened.show_residuals(at, spaces, index)
        opened.show_neighbors(at, spaces, index)


@dataclass(frozen=True)
class Choice:
    """What a person chose of the workspace.

    look: of the map, None in another view. size: of a set of the extremes, 0 in another view.
    passed: the stimuli that the search and the filters
    leave in. chosen: those of the chosen set.
    """

    view: str
    look: plane.Look | None
    spaces: tuple[str, ...]
    by: str
    size: int
    passed: list[int]
    chosen: list[int]


def browse(at: Place) -> None:
    """Draw all stimuli: as a map next to their pictures, as pictures, or those of least and of most
    dispersion side by side; as pictures, too, where there are not enough models.
    """
    choice, answer = None, st.container()
    with frame.part(), bar.controls_bar():
        choice = pick(at)
    if choice is None:
        show_gallery(at, gallery.search(at, None), [])
        return
    with answer:
        prose.answer(facts.spread_findings(at, choice.spaces))
        titles = ", ".join(dict.fromkeys(spread.described(at, choice.spaces)["title"]))
        st.caption(frame.plain(f"Consensus of {titles}; “More” chooses other models."))
    if choice.look:
        show_map(at, choice, choice.look)
    elif choice.view == "ends":
        ends.show(at, choice.spaces, by=choice.by, size=choice.size)
    else:
        show_gallery(at, choice.chosen or choice.passed, choice.chosen)


def pick(at: Place) -> Choice:
    """Choose a view, whose consensus it is about, and the stimuli in it."""
    chosen = selection.brushed(queries.card(at).size)
    view = controls.pick_segment("View", VIEWS, "view", start="map", hidden=True)
    frame.need_stimuli(at)
    with bar.more():
        spaces = spread.pick_spaces(at)
        by = spread.pick_summary(at, spaces)
    look = plane.pick_look(at, spaces, by=by) if view == "map" else None
    size = spread.pick_set_size(queries.card(at).size) if view == "ends" else 0
    passed = gallery.search(at, lambda: spread.residuals(at, spaces)[by])
    return Choice(view, look, spaces, by, size, passed, chosen)


def show_map(at: Place, choice: Choice, look: plane.Look) -> None:
    """Draw the map, and next to it the pictures of what is chosen on it."""
    left, right = st.columns([3, 2], gap="medium")
    with right:  # first, since a layout may take seconds
        show_gallery(at, choice.chosen or choice.passed, choice.chosen, width=92)
    with left, frame.part():
        question = StimulusMap(at.scope, Spaces(choice.spaces), look.layout)
        plane.draw(at, question, look, passed=choice.passed, chosen=choice.chosen)


def show_gallery(
    at: Place, indices: list[int], chosen: Collection[int], *, width: int = 150
) -> None:
    """Draw the pictures of stimuli, with what can be done with them."""
    size = queries.card(at).size
    if not indices:
        st.info(
            "No stimulus matches this search and these filters: remove one of them.",
            icon=":material/search_off:",
        )
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            f"{len(indices):,} of {size:,} stimuli{' chosen' if chosen else ''}", width="content"
        )
        if chosen:
            selection.offer_none(size)
    selection.offer(at, indices, name="chosen" if chosen else "found")
    clicks = selection.clicks(size, chosen)
    gallery.show(at, indices, key="all", width=width, clicks=clicks)
