"""One opened image: its captions and factors, what is near it in two models, and how far each model
lies from the consensus here.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from core.figures.theme import INK
from core.questions.dispersion.question import Spaces, StimulusDispersion
from core.questions.stimuli.question import StimulusNeighbors
from core.study.spaces import describe_spaces
from pages._parts.images import common
from pages._shared import (
    bar,
    controls,
    exportbar,
    facts,
    frame,
    gallery,
    neighbors,
    prose,
    queries,
)
from pages._shared.queries import Place

HEARD = """The melody of the event, which music models read: time runs to the right, pitch upward.
The scale is the scene's, lengths follow the time of day, and each thing is a motif of four
notes."""


def show_if_any(at: Place) -> bool:
    """Draw the image that the address names, and return whether it names one."""
    index = gallery.chosen(queries.card(at).size)
    if index is None:
        return False
    frame.need_stimuli(at)
    gallery.show_top(index)
    _draw_ways(at, index)
    verdict = st.container()
    spaces: tuple[str, ...] = ()
    with bar.controls_bar():
        k = controls.pick_k(queries.card(at).size)
        with frame.part(), bar.more():
            spaces = common.pick_spaces(at)
    _draw_image(at, index)
    with frame.part():
        _draw_neighbors(at, index, k, spaces)
    if spaces:
        with frame.part():
            answered = common.dispersion(at, spaces)
            with verdict:
                prose.answer([describe_rank(at, answered.table, index, common.titles(at, spaces))])
            st.subheader("Distance from the consensus, by model", anchor=False)
            question = StimulusDispersion(at.scope, Spaces(spaces))
            about = describe_spaces(spaces, queries.models(at))
            plot = question.plot_one(answered.table, index, about)
            exportbar.draw(at, question, plot.draw, key="residuals", table=answered.table)
            st.caption("Bars: residual of each model. Gray: middle half of all. Rank 1 is closest.")
            prose.explain(common.METHODS)
    return True


def _draw_ways(at: Place, index: int) -> None:
    """Draw which image it is, and the buttons that lead back and on, which have keys."""
    size = queries.card(at).size
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="ways", wrap=True
    ):
        st.markdown(f"**{common.item(at)} {index}** of {size:,}", width="content")
        st.space("stretch")
        st.button("Back", shortcut="Esc", on_click=gallery.choose, args=(None,), type="tertiary")
        for label, key, step in (("Previous", "Left", -1), ("Next", "Right", 1)):
            turn = ((index + step) % size,)
            st.button(label, shortcut=key, on_click=gallery.choose, args=turn, type="tertiary")


def describe_rank(at: Place, table: pd.DataFrame, index: int, titles: Mapping[str, str]) -> str:
    """Say how much models disagree on an image, among all, and which is farthest from the
    consensus. titles: of the models, by space, a column of their residuals.
    """
    residuals = table.set_index("index").loc[index, list(titles)].astype(float)
    mean = table.set_index("index")["mean"]
    n, above = len(mean), int((mean > mean[index]).sum())
    below = n - 1 - above
    one, items = common.item(at), common.item(at, 2)
    if above == 0:
        said = f"Models disagree most on {one} {index}"
    elif below == 0:
        said = f"Models agree most on {one} {index}"
    else:
        others = f"{below:,} of the {n - 1:,} other {items}"
        said = f"Models disagree more on {one} {index} than on {others}"
    far = titles[str(residuals.idxmax())]
    return f"{said} (dispersion = {mean[index]:.3g}); {far} is farthest from the consensus."


def _draw_image(at: Place, index: int) -> None:
    """Draw an image large, with all its captions and factors."""
    card = queries.card(at)
    picture, words = st.columns([2, 3]) if card.has_images else (None, st.container())
    factors, captions = facts.stimuli(at).iloc[index], facts.captions(at)
    if picture:
        with picture:
            gallery.draw_one(at, index, width=280)
    with words:
        texts = captions[captions["index"] == index].set_index("level")["text"]
        if texts.empty:
            st.text(factors["stimulus"])
        for level in sorted(texts.index, key=lambda one: (one.isdecimal(), one.zfill(9))):
            name = f"{level}-word caption" if level.isdecimal() else level
            with st.container(gap=None):
                st.caption(frame.plain(name))
                st.text(texts[level])
        if world := card.world:
            ink = INK[frame.mode()]
            (event,) = world.behind(card, [index])
            roll, notes = world.roll(event, ink=ink.text, grid=ink.grid)
            with st.container(gap=None):
                st.caption("Melody", help=HEARD)
                st.image(roll, width="content", alt=notes)
        present = factors.drop("stimulus").dropna()
        if len(present):
            names = present.index.str.replace("_", " ")
            table = pd.DataFrame({"factor": names, "value": present.astype(str).to_numpy()})
            with st.expander(f"{len(present)} factors"):
                st.dataframe(table, hide_index=True)


def _draw_neighbors(at: Place, index: int, k: int, spaces: tuple[str, ...]) -> None:
    """Draw the nearest neighbors in two models side by side, at first the best-aligned two of the
    spaces' models, then how many they share on all.
    """
    every = queries.models(at)
    models = every[~every["model"].isin(facts.without_neighbors(at, list(every["model"]), k=k))]
    if len(models) < 2:
        how = frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2")
        raise frame.NeededError(f"Needs 2 models; {len(models)} loaded.", how)
    st.subheader(f"{k} nearest neighbors in two models", anchor=False)
    columns = st.columns(2, gap="large")
    among = set(describe_spaces(spaces, every)["model"]) if spaces else set()
    pair = controls.pick_pair(at, models, among=among, k=k, left=columns[0], right=columns[1])
    clicks = common.clicks(queries.card(at).size)
    neighbors.side_by_side(at, pair, index, k, width=96, clicks=clicks)

    def show_overlap() -> None:
        question = StimulusNeighbors(at.scope, pair, k=k)
        table = queries.ask(at, question)
        drawn = question.plot_shared(table, index).draw
        exportbar.draw(at, question, drawn, key="agreement", table=table)
        st.caption("Bars count images by shared neighbors; orange holds this one.")

    frame.fold("Neighbor overlap compared with all", show_overlap, key="overlap")
