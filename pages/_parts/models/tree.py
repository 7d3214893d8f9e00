"""The tree of models next to their alignment with each other."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.questions.finding import sentences
from core.questions.models.figures import tree
from core.questions.models.geometry import cluster, distances
from core.questions.models.pairs import ModelPairs, Roster
from core.study.layers import score_matrix
from core.study.parts import Comparison
from pages._shared import exportbar, frame, prose, queries
from pages._shared.address import fragment
from pages._shared.queries import Place

MOST = 150  # models whose names can be read next to the tree
READING = """Rows and columns are the same models in the same order; a cell
is the alignment of two. The tree on the left joins the two nearest groups first, at
the mean of their distances, {distance}: models that join close to the matrix are
alike. Blocks that stand out on the diagonal are groups of models that are alike."""


@fragment
def show(at: Place, models: pd.DataFrame, roster: Roster, comparison: Comparison) -> None:
    """Draw the tree with the matrix in its order, and say how well a tree fits."""
    st.header("Which groups do they form?", anchor=False)
    with frame.part():
        if len(models) > MOST:
            raise frame.NeededError(
                f"At most {MOST} model names are legible here, and there are {len(models)}: choose"
                " fewer models."
            )
        draw(at, models, ModelPairs(at.scope, roster, comparison))


def draw(at: Place, models: pd.DataFrame, question: ModelPairs) -> None:
    """Draw the figure; raises NeededError where there are no distances."""
    spec = question.comparison.spec
    pairs = queries.ask(at, question)
    try:
        apart = distances(pairs, spec=spec)
        joined = cluster(apart)
    except InputError as error:
        raise frame.NeededError(f"No tree: {error}.") from error
    about, scores = models.set_index("model").loc[joined.order], score_matrix(pairs, joined.order)
    figure = tree(
        scores,
        joined.branches,
        about[["title", "group"]],
        label=question.comparison.label,
        aligned_high=spec.higher_is_more_aligned,
        mode=frame.mode(),
        narrow=frame.narrow(),
    )
    exportbar.draw(at, question, figure, key="tree", table=pairs)
    distance = "−log(alignment)" if spec.higher_is_more_aligned else "which the metric itself is"
    prose.explain(
        READING.format(distance=distance), sentences(queries.answer(at, question).findings)
    )
    frame.list_left_out(models, apart.left_out)
