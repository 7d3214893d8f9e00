"""All images: a map of the consensus next to the images that are selected on it."""

from __future__ import annotations

from functools import partial

import plotly.graph_objects as go
import streamlit as st

from core.figures.texts import number_text
from core.figures.theme import Mode
from core.questions.dispersion.question import Spaces
from core.questions.finding import sentences
from core.questions.stimuli.question import DISAGREEMENT, NONE, StimulusMap
from pages._parts.images import common, opened, points
from pages._shared import bar, controls, exportbar, facts, frame, gallery, prose, queries
from pages._shared.address import bind
from pages._shared.controls import Look
from pages._shared.queries import Place
from pages._shared.selection import picked_dots

LAYOUTS = {"umap": "UMAP", "pca": "PCA", "gallery": "Images only"}
READING = {
    "pca": "Each point is one of the {items}, along the two largest components of the consensus.",
    "umap": "Each point is one of the {items}; neighbors in the consensus are neighbors here. Axes"
    " and large distances mean nothing.",
}
BRUSH = "Click a point to open it, Shift+click or draw around points to select. Gray: filtered out."
HELP = "How points are placed (default: UMAP, which keeps neighbors). PCA keeps large distances."
ORDER = ", most disputed first"
KEY = "stimulus-map"


def show(at: Place) -> None:
    """Draw the map and the gallery, or the gallery alone if there are not enough models."""
    if opened.show_if_any(at):
        return
    verdict, found = st.container(), False
    with frame.part(), bar.controls_bar():
        chosen = common.brushed(queries.card(at).size)  # with a chip in the bar
        frame.need_stimuli(at)
        with bar.more():
            spaces = common.pick_spaces(at)
            by = common.pick_summary()
        one = controls.option_named(StimulusMap, "map")
        layout = controls.pick_option(one, Look(labels=LAYOUTS, help=HELP))
        names = color_names(at, spaces)
        text = (
            "Colors of points (default: how much models disagree). A factor has one for each value."
        )
        color = st.selectbox(
            "Color", list(names), format_func=names.get, help=text, **bind("color", "", names)
        )
        passed = gallery.search(at, lambda: common.dispersion(at, spaces).table[by])
        found = True
    if not found:
        show_gallery(at, gallery.search(at, None), [])
        return
    disputed = common.dispersion(at, spaces).table.sort_values(by, ascending=False, kind="stable")
    rank = {index: place for place, index in enumerate(disputed["index"])}
    listed = sorted(chosen or passed, key=lambda index: rank.get(index, len(rank)))
    said = sentences(common.dispersion(at, spaces).findings)
    with verdict:
        prose.answer(said[:1])
        models = frame.plain(", ".join(common.titles(at, spaces).values()))
        st.caption(f"Disagreement among: {models}.")
    if layout == "gallery":
        show_gallery(at, listed, chosen, order=ORDER)
        return
    left, right = st.columns([3, 2], gap="medium")
    with right:  # first, since a layout may take seconds
        show_gallery(at, listed, chosen, width=92, order=ORDER)
    with left, frame.part():
        question = StimulusMap(at.scope, Spaces(spaces), layout)
        draw(at, question, color or by, names[color], passed=passed, chosen=chosen)
        prose.explain(common.METHODS, said[1:])


def color_names(at: Place, spaces: tuple[str, ...]) -> dict[str, str]:
    """Return what can color the map: disagreement, a model's residual, or a factor as f-NAME."""
    factors = facts.stimuli(at).columns.drop("stimulus")
    residuals = {
        space: f"residual of {title}" for space, title in common.titles(at, spaces).items()
    }
    return {"": DISAGREEMENT, **residuals, **{f"f-{one}": one.replace("_", " ") for one in factors}}


def draw(
    at: Place, question: StimulusMap, color: str, name: str, *, passed: list[int], chosen: list[int]
) -> None:
    """Draw the map; images that did not pass the search are gray, others than the selected fade."""
    size = queries.card(at).size
    with st.spinner("Laying out the map"):
        table = queries.ask(at, question)
    if color in table:
        values = table[color]
    else:
        values = facts.stimuli(at)[color.removeprefix("f-")].loc[table["index"]]
    table = table.assign(value=values.to_numpy(), passed=table["index"].isin(passed))

    def drawn(mode: Mode, narrow: bool) -> go.Figure:
        figure = question.plot_by(table, name, mode=mode).draw(mode, narrow)
        lit = [
            [place for place, (index,) in enumerate(trace.customdata or ()) if index in set(chosen)]
            for trace in figure.data
        ]
        if any(lit):
            for trace, places in zip(figure.data, lit, strict=True):
                trace.selectedpoints = places
                trace.unselected = {"marker": {"opacity": 0.15}}
        return figure.update_layout(dragmode="lasso")

    take = partial(brush, size)
    exportbar.draw(at, question, drawn, key=KEY, table=table, on_select=take, brush=True)
    by_index = table.set_index("index")["value"]

    def head(index: int) -> str:
        value = by_index[index]
        missing = value != value or value is None
        text = value if isinstance(value, str) else number_text(value, ".3g")
        return f"{common.item(at)} {index} · {name} {NONE if missing else text}"

    about = f"{at.digest} {name}"
    points.follow(at, KEY, about=about, head=head, clicks=common.clicks(size, chosen))
    how = READING[question.map].format(items=common.item(at, 2))
    few = ""
    if len(table) < queries.size(at):
        few = f" A random sample of {len(table):,} of {queries.size(at):,}."
    st.caption(f"{how} {BRUSH}{few}")


def brush(size: int) -> None:
    """Take the brushed points to the address: a chart forgets its selection when it is drawn again.
    A click is for `points`.
    """
    firsts = {dot[0] for dot in picked_dots(KEY, around=True) if isinstance(dot[0], int)}
    if stimuli := sorted(firsts & set(range(size))):
        common.brush(stimuli, size)


def show_gallery(
    at: Place, indices: list[int], chosen: list[int], *, width: int = 150, order: str = ""
) -> None:
    """Draw images a page at a time, with what can be done with them."""
    size, items = queries.card(at).size, common.item(at, 2)
    if not indices:
        st.info(
            f"No {common.item(at)} matches. Remove a filter or change the search.",
            icon=":material/search_off:",
        )
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        selected = " selected" if chosen else ""
        st.caption(f"{len(indices):,} of {size:,} {items}{selected}{order}", width="content")
        if chosen:
            clear = partial(common.brush, [], size)
            icon = ":material/close:"
            st.button("Clear selection", icon=icon, type="tertiary", shortcut="Esc", on_click=clear)
    common.offer(at, indices, name="selected" if chosen else "found")
    gallery.show(at, indices, key="all", width=width, clicks=common.clicks(size, chosen))
