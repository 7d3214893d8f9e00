"""What two models find most like a stimulus, side by side, and how often they agree on all."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.questions.stimuli import figures
from core.questions.stimuli.question import SharedNeighbors
from pages._parts.images import selection
from pages._shared import exportbar, facts, frame, neighbors, prose, queries
from pages._shared.controls import pick_pair
from pages._shared.queries import Place

AGREEMENT = """A bar counts the stimuli for which the two layers share this many
nearest neighbors; the marked bar holds this stimulus. The mean, divided by k, is their
alignment by mutual k-nearest neighbors."""


def show(at: Place, index: int, k: int) -> None:
    """Draw the nearest neighbors in two models side by side, then how often they agree on all
    stimuli.
    """
    every = queries.models(at)
    models = every[~every["model"].isin(facts.without_neighbors(at, list(every["model"]), k=k))]
    if len(models) < 2:
        raise frame.NeededError(
            "Neighbors are compared between two models: embed another one.",
            frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2"),
        )
    st.header(f"Its {k} nearest neighbors in two models", anchor=False)
    columns = st.columns(2, gap="large")
    pair = pick_pair(at, models, k=k, left=columns[0], right=columns[1])
    clicks = selection.clicks(queries.card(at).size, ())
    neighbors.side_by_side(at, pair, index, k, clicks=clicks)
    _show_agreement(at, index, models, SharedNeighbors(at.scope, pair, k))


def _show_agreement(at: Place, index: int, models: pd.DataFrame, question: SharedNeighbors) -> None:
    """Draw on how many neighbors the two layers agree, for all stimuli."""
    st.header("Do they agree here more than elsewhere?", anchor=False)
    table, titles = queries.ask(at, question), models.set_index("model")["title"]
    title_x, title_y = (titles[model] for model in (question.pair.x, question.pair.y))
    figure = figures.agreement(
        table["shared"].to_numpy(),
        chosen=index,
        k=question.k,
        title_x=title_x,
        title_y=title_y,
        mode=frame.mode(),
    )
    exportbar.draw(at, question, figure, key="agreement", table=table)
    prose.explain(AGREEMENT)
