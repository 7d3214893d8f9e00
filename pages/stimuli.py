"""Stimuli: what do two models find alike?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Int64

from core.figures import stimuli as figures
from core.metrics.knn import count_shared
from pages._shared import controls, exportbar, frame, gallery, queries
from pages._shared.pair import pick_pair
from pages._shared.queries import Place

SHOWN = 12  # neighbors drawn of each model


def show(at: Place) -> None:
    """Draw the gallery, or the stimulus that was opened from it."""
    index = gallery.chosen(queries.card(at).size)
    if index is None:
        st.markdown("Open a stimulus to see which others two models take to be most like it.")
        gallery.show_all(at)
        return
    gallery.show_one(at, index)
    show_neighbors(at, index)


def show_neighbors(at: Place, index: int) -> None:
    """Draw the nearest neighbors in two models side by side, then how often they agree on all stimuli."""
    frame.need_stimuli(at)
    with st.sidebar:
        k = controls.pick_k(queries.card(at).size)
    every = queries.models(at)
    models = every[~every["model"].isin(queries.without_neighbors(at, list(every["model"]), k=k))]
    if len(models) < 2:
        raise frame.NeededError("Neighbors are compared between two models: embed another one.",
                                frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2"))  # fmt: skip
    st.subheader(f"Its {k} nearest neighbors in two models", anchor=False)
    left, right = st.columns(2, gap="large")
    pair = pick_pair(at, models, k=k, left=left, right=right)
    x, layer_x, y, layer_y = pair.x, pair.layer_x, pair.y, pair.layer_y
    near_x, near_y = queries.neighbors(at, x, layer_x, k=k), queries.neighbors(at, y, layer_y, k=k)
    both = set(near_x[index].tolist()) & set(near_y[index].tolist())
    for side, near, key in ((left, near_x, "a"), (right, near_y, "b")):
        with side:
            gallery.grid(at, near[index, :SHOWN].tolist(), key=key, width=108, marked=both)
    gallery.frame_marked()
    more = f" The first {SHOWN} are drawn." if k > SHOWN else ""
    st.markdown(f"**{len(both)} of {k}** are among the nearest in both, framed above.{more} Most similar first.")
    chosen = models.set_index("model", drop=False).loc[[x, y]]
    show_agreement(at, index, chosen, count_shared(near_x, near_y), layers=(layer_x, layer_y), k=k)


def show_agreement(
    at: Place, index: int, models: pd.DataFrame, shared: Int64[np.ndarray, "n"], *, layers: tuple[int, int], k: int
) -> None:
    """Draw on how many neighbors the two layers agree, for all stimuli; `models` has their two rows."""
    st.subheader("Do they agree here more than elsewhere?", anchor=False)
    (x, y), (title_x, title_y) = models["model"], models["title"]
    figure = figures.agreement(shared, chosen=index, k=k, title_x=title_x, title_y=title_y, mode=frame.mode())
    table = pd.DataFrame({"index": range(len(shared)), "shared": shared, "k": k})
    command = frame.command("align", "--dataset", at.dataset, "--x", x, "--y", y, "--k", str(k))
    recipe = queries.recipe(at, "agreement", [x, y], metric="mutual_knn", layers=layers, k=k, stimulus=index)
    exportbar.plot(figure, key="agreement", table=table, recipe=recipe, command=command)


frame.draw("Which stimuli do two models find alike?", show)
