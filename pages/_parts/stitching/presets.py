"""Pairs of networks that are worth a look, at a click."""

from __future__ import annotations

import streamlit as st

from core.questions.stitching import roster
from core.questions.stitching.question import StitchKinds
from core.questions.stitching.roster import Duo
from pages._shared import queries
from pages._shared.queries import Place

SIZE = StitchKinds().size
SHOWN = {  # kinds of pairs, and what their buttons say
    roster.OTHER_SEED: "another seed",
    "self-supervised → supervised": "self-supervised → supervised",
    "CLIP → supervised": "CLIP → supervised",
    roster.SMALL: roster.SMALL,
    roster.EARLY: "early → late",
    roster.LATE: "late → early",
}


def offer(at: Place) -> None:
    """Draw a button for each kind of pair that is there; it chooses both models and layers."""
    duos = roster.across_kinds(roster.list_models(queries.study(at)), SIZE)
    first = {duo.kind: duo for duo in reversed(duos)}  # of several seeds the first
    with st.container(horizontal=True, gap="small"):
        for kind, label in SHOWN.items():
            if kind in first:
                st.button(label, key=f"preset-{kind}", on_click=_choose, args=(at, first[kind]))


def _choose(at: Place, duo: Duo) -> None:
    """Choose two models, at the depths that are meant or, of several, in their middle layers."""
    depths = duo.depths[0] if len(duo.depths) == 1 else (0.5, 0.5)
    for side, name, depth in zip("xy", (duo.x, duo.y), depths, strict=True):
        last = len(queries.study(at).entry(name).card.layers) - 1
        st.session_state[side] = name
        st.session_state[f"layer_{side}"] = int(depth * last)
