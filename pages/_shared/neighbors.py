"""The neighbors of one image in two models; shared ones are framed."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.questions.stimuli.question import StimulusNeighbors
from core.study.parts import LayerPair
from pages._shared import controls, facts, frame, gallery, queries
from pages._shared.gallery import OPENS, Clicks, Note
from pages._shared.queries import Place

PAGE = 12  # neighbors of each model that are drawn at once


def valued_grid(
    at: Place, rows: pd.DataFrame, column: str, form: str, *, key: str, width: int, clicks: Clicks
) -> None:
    """Draw images with a number each; shared ones are framed. rows: index, shared and column."""
    captions, values = facts.default_captions(at), rows.set_index("index")[column]
    gallery.grid(
        at,
        rows["index"].tolist(),
        key=key,
        width=width,
        marked=set(rows.loc[rows["shared"], "index"]),
        note=lambda one: Note(form.format(values[one]).replace("-", "−"), captions[one]),
        clicks=clicks,
    )


def side_by_side(
    at: Place,
    pair: LayerPair,
    index: int,
    k: int,
    *,
    heads: bool = False,
    width: int = 118,
    clicks: Clicks = OPENS,
) -> None:
    """Draw the k nearest neighbors of an image in both layers, and the number of shared ones.

    heads: whether to name the models. width: least of an image, in pixels.
    """
    table = queries.ask(at, StimulusNeighbors(at.scope, pair, index, k))
    titles = queries.models(at).set_index("model")["title"]
    columns = st.columns(2, gap="large")
    number = controls.pick_page(-(-k // PAGE), "page-near")
    shared = 0
    for column, key, (model, layer) in zip(columns, "ab", pair.places, strict=True):
        near = table[(table["model"] == model) & (table["layer"] == layer)]
        shared = int(near["shared"].sum())
        shown = near.iloc[(number - 1) * PAGE : number * PAGE]
        with column:
            if heads:
                st.caption(frame.plain(titles[model]))
            valued_grid(at, shown, "similarity", "{:.2f}", key=key, width=width, clicks=clicks)
    framed = " (framed)" if shared else ""
    st.markdown(f"**{shared} of {k}** neighbors are shared{framed}. Numbers: cosines.")
