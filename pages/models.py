"""Models: which of them are alike?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.study.models import UNTRAINED, is_reality
from pages._parts.models import atlas, tree
from pages._shared import among, controls, frame, queries
from pages._shared.queries import Place


def show(at: Place) -> None:
    """Draw the map of models, what is beside the one that is opened, then their tree."""
    frame.need_stimuli(at)
    every = queries.models(at)
    if every.empty:
        frame.need_readers(at, "caption", "image")
    with st.sidebar:
        models = _pick(every)
        asked = among.pick(at)
        seed = int(
            st.number_input(
                "Seed", 0, 2**31 - 1, 0, key="seed", help="Of UMAP and t-SNE.", bind="query-params"
            )
        )
    among.need_two(models, at)
    atlas.show(at, models, asked, seed)
    tree.show(at, models, asked)


def _pick(every: pd.DataFrame) -> pd.DataFrame:
    """Choose what kinds of models are drawn, then some of them."""
    unfinished, world = every["copy"] | (every["group"] == UNTRAINED), is_reality(every)
    text = "Copies of a model taken along its training, and models without any training."
    if unfinished.any() and not st.toggle(
        "Unfinished models", value=True, key="copies", help=text, bind="query-params"
    ):
        every = every[~unfinished]
    text = "Known factors of a made world, drawn as if they were a model's features."
    if world.any() and not st.toggle(
        "The world itself", value=True, key="world", help=text, bind="query-params"
    ):
        every = every[~is_reality(every)]
    return (
        every[every["model"].isin(controls.pick_models("Models", every, "models"))]
        if len(every)
        else every
    )


frame.draw("Which models are alike?", show)
