"""One stimulus: all that is known of it, how far each model lies from the consensus here, and what
models take to be like it.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.questions.stimuli import answer as stimulus_views
from core.questions.stimuli import figures as figures
from pages._shared import exportbar, frame, gallery, queries, spread
from pages._shared.queries import Place

NEAR = 6  # neighbors drawn of each space
READING = """**How to read it.** A bar is the residual of one model, its rank among all stimuli
beside it: 1 is where that model lies closest to the consensus. The gray bar behind
holds the middle half of all stimuli."""


def show(at: Place, index: int) -> None:
    """Draw a stimulus large, with all its captions and factors."""
    size = queries.card(at).size
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Gallery", icon=":material/arrow_back:", on_click=gallery.choose, args=(None,))
        st.button("Previous", on_click=gallery.choose, args=((index - 1) % size,), type="tertiary")
        st.button("Next", on_click=gallery.choose, args=((index + 1) % size,), type="tertiary")
        st.text(f"stimulus {index} of {size:,}")
    picture, words = st.columns([2, 3])
    factors, captions = queries.stimuli(at).iloc[index], queries.captions(at)
    with picture:
        st.image(
            queries.thumbnails(at, (index,))[0], width=320, alt=gallery.default_captions(at)[index]
        )
    with words:
        for row in captions[captions["index"] == index].itertuples():
            with st.container(gap=None):
                st.caption(f"caption level {frame.plain(row.level)}")
                st.text(row.text)
        known = factors.drop("stimulus").dropna()
        if len(known):
            table = pd.DataFrame(
                {"factor": known.index.str.replace("_", " "), "value": known.astype(str).to_numpy()}
            )
            with st.expander(f"{len(known)} factors", expanded=len(known) <= 8):
                st.dataframe(table, hide_index=True)


def show_residuals(at: Place, spaces: tuple[str, ...], index: int) -> None:
    """Draw the residual in each space with its rank among all stimuli."""
    st.subheader("Do models agree on it?", anchor=False)
    rows = _ranked(at, spaces, index)
    recipe = queries.recipe(
        at, "residuals", spread.models(spaces), spaces=list(spaces), stimulus=index
    )
    exportbar.plot(
        figures.residuals(rows, mode=frame.mode(), narrow=frame.narrow()),
        key="residuals",
        table=rows,
        recipe=recipe,
        command=spread.command(at, spaces),
    )
    mean = spread.residuals(at, spaces)["mean"]
    rank = (
        f"rank {(mean < mean[index]).sum() + 1:,} of {len(mean):,}, from the least dispersed to the"
        " most"
    )
    st.markdown(
        f"{spread.MEANING}\n\n{READING}\n\n**What is seen.** Over all these models the stimulus has"
        f" {rank}."
    )


def _ranked(at: Place, spaces: tuple[str, ...], index: int) -> pd.DataFrame:
    every = spread.residuals(at, spaces)[list(spaces)]
    quartiles = every.quantile([0.25, 0.75])
    found = pd.DataFrame(
        {
            "space": list(spaces),
            "residual": every.iloc[index].to_numpy(),
            "rank": (every < every.iloc[index]).sum().to_numpy() + 1,
            "n": len(every),
            "lower": quartiles.iloc[0].to_numpy(),
            "upper": quartiles.iloc[1].to_numpy(),
        }
    )
    return spread.described(at, spaces).merge(found, on="space")


def show_neighbors(at: Place, spaces: tuple[str, ...], index: int) -> None:
    """Draw the nearest stimuli in the consensus and in each of its spaces, a row each."""
    st.subheader("What do models take to be like it?", anchor=False)
    k = min(NEAR, queries.card(at).size - 1)
    st.markdown(f"The {k} stimuli at the smallest angle to it, the most similar first.")
    near = {
        "In the consensus": (
            queries.compared(at, stimulus_views.near_in_consensus, spaces, k=k).iloc[index].tolist()
        )
    }
    for row in spread.described(at, spaces).to_dict("records"):
        layer = int(row["space"].rpartition(":")[2])
        near[f"{row['title']}, {row['layer']}"] = queries.neighbors(at, row["model"], layer, k=k)[
            index
        ].tolist()
    for place, (name, indices) in enumerate(near.items()):
        st.caption(frame.plain(name))
        gallery.grid(at, [one for one in indices if one >= 0], key=f"near-{place}", width=108)
