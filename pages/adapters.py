"""Adapters: do linear maps between frozen encoders bring them nearer to a strong model?"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.questions.adapters import answer as adaptation
from core.questions.adapters import figures as figures
from core.questions.adapters import measures as measures
from core.questions.adapters.findings import tell_baselines, tell_cost
from pages._parts.adapters import examples, kernels, lessons, trainings
from pages._parts.adapters.lessons import Asked
from pages._shared import exportbar, frame, queries
from pages._shared.queries import Place

WHY = """An adapter is one matrix per encoder. The encoders stay as they are; the adapters
learn from pairs alone that a picture and its caption belong to the same place of a
common space. **The proposal:** that space is nearer to a strong model, the
reference, than the encoders are on average, because what they share is what is
real."""
READING = """**How to read it.** Filled dots are alignment with the reference in the common
space, by one encoder's adapter or by the mean of all, over {trainings}; hollow
circles are the encoders before. The proposal says that filled dots lie right of the
dashed line, the average before. The bar is the 95 % **interval** of that gain, laid
around what is reached: where it crosses the line, nothing is decided. Adapters also
center, which by itself moves alignment: diamonds are the encoders centered, nothing
learned."""
BASELINES = """Retrieval of {test:,} test stimuli beside methods that train nothing by gradient:
canonical correlation, orthogonal Procrustes, ridge regression, relative
representations (similarities to the training stimuli) and the vectors as they are;
means over {trainings}. A median rank of 1 is best."""
COST = (
    "**How to read it.** The same for ever fewer training pairs, the test stimuli unchanged. Means"
    " over trainings."
)
COLUMNS = {
    "recall_1": "recall at 1",
    "recall_5": "recall at 5",
    "recall_10": "recall at 10",
    "median_rank": "median rank",
}
MOST_SEEDS = 20


def show(at: Place) -> None:
    """Draw the training, the kernels, what is retrieved, and the verdict over several trainings."""
    frame.need_stimuli(at)
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    asked = lessons.ask(at)
    lesson = queries.lesson(at, asked.spaces, pairs=asked.pairs, seed=asked.seed)
    st.markdown(WHY)
    training = trainings.show(at, asked, lesson)
    with frame.part():
        kernels.show(at, asked, lesson, training)
    if training and training.adapters:
        with frame.part():
            examples.show(at, asked, lesson, training.adapters)
    with frame.part():
        show_verdict(at, asked, len(lesson.parts.test))
    trainings.show_files(at, asked, training)


def show_verdict(at: Place, asked: Asked, test: int) -> None:
    """Measure over several trainings where that is asked for, and say what becomes of the
    proposal.
    """
    st.subheader("Does the proposal hold?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = st.toggle(
            "Measure over several trainings",
            key="measure",
            bind="query-params",
            help="Trains anew for each seed; the answer is kept in the store.",
        )
        seeds = int(
            st.number_input(
                "Trainings",
                1,
                MOST_SEEDS,
                adaptation.SEEDS,
                key="seeds",
                bind="query-params",
                width=140,
            )
        )
    if not measure:
        return
    titles, groups = (lessons.about(at, asked.spaces, column) for column in ("title", "group"))
    rows = queries.compared(
        at, adaptation.adapt, asked.spaces, pairs=asked.pairs, **_choices(asked, seeds)
    )
    found = measures.summarize(rows)
    figure = figures.before_after(found, titles, groups, label=asked.label, mode=frame.mode())
    exportbar.plot(
        figure,
        key="gains",
        table=found,
        recipe=lessons.recipe(at, "adapted", asked, seeds=seeds),
        command=asked.command(at, *_seeds(seeds)),
    )
    told = rows.assign(what=rows["what"].replace(titles))
    st.markdown(
        "**The verdict.**"
        f" {frame.plain(measures.verdict_text(told, reference=lessons.reference_title(at, asked)))}"
    )
    trainings = "one training" if seeds == 1 else f"{seeds} trainings"
    st.markdown(READING.format(trainings=trainings))
    st.dataframe(_baselines(found, titles), hide_index=True, height="content", placeholder="")
    if missing := _tell_missing(found):
        st.caption(missing)
    st.markdown(
        f"{BASELINES.format(test=test, trainings=trainings)}\n\n**What is seen.**"
        f" {tell_baselines(found)}"
    )
    if st.toggle("What are fewer pairs worth?", key="cost", bind="query-params"):
        show_cost(at, asked, seeds)


def show_cost(at: Place, asked: Asked, seeds: int) -> None:
    """Draw alignment and recall by the number of training pairs."""
    rows = queries.compared(at, adaptation.learning_curve, asked.spaces, **_choices(asked, seeds))
    found = measures.summarize(rows)
    figure = figures.cost(found, label=asked.label, mode=frame.mode(), narrow=frame.narrow())
    sizes = [str(size) for size in sorted(found[measures.PAIRS].unique())]
    exportbar.plot(
        figure,
        key="worth",
        table=found,
        recipe=lessons.recipe(at, "adapted-by-pairs", asked, seeds=seeds),
        command=asked.command(at, *_seeds(seeds), "--pairs", *sizes),
    )
    st.markdown(f"{COST}\n\n**What is seen.** {tell_cost(found)}")


def _choices(asked: Asked, seeds: int) -> dict[str, Any]:
    return {
        "references": (asked.reference,),
        "settings": asked.settings,
        "seeds": seeds,
        "seed": asked.seed,
        **asked.compared,
    }


def _seeds(seeds: int) -> list[str]:
    return ["--seeds", str(seeds)] if seeds != adaptation.SEEDS else []


def _baselines(found: pd.DataFrame, titles: dict[str, str]) -> pd.DataFrame:
    """Return a row per direction and method, the adapters first."""
    rows = found[found["measure"].isin(list(COLUMNS))]
    wide = rows.pivot_table(
        index=["what", "method"], columns="measure", values="value", sort=False, dropna=False
    )
    table = wide[list(COLUMNS)].rename(columns=COLUMNS).round(3).reset_index()
    names = [" → ".join(titles[space] for space in what.split(" → ")) for what in table["what"]]
    return table.assign(what=names).rename(columns={"what": "from → to"})


def _tell_missing(found: pd.DataFrame) -> str:
    """Return which methods have no figures and why, a line for each reason; empty where all have
    theirs.
    """
    rows = found[found["measure"].isin(list(COLUMNS)) & (found["reason"] != "")]
    methods = rows.groupby("reason", sort=False)["method"].unique()
    return "  \n".join(
        f"No figures of **{', '.join(names)}**: {frame.plain(reason)}."
        for reason, names in methods.items()
    )


frame.draw("Do linear adapters bring encoders nearer to a strong model?", show)
