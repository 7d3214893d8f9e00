"""Stitching: can a layer of one network replace a layer of another?"""

from __future__ import annotations

import streamlit as st

from core.questions.stitching.bench import need_world
from core.questions.stitching.question import Stitch
from pages._parts.stitching import many, maps, pick, presets
from pages._shared import bar, frame, queries, section
from pages._shared.address import fragment
from pages._shared.queries import Place

METHODS = """The upper network gets, in place of its own layer, what one affine map makes of a layer
of the lower network. Both stay frozen; the map is fitted on new events, to the upper network's own
task. **Lost** is the fall of its score as a share of what it has above chance; bars are 95%
intervals over stimuli."""

STITCH = 20.0  # seconds, about


def show(at: Place) -> None:
    """Draw one stitch, all layers of the same two models, and what other pairs of models lose."""
    frame.need_stimuli(at)
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    need_world(queries.study(at))
    presets.offer(at)
    with bar.controls_bar():
        question = pick.question(at)
    with frame.part():
        show_one(at, question)
    maps.show(at, question)
    show_kinds(at)
    show_trend(at)


def show_one(at: Place, question: Stitch) -> None:
    """Draw what each map loses at one pair of layers; made by a job if it is not kept."""
    st.header("One pair of layers", anchor=False)
    takes = 0.0 if pick.is_kept(at, question) else STITCH
    section.draw(at, question, key="one", methods=METHODS, seconds=takes, label="Stitch them")


@fragment
def show_kinds(at: Place) -> None:
    """Draw which kinds of networks can be stitched."""
    many.show_kinds(at)


@fragment
def show_trend(at: Place) -> None:
    """Draw whether better networks are stitched more cheaply."""
    many.show_trend(at)
