"""All pairs of layers of two networks: what each loses, the way of least penalty, and whether
alignment foretells it.
"""

from __future__ import annotations

import streamlit as st

from core.questions.asking import findings_of
from core.questions.stitching import figures
from core.questions.stitching.question import Stitch, StitchMap
from pages._parts.stitching import pick, queue
from pages._shared import exportbar, frame, prose, queries
from pages._shared.queries import Place

READING = """Each cell is one stitch: the row's layer of the lower network stands for the column's
layer of the upper one. Rings mark the way through both networks that loses least: for each layer of
the upper network one of the lower, never going back. Beside it stands the alignment of the same
layers over the same stimuli. Alignment compares how stimuli are arranged; a stitch asks whether the
upper network can use them. The dots below are the same cells, one against the other."""


def show(at: Place, one: Stitch) -> None:
    """Draw the map of two models where it is kept whole; else offer to make it in the
    background.
    """
    st.header("Which layers can stand for which?", anchor=False)
    with frame.part():
        question = StitchMap(at.scope, one.x, one.y, one.fitting)
        models = queries.models(at).set_index("model")
        every = len(models.loc[one.x, "layers"]) * len(models.loc[one.y, "layers"])
        made = len(pick.kept_places(at, one))
        if made < every:
            st.caption(f"{made} of {every} pairs of layers are kept.")
            queue.offer("Stitch all layers in the background", question, key="map")
            return
        _draw(at, question, (models.loc[one.x, "title"], models.loc[one.y, "title"]))


def _draw(at: Place, question: StitchMap, titles: tuple[str, str]) -> None:
    table = queries.ask(at, question)
    said = findings_of(question, table)
    prose.answer(said[: prose.LEAD])
    label = f"alignment ({question.measure.spec.short})"
    figure = figures.layer_maps(
        table, titles, label=label, mode=frame.mode(), narrow=frame.narrow()
    )
    exportbar.draw(at, question, figure, key="layers", table=table)
    dots = figures.foretelling(table, label=label, mode=frame.mode())
    exportbar.draw(at, question, dots, key="foretold", table=table)
    prose.explain(READING, said[prose.LEAD :])
