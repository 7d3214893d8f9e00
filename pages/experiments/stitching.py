"""Stitching: can one network go on from a layer of another?"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.questions.asking import findings_of
from core.questions.stitching.bench import need_world
from core.questions.stitching.figures import kinds_of_map
from core.questions.stitching.question import Stitch
from pages._parts.stitching import many, maps, pick, presets
from pages._shared import bar, exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

READING = """The upper network gets, in place of its own layer, what one affine map makes of a
layer of the lower network, at every token or place alike. Both networks stay frozen. The map is
fitted on new events of the Cave, to the upper network's own task: for vision models the questions
that their head answers, for language models the next word. The **stitching penalty** is what the
score falls by on the stimuli of this dataset; **lost** is that penalty as a share of what the upper
network has above chance, and chance is the score of who sees nothing and knows how frequent each
answer is. Where the lower network knows more of the task, something may be gained. Beside the
fitted map stand three that were not fitted to the task: least squares between the activations, the
identity, and a random map. Bars are 95 % **interval**s over stimuli; a triangle lies beyond the
edge."""


def show(at: Place) -> None:
    """Draw one stitch, all layers of the same two models, and what other pairs of models lose."""
    frame.need_stimuli(at)
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    answer = st.empty()
    need_world(queries.study(at))
    presets.offer(at)
    with bar.controls_bar():
        question = pick.question(at)
    with frame.part():
        show_one(at, question, answer)
    maps.show(at, question)
    show_kinds(at)
    show_trend(at)


def show_one(at: Place, question: Stitch, answer: DeltaGenerator) -> None:
    """Draw what each map loses at one pair of layers; made on a click where it is not kept."""
    st.header("One pair of layers", anchor=False)
    if not pick.is_kept(at, question):
        st.caption("Nothing is kept of these layers. This takes some 10 to 30 s.")
        if not st.button("Stitch them", icon=":material/join:", type="primary", key="stitch"):
            return
    table = queries.ask(at, question)
    said = findings_of(question, table)
    with answer:
        prose.answer(said[: prose.LEAD])
    figure = kinds_of_map(table, frame.mode())
    exportbar.draw(at, question, figure, key="one", table=table)
    prose.explain(READING, said[prose.LEAD :])


@fragment
def show_kinds(at: Place) -> None:
    """Draw which kinds of networks can be stitched."""
    many.show_kinds(at)


@fragment
def show_trend(at: Place) -> None:
    """Draw whether better networks are stitched more cheaply."""
    many.show_trend(at)


frame.draw("Can one network go on from a layer of another?", show)
