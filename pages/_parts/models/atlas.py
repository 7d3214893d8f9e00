"""The map of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InputError
from core.questions.alignment.axes import COMPETENCE, find_axis
from core.questions.competence.question import TasksSolved
from core.questions.finding import sentences
from core.questions.models.question import Coloring, LayoutName, ModelMap
from core.study.models import basis_of, language_basis
from pages._shared import controls, exportbar, facts, frame, prose, queries, selection
from pages._shared.address import fragment
from pages._shared.queries import Place

LAYOUTS: Mapping[LayoutName, str] = {"umap": "UMAP", "mds": "MDS", "tsne": "t-SNE"}
COLORS: Mapping[Coloring, str] = {
    "group": "objective",
    "family": "family",
    "rank": "competence",
    "parameters": "size",
    "step": "training step",
}
NEARNESS = """Marks that lie together are aligned models; the distance between groups means
nothing, nor does left, right, up or down. {name} draws groups even where there are
hardly any, and distorts distances within them: for distances, choose MDS above."""
DISTANCES = """The distance of two marks is as close as a plane allows to {distance} of the two
models. Only distances count, and the bar below gives their scale: the map may be
rotated or mirrored."""
SIGNS = """Each mark is a model: squares see, circles read, triangles hear, diamonds
are brains, hexagons people, the star is the world itself; larger marks have more
parameters, and lines join checkpoints of one training. {layout} **Click a mark** to
choose the model and see it next to its nearest ones; a ring marks what is chosen."""
COLORING = {
    "rank": (
        "Color: rank in competence among the models of one modality (language:"
        " {language}; vision: {basis}). Hollow marks were not"
        " measured."
    ),
    "parameters": "Hollow marks: the number of parameters is unknown.",
    "step": "Hollow marks: untrained, or the steps are unknown.",
}


@fragment
def show(at: Place, models: pd.DataFrame, question: ModelMap, answer: DeltaGenerator) -> None:
    """Draw the map, and say how far to trust it and what is seen.

    question: of which the map's layout is still to be chosen. answer: where the page says it; it
    holds one element, which a redraw of the map alone replaces. A fragment: what the map is colored
    by redraws nothing else.
    """
    with frame.part():
        try:
            said = draw(at, models, question)
        except frame.NeededError:
            answer.empty()  # a redraw of the map alone may fill only what the page has drawn
            raise
        with answer:
            prose.answer(said[: prose.LEAD])


def draw(at: Place, models: pd.DataFrame, question: ModelMap) -> list[str]:
    """Draw the controls and the map; return what it says."""
    options = controls.options_by_name(ModelMap)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layout = controls.pick_segment(options["layout"].label, LAYOUTS, "layout", start="umap")
        color = controls.pick_segment("Color", COLORS, "color", start="group")
    question = replace(question, layout=layout, color=color)
    table = _placed(at, question)
    solved = queries.ask(at, TasksSolved(at.scope))
    aligned_high = question.comparison.spec.higher_is_more_aligned
    distance = "−log(alignment)" if aligned_high else "the metric"
    named = table.assign(named=table["model"].isin(selection.chosen()))
    figure = question.plot(named).draw(frame.mode(), narrow=frame.narrow())
    exportbar.draw_models(at, question, figure, key="model-map", table=table)
    reading = (
        DISTANCES.format(distance=distance)
        if layout == "mds"
        else NEARNESS.format(name=LAYOUTS[layout])
    )
    coded = find_axis(COMPETENCE, unit=language_basis(models, facts.competence(at))).title
    coloring = COLORING.get(color, "").format(
        basis=frame.plain(basis_of(solved)),
        language=frame.plain(coded.removeprefix(f"{COMPETENCE}: ")),
    )
    how = f"{SIGNS.format(layout=reading)} {coloring}"
    said = sentences(queries.answer(at, question).findings)
    prose.explain(how, said[prose.LEAD :])
    left_out = table[table["reason"] != ""]
    frame.list_left_out(models, dict(zip(left_out["model"], left_out["reason"], strict=True)))
    return said


def _placed(at: Place, question: ModelMap) -> pd.DataFrame:
    """Return the map; the first one loads UMAP, which takes seconds. Raises NeededError where none
    can be drawn.
    """
    try:
        with st.spinner("Drawing the map; the first one takes a few seconds"):
            return queries.ask(at, question)
    except InputError as error:
        raise frame.NeededError(f"No map: {error}.") from error
