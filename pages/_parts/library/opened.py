"""One model of the store: its card, layers, nearest models, competence, recipe, and the command
that made it.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from core.competence.records import MEASURED
from core.embedding.history import command_of, file_of
from core.encoders.requests import ImportRequest
from core.figures.numbers import count_text, time_text
from core.machine.memory import size_text
from core.questions.alignment.question import Alignment
from core.questions.asking import findings_of
from core.questions.competence.question import CompetenceScores
from core.questions.models.pairs import ModelPairs
from core.questions.models.standings import nearest_to
from core.questions.reliability import Reliability
from core.store import ModelEntry
from core.store.editing import device_of, seconds_of
from core.study.models import is_measured
from core.study.parts import Comparison
from pages._parts.library import changes, tables
from pages._shared import frame, queries
from pages._shared.queries import Place

NEAREST = 5
COMPARISON = Comparison()  # as the map of models has it at first


def show(at: Place, models: pd.DataFrame, name: str) -> None:
    """Draw all that is known of a model, and what can be done with it."""
    (row,) = models[models["model"] == name].to_dict("records")
    entry = queries.store().model(at.dataset, name)
    st.header(frame.plain(row["title"]), anchor=False)
    _draw_buttons(changes.Held(row["title"], at.dataset, name))
    _draw_card(entry, row)
    left, right = st.columns(2)
    with left:
        _draw_layers(entry)
        _draw_measured(at, entry)
    with frame.part():
        _draw_competence(at, name)
    _draw_origin(at, entry)
    with right, frame.part():  # last, as it may take a while
        _draw_nearest(at, models, name)


def _draw_buttons(model: changes.Held) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            "All models",
            icon=":material/arrow_back:",
            type="tertiary",
            on_click=changes.close_model,
        )
        changes.offer(model)


def _draw_card(entry: ModelEntry, row: Mapping[Hashable, Any]) -> None:
    """Say what the model is, and how its embedding was made."""
    start = (entry.card.training.get("config") or {}).get("start")
    facts = {
        "Name": entry.card.name,
        "Modality": row["modality"],
        "Family": row["family"],
        "Objective": row["objective"],
        "Parameters": count_text(row["parameters"]),
        "Training steps": count_text(row["step"]),
        "Fine-tuned from": start or tables.UNKNOWN,
        "Captions": _levels(entry, row["levels"]),
        "Size": size_text(row["bytes"]),
        "Device": device_of(entry) or tables.UNKNOWN,
        "Time": time_text(seconds_of(entry)),
        "Embedded": tables.when(entry.made_at),
    }
    lines = [f"**{head}** {frame.plain(text)}" for head, text in facts.items()]
    half = len(lines) // 2
    for column, part in zip(st.columns(2), (lines[:half], lines[half:]), strict=True):
        column.markdown("  \n".join(part))


def _levels(entry: ModelEntry, further: int) -> str:
    """Say which captions the model read."""
    if entry.level is None:
        return tables.UNKNOWN
    return f"level {entry.level}, and {further} more" if further else f"level {entry.level}"


def _draw_layers(entry: ModelEntry) -> None:
    st.subheader("Layers", anchor=False)
    table = pd.DataFrame({"layer": entry.card.layers, "dims": entry.dims})
    st.dataframe(table.rename_axis("#").reset_index(), hide_index=True, height=tables.height(table))


def _draw_measured(at: Place, entry: ModelEntry) -> None:
    """Say how reliable repeated measurements are."""
    if entry.card.over:
        st.subheader("Reliability", anchor=False)
        question = Reliability(at.scope, (entry.card.name,))
        table = queries.ask(at, question)
        st.dataframe(table.drop(columns="model"), hide_index=True, height=tables.height(table))
        st.caption(frame.plain(" ".join(findings_of(question, table))))


def _draw_nearest(at: Place, models: pd.DataFrame, name: str) -> None:
    """Draw the models most aligned with this one; a click on one opens it."""
    st.subheader("Nearest models", anchor=False)
    frame.need_stimuli(at)
    if is_measured(models[models["model"] == name]).any():  # in no question about all pairs
        others = tuple(models.loc[models["model"] != name, "model"])
        pairs = queries.ask(
            at, Alignment(at.scope, (name,), others, axis="", comparison=COMPARISON)
        )
    else:
        pairs = queries.ask(at, ModelPairs(at.scope, comparison=COMPARISON))
    high = COMPARISON.spec.higher_is_more_aligned
    near = nearest_to(pairs, name, high=high, count=NEAREST)
    titles = models.set_index("model")["title"]
    table = pd.DataFrame({"model": near["other"].map(titles), "alignment": near["score"]})
    if table.empty:
        st.caption("No other model can be compared with it.")
        return
    tables.draw(table, key="library-nearest", opens=(changes.OPEN, near["other"].tolist()))


def _draw_competence(at: Place, name: str) -> None:
    """Draw every value that was measured, published or imported of the model."""
    st.subheader("Competence", anchor=False)
    scores = queries.ask(at, CompetenceScores(at.scope))
    mine = scores[(scores["model"] == name) & scores["value"].notna()]
    if mine.empty:
        st.caption("Nothing was measured, published or imported of this model.")
        return
    origin = mine["origin"].where(mine["origin"] != MEASURED, "measured here")
    table = mine[["task", "value", "low", "high", "chance", "unit"]].assign(origin=origin)
    numbers = {name: st.column_config.NumberColumn(format="%.3g") for name in table.columns[1:5]}
    st.dataframe(
        table,
        hide_index=True,
        column_config=numbers,
        placeholder=tables.UNKNOWN,
        height=tables.height(table),
    )


def _draw_origin(at: Place, entry: ModelEntry) -> None:
    """Draw the command that made the embedding, and its recipe."""
    st.subheader("How it was made", anchor=False)
    words = command_of(at.dataset, entry)
    st.code(frame.command(*words), language="bash", wrap_lines=True)
    if words[0] == ImportRequest.command:
        st.caption(
            f"{frame.plain(file_of(entry))} stands for the path of the file of features: the store"
            " keeps what was in it, and its name alone."
        )
    with st.expander("Recipe"):
        text = json.dumps(entry.recipe.choices, indent=1, ensure_ascii=False)
        st.code(text, language="json", wrap_lines=True)
