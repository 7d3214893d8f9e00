"""The stimuli that models agree on and those that they do not, side by side."""

from __future__ import annotations

import streamlit as st

from pages._parts.images import bars, selection
from pages._shared import controls, facts, frame, gallery, prose, queries, spread
from pages._shared.queries import Place

PAGE = 12  # of each side
HEADS = {"low": "Models agree: low dispersion", "high": "Models differ: high dispersion"}
READING = """Bars are the residuals. A full bar is the largest residual
of all stimuli. The least dispersed stimulus comes first on the left, the
most dispersed on the right."""


def show(at: Place, spaces: tuple[str, ...], *, by: str, size: int) -> None:
    """Draw both sets a page at a time, with what can be done with each."""
    sets = dict(zip(HEADS, spread.low_and_high(at, spaces, by=by, size=size), strict=True))
    clicks = selection.clicks(queries.card(at).size, ())
    note = bars.writer(
        spread.residuals(at, spaces),
        spread.described(at, spaces),
        facts.default_captions(at),
        mode=frame.mode(),
    )
    prose.explain(f"{spread.MEANING}\n\n{READING}")
    st.html(bars.legend(spread.described(at, spaces), mode=frame.mode()))
    places = dict(zip(HEADS, st.columns(2, gap="large"), strict=True))
    pages = -(-size // PAGE)
    number = controls.pick_page(pages, "page-ends")
    for name, indices in sets.items():
        with places[name]:
            st.header(HEADS[name], anchor=False)
            selection.offer(at, indices, name=name)
            shown = indices[(number - 1) * PAGE : number * PAGE]
            gallery.grid(at, shown, key=name, width=112, note=note, clicks=clicks)
