"""The images that models agree on and those that they do not, side by side."""

from __future__ import annotations

import html

import streamlit as st

from core.questions.dispersion.question import space_colors
from core.questions.finding import sentences
from core.study.selections import ends
from core.study.spaces import describe_spaces
from core.visible import visible
from pages._parts.images import common, opened
from pages._shared import bar, controls, facts, frame, gallery, prose, queries
from pages._shared.gallery import Bar, Note
from pages._shared.queries import Place

PAGE = 12  # of each side
HEADS = {"low": "Models agree most", "high": "Models disagree most"}
KEY = "Distance from the consensus in"


def show(at: Place) -> None:
    """Draw both sets a page at a time, with what can be done with each."""
    if opened.show_if_any(at):
        return
    frame.need_stimuli(at)
    size, verdict = queries.card(at).size, st.container()
    with bar.controls_bar():
        with bar.more():
            spaces = common.pick_spaces(at)
        by = common.pick_summary()
        count = common.pick_set_size(queries.size(at))
    answered = common.dispersion(at, spaces)
    with verdict:
        prose.answer(sentences(answered.findings)[:1])
    about = describe_spaces(spaces, queries.models(at))
    colors = space_colors(list(about["space"]))
    names, table = common.titles(at, spaces), answered.table
    keys = "".join(
        f"<span><span style='color: {color}'>■</span> {html.escape(visible(names[space]))}</span>"
        for space, color in colors.items()
    )
    style = "display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; font-size: 0.85rem"
    st.html(f"<div style='{style}'><span>{KEY}</span> {keys}</div>")
    residuals = table.set_index("index")[list(spaces)]
    longest, captions = float(residuals.to_numpy().max()) or 1.0, facts.default_captions(at)

    def note(index: int) -> Note:
        own = residuals.loc[index]
        bars = [
            Bar(f"{names[space]}: residual {own[space]:.3g}", float(own[space]) / longest, color)
            for space, color in colors.items()
        ]
        return Note(text=captions[index], bars=tuple(bars))

    low, high = ends(table[by].to_numpy(), count)
    values = table.set_index("index")[by]
    sets = {
        "low": values.iloc[low].sort_values().index.tolist(),
        "high": values.iloc[high].sort_values(ascending=False).index.tolist(),
    }
    places = dict(zip(sets, st.columns(2, gap="large"), strict=True))
    number = controls.pick_page(-(-count // PAGE), "page-ends")
    for name, indices in sets.items():
        with places[name]:
            st.subheader(HEADS[name], anchor=False)
            shown = indices[(number - 1) * PAGE : number * PAGE]
            gallery.grid(at, shown, key=name, width=112, note=note, clicks=common.clicks(size))
            common.offer(at, indices, name=name)
    st.caption("The most extreme come first. A full bar is the largest distance of all.")
    prose.explain(common.METHODS)
