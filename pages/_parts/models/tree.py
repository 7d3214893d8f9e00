"""The tree of models beside their alignment with each other."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.metrics import METRICS
from core.questions.models import figures as figures
from core.questions.models.clustering import cluster
from core.questions.models.distances import distances
from core.questions.models.findings import tell_tree
from core.study.pair_table import score_matrix
from pages._shared import among, exportbar, frame, queries
from pages._shared.among import Among
from pages._shared.queries import Place

MOST = 150  # models whose names can be read beside the tree
READING = """**How to read it.** Rows and columns are the same models in the same order; a cell
is the alignment of two. The tree on the left joins the two nearest groups first, at
the mean of their distances, {distance}: models that join close to the matrix are
alike. Blocks on the diagonal that stand out are groups that are aligned within."""


@st.fragment
def show(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw the tree with the matrix in its order, and say how far a tree fits."""
    st.subheader("Which groups do they form?", anchor=False)
    with frame.part():
        if len(models) > MOST:
            raise frame.NeededError(
                f"The names of at most {MOST} models can be read here, and there are {len(models)}:"
                " choose some."
            )
        draw(at, models, asked)


def draw(at: Place, models: pd.DataFrame, asked: Among) -> None:
    """Draw the figure; raises NeededError where there are no distances."""
    names, spec = tuple(models["model"]), METRICS[asked.metric].spec
    pairs = asked.pairs(at, names)
    try:
        found = distances(pairs, spec=spec)
        joined = cluster(found)
    except InputError as error:
        raise frame.NeededError(f"No tree: {error}.") from error
    about, scores = models.set_index("model").loc[joined.order], score_matrix(pairs, joined.order)
    figure = figures.tree(
        scores,
        joined.branches,
        titles=list(about["title"]),
        groups=list(about["group"]),
        label=asked.label,
        aligned_high=spec.higher_is_more_aligned,
        mode=frame.mode(),
        narrow=frame.narrow(),
    )
    recipe = queries.recipe(at, "model-tree", names, linkage="average", **asked.compared)
    exportbar.plot(
        figure,
        key="tree",
        table=pairs,
        recipe=recipe,
        command=asked.align_command(at, list(names), list(names)),
    )
    distance = "−log(alignment)" if spec.higher_is_more_aligned else "which the metric is itself"
    st.markdown(
        f"{READING.format(distance=distance)}\n\n**What is seen.** {tell_tree(joined.cophenetic)}"
    )
    among.tell_left_out(models, found.left_out)
