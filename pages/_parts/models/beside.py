"""Models side by side: what is known of them, which of their layers agree, which stimuli they hold
alike, what they can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.competence.records import MEASURED
from core.figures.numbers import count_text
from core.questions.alignment.question import Alignment
from core.questions.competence.question import CompetenceScores
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.models.standings import nearest_to
from core.study.layers import ALL, LayerChoice, layer_matrix
from core.study.layers import pick as pick_best
from core.study.parts import Comparison
from pages._shared import facts, frame, gallery, queries, section, selection
from pages._shared.address import fragment
from pages._shared.queries import Place

NEAR = 6  # stimuli drawn of each model


@fragment
def show(at: Place, models: pd.DataFrame, roster: Roster, comparison: Comparison) -> None:
    """Draw the model that was chosen last next to the one chosen before it and its three nearest;
    say how to choose where none is.
    """
    st.header("Side by side", anchor=False)
    names = set(models["model"])
    latest = [name for name in reversed(selection.chosen()) if name in names]
    if not latest:
        st.caption("Click a mark of the map, tick a row of the table, or search in the sidebar.")
        return
    with frame.part():
        pairs = queries.ask(at, ModelPairs(at.scope, roster, comparison))
        high = comparison.spec.higher_is_more_aligned
        near = nearest_to(pairs, latest[0], high=high, count=3)["other"]
        shown = list(dict.fromkeys((*latest[:2], *near)))
        show_facts(at, models.set_index("model").loc[shown], pairs)
        if len(shown) > 1:  # one that cannot be compared has no nearest
            show_agreement(at, models, comparison, shown)


def show_agreement(
    at: Place, models: pd.DataFrame, comparison: Comparison, shown: Sequence[str]
) -> None:
    """Draw which layers of the first two agree, and what each holds nearest to a stimulus."""
    first, second, *_ = shown
    every = replace(comparison, layers=ALL)
    grids = {
        name: Alignment(at.scope, x=(first,), y=(name,), comparison=every) for name in shown[1:]
    }
    section.draw(at, grids[second], key="layer-map", lead=0)
    best = {name: _best_layers(at, grid) for name, grid in grids.items()}
    layers = {first: best[second][0], **{name: pair[1] for name, pair in best.items()}}
    show_neighbors(at, models.set_index("model")["title"], layers)


def show_facts(at: Place, models: pd.DataFrame, pairs: pd.DataFrame) -> None:
    """Draw a column per model: its card, how aligned it is with the first, and its competence;
    models: in this order.
    """
    scores = {
        frozenset(pair): score
        for *pair, score in pairs[["model_x", "model_y", "score"]].itertuples(
            index=False, name=None
        )
    }
    first, facts = models.index[0], {}
    for name, row in models.iterrows():
        score = scores.get(frozenset((first, name)))
        facts[row["title"]] = {
            f"aligned with {models['title'].iloc[0]}": "" if score is None else f"{score:.3f}",
            "modality": row["modality"],
            "family": row["family"],
            "objective": row["objective"],
            "parameters": count_text(row["parameters"]),
            "training steps": count_text(row["step"]),
            "layers": str(len(row["layers"])),
        }
    table = pd.concat([pd.DataFrame(facts), _competence(at, models)]).fillna("")
    st.dataframe(
        table.rename_axis("").reset_index(),
        hide_index=True,
        height=min(35 * (len(table) + 1) + 3, 460),
    )


def _competence(at: Place, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per task that any of the models has a value of, a column per model."""
    table = queries.ask(at, CompetenceScores(at.scope))
    rows = table[table["model"].isin(models.index) & table["value"].notna()]
    origin = (", " + rows["origin"]).where(rows["origin"] != MEASURED, "")
    cells = rows.assign(
        task=rows["task"] + " (" + rows["unit"] + origin + ")",
        text=rows["value"].map("{:.3g}".format),
    )
    wide = cells.pivot_table(
        index="task", columns="model", values="text", aggfunc="first", sort=False
    )
    return wide.reindex(columns=models.index).rename(columns=models["title"].to_dict())


def _best_layers(at: Place, grid: Alignment) -> tuple[int, int]:
    """Return the pair of layers of two models that agrees best."""
    scores = layer_matrix(queries.ask(at, grid)).to_numpy()
    return pick_best(scores, LayerChoice(), spec=grid.comparison.spec)


def show_neighbors(at: Place, titles: pd.Series, layers: Mapping[str, int]) -> None:
    """Draw the stimuli, of all, that each model holds nearest to one stimulus; framed where the
    first one agrees.

    layers: of each model the one that is shown, the opened model first.
    """
    shown, at = list(layers), queries.place(at.dataset)
    size = queries.card(at).size
    index = gallery.chosen(size) or 0
    k = min(NEAR, size - 1)
    also = f"framed: near it in {frame.plain(titles[shown[0]])}, too"
    st.caption(
        f"Nearest to stimulus {index}, most similar first; {also}. Open another stimulus to see its"
        " neighbors instead."
    )
    near = {
        name: [int(one) for one in facts.neighbors(at, name, layer, k=k)[index] if one >= 0]
        for name, layer in layers.items()
    }
    gallery.grid(at, [index], key="asked", width=108)
    for place, name in enumerate(shown):
        st.caption(frame.plain(titles[name]))
        marked = set(near[shown[0]]) if place else set()
        gallery.grid(at, near[name], key=f"beside-{place}", width=108, marked=marked)
