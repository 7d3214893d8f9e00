"""Adapters: do linear maps between frozen encoders bring them nearer to a strong model?"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.questions.adapters import figures
from core.questions.adapters.gain_figures import before_after
from core.questions.adapters.maps.model import split
from core.questions.adapters.question import Adaptation, PairsCurve
from core.questions.finding import sentences
from pages._parts.adapters import examples, further, kernels, lessons, training
from pages._shared import controls, exportbar, frame, prose, queries
from pages._shared.address import bind
from pages._shared.queries import Place

WHY = """An adapter is one matrix per encoder. The encoders stay frozen; the adapters learn from
pairs alone that a picture and its caption belong in the same place of a common space. **The
proposal:** that space is nearer to a strong model, the reference, which takes no part in training,
than the encoders are on average, because what they share is what is real."""
READING = """Filled dots are alignment with the reference in the common space,
by one encoder's adapter or by the mean of all, over {trainings}; hollow circles are the encoders
before. The proposal says that filled dots lie right of the dashed line, the average before. The bar
is the 95% **interval** of that gain, drawn around the value reached: where it crosses the line,
nothing is decided. With an offset, adapters also center, which by itself changes alignment:
diamonds are the encoders centered, with nothing learned."""
BASELINES = """Retrieval of {test:,} test stimuli next to methods that are not trained by gradient:
canonical correlation, orthogonal Procrustes, ridge regression, relative representations
(similarities to the training stimuli) and the raw vectors; means over {trainings}. A median rank of
1 is best."""
COST = "The same for ever fewer training pairs, with the same test stimuli. Means over trainings."
COLUMNS = {
    "recall_1": "recall at 1",
    "recall_5": "recall at 5",
    "recall_10": "recall at 10",
    "median_rank": "median rank",
}
MOST_SEEDS = 20


def show(at: Place) -> None:
    """Draw the verdict over several trainings, then one training and what it gives."""
    frame.need_stimuli(at)
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    answer = st.empty()
    question = lessons.pick(at)
    at = replace(at, scope=question.scope)
    pairs = question.pairs
    with frame.part():
        parts = split(queries.size(at), pairs=pairs, seed=question.seed)
        show_verdict(at, question, len(parts.test), answer)
    st.header("One training", anchor=False)
    lesson = queries.lesson(at, question.spaces, pairs=pairs, seed=question.seed)
    adapters = training.show(at, question, lesson)
    with frame.part():
        kernels.show(at, question, lesson, adapters, answer)
    if adapters:
        with frame.part():
            examples.show(at, question, lesson, adapters)


def show_verdict(at: Place, question: Adaptation, test: int, answer: DeltaGenerator) -> None:
    """Measure over several trainings where that is chosen, and say what becomes of the proposal."""
    st.header("Does the proposal hold?", anchor=False)
    question = _pick_trainings(at, question)
    if not question.seeds:
        return
    seeds = question.seeds
    titles, groups = (lessons.about(at, question.spaces, column) for column in ("title", "group"))
    found = queries.answer(at, question)
    table = found.table
    figure = before_after(table, titles, groups, label=question.label, mode=frame.mode())
    exportbar.draw(at, question, figure, key="gains", table=table)
    said = sentences(found.findings)
    with answer:
        prose.answer(said[:1])
    prose.answer(said[1:])
    trainings_text = "one training" if seeds == 1 else f"{seeds} trainings"
    prose.explain(f"{WHY}\n\n{READING.format(trainings=trainings_text)}")
    st.dataframe(_baselines(table, titles), hide_index=True, height="content", placeholder="")
    if missing := _missing(table):
        st.caption(missing)
    st.markdown(BASELINES.format(test=test, trainings=trainings_text))
    if st.toggle("What are fewer pairs worth?", **bind("cost", False)):
        show_cost(at, question)
    further.show(at, question)


def _pick_trainings(at: Place, question: Adaptation) -> Adaptation:
    """Choose whether to measure, as at first if that is kept, and over how many trainings."""
    kept = queries.recall(at, replace(question, seeds=lessons.OPTIONS["seeds"].default)) is not None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = st.toggle(
            "Measure over several trainings",
            help="Trains again for each seed; the answer is kept in the store.",
            **bind("measure", kept),
        )
        one = lessons.OPTIONS["seeds"]
        seeds = int(controls.pick_between(one, 1, MOST_SEEDS, 1, width=140))
    return replace(question, seeds=seeds if measure else 0)


def show_cost(at: Place, question: Adaptation) -> None:
    """Draw alignment and recall by the number of training pairs."""
    curve = question.turned(PairsCurve)
    found = queries.answer(at, curve)
    table = found.table
    figure = figures.cost(table, label=curve.label, mode=frame.mode(), narrow=frame.narrow())
    exportbar.draw(at, curve, figure, key="worth", table=table)
    prose.explain(COST, sentences(found.findings))


def _baselines(table: pd.DataFrame, titles: dict[str, str]) -> pd.DataFrame:
    """Return a row per direction and method, the adapters first."""
    rows = table[table["measure"].isin(list(COLUMNS))]
    wide = rows.pivot_table(
        index=["what", "method"], columns="measure", values="value", sort=False, dropna=False
    )
    renamed = wide[list(COLUMNS)].rename(columns=COLUMNS).round(3).reset_index()
    names = [" → ".join(titles[space] for space in what.split(" → ")) for what in renamed["what"]]
    return renamed.assign(what=names).rename(columns={"what": "from → to"})


def _missing(table: pd.DataFrame) -> str:
    """Return which methods have no figures and why, a line for each reason; empty where all have
    theirs.
    """
    rows = table[table["measure"].isin(list(COLUMNS)) & (table["reason"] != "")]
    methods = rows.groupby("reason", sort=False)["method"].unique()
    return "  \n".join(
        f"No figures of **{', '.join(names)}**: {frame.plain(reason)}."
        for reason, names in methods.items()
    )
