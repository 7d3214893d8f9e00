"""One image at all caption levels, with its nearest neighbors in a language model at each."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages._shared import controls, facts, frame, gallery, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

NEAR = 5  # neighbors drawn at each level
READING = """The {near} nearest images, in the layers that align best at that level. Framed: also
among the {k} nearest in {name}."""


@fragment
def show(at: Place, rows: pd.DataFrame) -> None:
    """Draw one image; rows: the answer of `CaptionScores` by mutual k-NN."""
    scored = rows.dropna(subset="score")
    if scored.empty:
        raise frame.NeededError("No layers of these models have neighbors to show.")
    size = queries.card(at).size
    with st.container(horizontal=True, vertical_alignment="bottom"):
        index = gallery.chosen(size) or 0
        st.button("Previous", on_click=gallery.choose, args=((index - 1) % size,), type="tertiary")
        st.button("Next", on_click=gallery.choose, args=((index + 1) % size,), type="tertiary")
        reader, seer = _pick_models(at, scored)
    with frame.part():
        _draw(at, scored[(scored["model"] == reader) & (scored["model_y"] == seer)], index, seer)


def _pick_models(at: Place, rows: pd.DataFrame) -> tuple[str, str]:
    """Choose a language model and one that it is compared with; at first those that align best."""
    models, best = queries.models(at), rows.sort_values("score").iloc[-1]
    chosen = []
    for label, column, key in (
        ("Language model", "model", "reader"),
        ("Compared with", "model_y", "seer"),
    ):
        offered = models[models["model"].isin(rows[column])]
        chosen.append(controls.pick_model(label, offered, key, default=best[column]))
    return chosen[0], chosen[1]


def _draw(at: Place, rows: pd.DataFrame, index: int, seer: str) -> None:
    """Draw the picture with the other model's neighbors, then a row per level; rows: of two models,
    fewest words first.
    """
    k, titles = int(rows["k"].iloc[0]), queries.models(at).set_index("model")["title"]
    seen = {
        layer: facts.neighbors(at, seer, layer, k=k)[index].tolist()
        for layer in rows["layer_y"].astype(int)
    }
    shown, level = rows[["layer_y", "level"]].iloc[-1]
    left, right = st.columns([2, 5])
    with left:
        gallery.draw_one(at, index, width=180)
    with right:
        layer = f", in the layer for level {frame.plain(level)}" if len(seen) > 1 else ""
        st.caption(f"Nearest to image {index} in {frame.plain(titles[seer])}{layer}")
        gallery.grid(at, seen[int(shown)][:NEAR], key="retold-seen", width=84)
    for place, row in enumerate(rows.to_dict("records")):
        near = [
            one
            for one in facts.neighbors(at, row["name"], int(row["layer_x"]), k=k)[index].tolist()
            if one >= 0
        ]
        both = set(near) & set(seen[int(row["layer_y"])])
        left, right = st.columns([2, 5])
        with left:
            st.caption(f"**level {frame.plain(row['level'])}**")
            for text in facts.texts(at, row["level"])[index]:
                st.text(text)
        with right:
            st.caption(f"{len(both)} of {k} shared")
            gallery.grid(at, near[:NEAR], key=f"retold-{place}", width=84, marked=both)
    name = frame.plain(titles[seer])
    st.caption(READING.format(near=NEAR, k=k, name=name))
