"""A set of stimuli that a person chose: the one brushed on the map lies in the address, any can be
taken away or studied.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from core.errors import StimuliError
from core.figures import exports
from core.questions.alignment.question import Alignment
from core.questions.dispersion.effect import SetEffect
from core.questions.stimuli.question import StimulusList
from core.questions.words import to_query
from core.study.selections import decode, encode
from pages._shared import address, frame, gallery, queries
from pages._shared.gallery import Clicks
from pages._shared.queries import Place

BRUSHED = "brushed"  # of the address


def brushed(size: int) -> list[int]:
    """Return the chosen stimuli that the address names; none, and the reason, where it names no set
    of these stimuli.
    """
    try:
        indices = _read(size)
    except StimuliError as error:
        st.warning(f"The chosen stimuli of this link cannot be read: {frame.plain(error)}.")
        return []
    if indices:
        address.name_mark(BRUSHED, f"{len(indices):,} of {size:,} chosen")
    return indices


def _read(size: int) -> list[int]:
    code = address.mark(BRUSHED)
    return decode(code, size).tolist() if code else []


def toggle(size: int, index: int) -> None:
    """Add a stimulus to the chosen ones, or take it away."""
    try:
        before = _read(size)
    except StimuliError:
        before = []
    brush(sorted({index} ^ set(before)), size)


def clicks(size: int, chosen: Collection[int]) -> Clicks:
    """Return what a click on a picture does: it opens a stimulus; Shift+click chooses it."""
    return Clicks(gallery.choose, partial(toggle, size), chosen)


def brush(indices: Sequence[int], size: int) -> None:
    """Put a set of stimuli into the address; an empty one takes it away."""
    address.set_mark(BRUSHED, encode(indices, size) if indices else "")


def offer_none(size: int) -> None:
    """Draw the button that chooses nothing."""
    st.button(
        "Choose none",
        icon=":material/close:",
        type="tertiary",
        shortcut="Esc",
        on_click=brush,
        args=([], size),
    )


def offer(at: Place, indices: Sequence[int], *, name: str) -> None:
    """Draw what can be done with a set: its CSV, and other pages on these stimuli alone.
    name: a word for its file.
    """
    code = encode(indices, queries.card(at).size)
    chosen = replace(at, scope=replace(at.scope, stimuli=code))
    recipe = queries.recipe_of(chosen, StimulusList(chosen.scope))
    with st.container(
        horizontal=True, key=f"offer-{name}", vertical_alignment="center", gap="small"
    ):
        st.download_button(
            "CSV",
            lambda: exports.to_csv(as_table(at, indices)),
            exports.file_name(f"{name} stimuli", recipe, "csv"),
            "text/csv",
            key=f"take-{name}",
            type="tertiary",
            on_click="ignore",
            icon=":material/download:",
        )
        few = len(indices) < frame.LEAST_STIMULI
        for page, tab, label, question, icon in (
            ("trends", "across", "Alignment", Alignment(chosen.scope), "query_stats"),
            ("images", "language", "Dispersion", SetEffect(chosen.scope), "scatter_plot"),
        ):
            st.page_link(
                f"{page}.py",
                label=label,
                icon=f":material/{icon}:",
                help=f"{label} of these stimuli alone",
                disabled=few,
                query_params=to_query(question) | {"tab": tab},
            )


def as_table(at: Place, indices: Sequence[int]) -> pd.DataFrame:
    """Return a row per stimulus in this order: index, stimulus, and a column per caption level."""
    return queries.ask(at, StimulusList(at.scope)).iloc[list(indices)]
