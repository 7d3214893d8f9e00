"""One stimulus: all that is known of it, how far each model lies from the consensus here, and what
models take to be like it.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.figures.numbers import share_text
from core.figures.theme import INK
from core.questions.dispersion.question import Spaces
from core.questions.stimuli import figures
from core.questions.stimuli.question import StimulusNeighbors, StimulusResiduals
from core.stimuli.worlds import Event, World
from pages._parts.images import selection
from pages._shared import exportbar, facts, frame, gallery, prose, queries, spread
from pages._shared.queries import Place

NEAR = 6  # neighbors drawn of each space
HEARD = """The **melody** of the event, which music models read: time runs to the right, pitch
upward, and lines mark every C. The scale of the opening and the close is the scene's, lengths go
with the time of day, and each thing is a motif of four notes."""
READING = """A bar is the residual of one model, its rank among all stimuli
next to it: 1 is where that model lies closest to the consensus. The gray bar behind
holds the middle half of all stimuli."""


def show(at: Place, index: int) -> None:
    """Draw a stimulus large, with all its captions and factors."""
    gallery.show_top(index)
    _draw_ways(queries.card(at).size, index)
    picture, words = st.columns([2, 3]) if queries.card(at).has_images else (None, st.container())
    factors, captions = facts.stimuli(at).iloc[index], facts.captions(at)
    if picture:
        with picture:
            gallery.draw_one(at, index, width=320)
    with words:
        texts = captions[captions["index"] == index].set_index("level")["text"]
        if texts.empty:
            st.text(factors["stimulus"])
        for level in sorted(texts.index, key=_by_words):
            with st.container(gap=None):
                st.caption(f"caption level {frame.plain(level)}")
                st.text(texts[level])
        if world := queries.card(at).world:
            with st.container(gap=None):
                st.caption("melody", help=HEARD)
                _draw_melody(world, *world.behind(queries.card(at), [index]))
        present = factors.drop("stimulus").dropna()
        if len(present):
            table = pd.DataFrame(
                {
                    "factor": present.index.str.replace("_", " "),
                    "value": present.astype(str).to_numpy(),
                }
            )
            with st.expander(f"{len(present)} factors", expanded=len(present) <= 8):
                st.dataframe(table, hide_index=True)


def _draw_ways(size: int, index: int) -> None:
    """Draw which stimulus it is, and the buttons that go back and on, which have keys of their
    own.
    """
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="ways", wrap=True
    ):
        st.markdown(f"**stimulus {index}** of {size:,}", width="content")
        st.space("stretch")
        st.button("Back", shortcut="Esc", on_click=gallery.choose, args=(None,), type="tertiary")
        for label, key, step in (("Previous", "Left", -1), ("Next", "Right", 1)):
            turn = ((index + step) % size,)
            st.button(label, shortcut=key, on_click=gallery.choose, args=turn, type="tertiary")


def _draw_melody(world: World, event: Event) -> None:
    """Draw what music models hear of the event as a piano roll."""
    ink = INK[frame.mode()]
    roll, words = world.roll(event, ink=ink.text, grid=ink.grid)
    st.image(roll, width="content", alt=words)


def _by_words(level: str) -> tuple[bool, int]:
    """Order levels that are numbers of words by them, after those that are not."""
    return level.isdecimal(), int(level) if level.isdecimal() else 0


def show_residuals(at: Place, spaces: tuple[str, ...], index: int) -> None:
    """Draw the residual in each space with its rank among all stimuli."""
    st.header("Do models agree on it?", anchor=False)
    question = StimulusResiduals(at.scope, Spaces(spaces), index)
    rows = spread.described(at, spaces).merge(queries.ask(at, question), on="space")
    figure = figures.residuals(rows, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, question, figure, key="residuals", table=rows)
    prose.explain(f"{spread.MEANING}\n\n{READING}")


def describe_rank(mean: pd.Series, index: int) -> list[str]:
    """Say where a stimulus lies among all by its mean residual."""
    rank, others = int((mean < mean[index]).sum()) + 1, len(mean) - 1
    more = share_text((mean > mean[index]).sum() / others)
    return [
        f"Models agree on stimulus {index} more than on {more} of the others: by its mean residual"
        f" it ranks {rank:,} of {len(mean):,}, from the least dispersed to the most."
    ]


def show_neighbors(at: Place, spaces: tuple[str, ...], index: int) -> None:
    """Draw the nearest stimuli in the consensus and in each of its spaces, a row each."""
    st.header("Which stimuli do models find similar to it?", anchor=False)
    k = min(NEAR, queries.size(at) - 1)
    st.markdown(f"The {k} stimuli at the smallest angle to it, the most similar first.")
    table = queries.ask(at, StimulusNeighbors(at.scope, Spaces(spaces), k))
    near = table[table["index"] == index].set_index("space").filter(like="rank_")
    looks = spread.described(at, spaces)
    titles = dict(zip(looks["space"], looks["title"] + ", " + looks["layer"], strict=True))
    for place, (space, ranks) in enumerate(near.iterrows()):
        st.caption(frame.plain(titles.get(str(space), "In the consensus")))
        shown = [one for one in ranks if one >= 0]
        clicks = selection.clicks(queries.card(at).size, ())
        gallery.grid(at, shown, key=f"near-{place}", width=108, clicks=clicks)
