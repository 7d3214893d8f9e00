"""The contents of the store: models, datasets, results, and files left out."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.competence.records import MEASURED
from core.embedding.history import command_of, file_of
from core.encoders.requests import ImportRequest
from core.figures.numbers import count_text, counted, time_text
from core.machine.memory import size_text
from core.questions.competence.question import CompetenceScores
from core.questions.finding import sentences
from core.questions.kept import STALE, list_results
from core.questions.models.pairs import Roster
from core.questions.reliability import Reliability
from core.store import ModelEntry, Store
from core.store.editing import (
    dataset_sizes,
    device_of,
    embedding_size,
    results_over,
    seconds_of,
    widths_of,
)
from core.store.uploads import uploads_folder
from core.study.models import usual
from pages._parts.library import changes
from pages._shared import address, bar, controls, frame, queries
from pages._shared.address import bind
from pages._shared.queries import Place

UNKNOWN = "—"
number = st.column_config.NumberColumn
COLUMNS = {  # how a column of this name is drawn: as numbers, since a click on its head sorts it
    **dict.fromkeys(("size", "stimuli on disk", "embeddings", "results"), number(format="bytes")),
    "parameters": number(format="compact"),
    "time": number(format="%.1f s"),
}
SOURCES = {"cave": "made here", "folder": "a folder", "hub": "Hugging Face"}
PLACES = ("folder", "hub_id")  # what of a source says where it is
STALENESS = """Pages show a fresh result instead of computing it again. A **stale** result is never
shown: a model was embedded again, or this version of Platoscope computes it differently."""


def show_models(at: Place) -> None:
    """Draw a table of the models of a dataset to search and filter, or the one that is open."""
    if queries.models(at).empty:
        example = "timm:vit_small_patch16_224"
        how = frame.command("embed", "--dataset", at.dataset, "--model", example)
        raise frame.NeededError(
            "No model is embedded over this dataset yet. Add models above, or by a command:", how
        )
    models = _models(at)
    with bar.controls_bar():
        titles = {"": "all, in a table"} | models.set_index("model")["title"].to_dict()
        address.label(changes.OPEN, "Model")
        bound = bind(changes.OPEN, "", titles)
        name = st.selectbox("Model", list(titles), format_func=titles.get, **bound)
        rows = models if name else controls.filter_models(models)
    if name:
        _show_model(at, models, name)
        return
    if rows.empty:
        st.caption(f"None of {len(models)} models passes the search and the filters.")
        return
    size = size_text(int(rows["bytes"].sum()))
    count = f"{len(rows)} of {len(models)} models"
    st.caption(f"{count}, {size} on disk. Click a row to open its model.{_counts(models)}")
    facts = ["title", "family", "objective", "modality", "parameters", "depth", "dims", "bytes"]
    renamed = {"title": "model", "depth": "layers", "bytes": "size", "seconds": "time"}
    shown = rows[[*facts, "device", "seconds"]].rename(columns=renamed)
    shown = shown.assign(embedded=_days(rows["made_at"]))
    _draw_table(shown, key="library-models", opens=(changes.OPEN, rows["model"].tolist()))


def _counts(models: pd.DataFrame) -> str:
    """Return why other pages show fewer models."""
    mapped, whole = len(Roster().of_kinds(models)), len(usual(models))
    if mapped == len(models) == whole:
        return ""
    return (
        f" Maps show {mapped}, without other seeds, variants, brains and people; trends {whole},"
        " also without checkpoints and untrained models."
    )


def show_datasets(at: Place) -> None:
    """Draw a row per dataset, which a click selects for all pages, and the selected one."""
    store = queries.store()
    cards = store.datasets()
    st.caption("Click a row to choose its dataset for all pages.")
    rows = []
    for card in cards:
        stimuli, embeddings, results = dataset_sizes(store.root, card.name)
        row = {
            "dataset": card.title,
            "stimuli": card.size,
            "caption levels": len(card.levels) + len(store.summaries(card.name)),
            "models": len(store.models(card.name)),
            "from": _source(card.source, uploads_folder(store.root)),
            "stimuli on disk": stimuli,
            "embeddings": embeddings,
            "results": results,
        }
        rows.append(row)
    names = [card.name for card in cards]
    _draw_table(pd.DataFrame(rows), key="library-datasets", opens=("dataset", names))
    card = store.dataset(at.dataset)
    st.header(frame.plain(card.title), anchor=False)
    with st.container(horizontal=True, gap="small"):
        changes.offer(changes.Held(card.title, card.name))
    levels = ", ".join([*card.levels, *store.summaries(card.name)]) or "none"
    st.markdown(
        f"**Name** {frame.plain(card.name)}  \n**Caption levels** {frame.plain(levels)}  \n"
        f"**Revision** {frame.plain(card.revision[:16])}"
    )


def _source(source: Mapping[str, Any], uploads: Path) -> str:
    """Return where a dataset comes from. uploads: the store's folder of uploads."""
    kind = str(source.get("kind", ""))
    if kind == "folder" and (folder := Path(source["folder"])).is_relative_to(uploads.resolve()):
        return f"an upload: {folder.name}"
    place = next((str(source[name]) for name in PLACES if name in source), "")
    return ": ".join(part for part in (SOURCES.get(kind, kind), place) if part)


def show_results(at: Place) -> None:
    """Draw the results that are kept over a dataset, with a button that deletes stale ones."""
    kept = tuple((one.name, one.made_at) for one in results_over(queries.store().root, at.dataset))
    every = _results(at, kept)
    stale = every[every["state"] == STALE]
    st.markdown(STALENESS)
    if len(stale):
        changes.offer_results(at.dataset, stale["name"].tolist(), int(stale["bytes"].sum()))
    size = size_text(int(every["bytes"].sum()))
    st.caption(f"{counted(len(every), 'result', 'results')}, {size} on disk")
    renamed = {"holds": "result", "about": "asked", "bytes": "size", "made_at": "made"}
    shown = every.assign(made_at=_days(every["made_at"])).rename(columns=renamed)
    shown = shown[["result", "asked", "models", "size", "made", "state"]]
    st.dataframe(shown, hide_index=True, column_config=COLUMNS)


def show_problems() -> None:
    """Draw why each file of the store is left out, and what to do."""
    problems = queries.store().problems()
    if not problems:
        return
    st.markdown("These files are in the store's folder, but no page and no command can use them.")
    for problem in problems:
        with st.container(border=True):
            st.text(problem)


@st.cache_data(max_entries=32, show_spinner=False)
def _models(at: Place) -> pd.DataFrame:
    """Return `queries.models` with depth, dims, bytes, device, seconds, made_at, level and levels:
    the number of further embeddings of captions.
    """
    store = Store(at.root)
    further = pd.Series(store.caption_variants(at.dataset).values(), dtype="object").value_counts()
    rows = [
        {
            "model": entry.card.name,
            "depth": len(entry.dims),
            "dims": widths_of(entry),
            "bytes": embedding_size(store.root, at.dataset, entry.card.name),
            "device": device_of(entry),
            "seconds": seconds_of(entry),
            "made_at": entry.made_at,
            "level": entry.level,
            "levels": int(further.get(entry.card.name, 0)),
        }
        for entry in store.models(at.dataset)
    ]
    return queries.models(at).merge(pd.DataFrame(rows), on="model")


@st.cache_data(max_entries=8, show_spinner="Listing results")
def _results(at: Place, kept: tuple[tuple[str, str], ...]) -> pd.DataFrame:  # noqa: ARG001
    """Return the kept results. kept: name and time of each, the cache's key."""
    return list_results(queries.study(at))


def _show_model(at: Place, models: pd.DataFrame, name: str) -> None:
    """Draw a model: card, layers, competence, origin, and buttons that rename and delete it."""
    (row,) = models[models["model"] == name].to_dict("records")
    entry = queries.store().model(at.dataset, name)
    st.header(frame.plain(row["title"]), anchor=False)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        icon = ":material/arrow_back:"
        st.button("All models", icon=icon, type="tertiary", on_click=changes.close_model)
        changes.offer(changes.Held(row["title"], at.dataset, name))
    _show_card(entry, row)
    left, right = st.columns(2)
    with left:
        st.subheader("Layers", anchor=False)
        layers = pd.DataFrame({"layer": entry.card.layers, "dims": entry.dims})
        height = _height(layers)
        st.dataframe(layers.rename_axis("#").reset_index(), hide_index=True, height=height)
    with right, frame.part():
        _show_competence(at, name)
    if entry.card.over:
        with frame.part():
            st.subheader("Reliability", anchor=False)
            found = queries.answer(at, Reliability(at.scope, (name,)))
            table = found.table.drop(columns="model")
            st.dataframe(table, hide_index=True, height=_height(table))
            st.caption(frame.plain(" ".join(sentences(found.findings))))
    _show_origin(at, entry)


def _show_card(entry: ModelEntry, row: Mapping[Hashable, Any]) -> None:
    start = (entry.card.training.get("config") or {}).get("start")
    level = UNKNOWN if entry.level is None else f"level {entry.level}"
    facts = {
        "Name": entry.card.name,
        "Modality": row["modality"],
        "Family": row["family"],
        "Objective": row["objective"],
        "Parameters": count_text(row["parameters"]),
        "Training steps": count_text(row["step"]),
        "Fine-tuned from": start or UNKNOWN,
        "Captions": f"{level}, and {row['levels']} more" if row["levels"] else level,
        "Size": size_text(row["bytes"]),
        "Device": device_of(entry) or UNKNOWN,
        "Time": time_text(seconds_of(entry)),
        "Embedded": entry.made_at.replace("T", " ").replace("+00:00", " UTC") or UNKNOWN,
    }
    lines = [f"**{head}** {frame.plain(text)}" for head, text in facts.items()]
    half = len(lines) // 2
    for column, part in zip(st.columns(2), (lines[:half], lines[half:]), strict=True):
        column.markdown("  \n".join(part))


def _show_competence(at: Place, name: str) -> None:
    """Draw every value that was measured, published or imported of the model."""
    st.subheader("Competence", anchor=False)
    scores = queries.ask(at, CompetenceScores(at.scope))
    mine = scores[(scores["model"] == name) & scores["value"].notna()]
    if mine.empty:
        st.caption("No score of this model was measured, published or imported.")
        return
    origin = mine["origin"].where(mine["origin"] != MEASURED, "measured here")
    table = mine[["task", "value", "low", "high", "chance", "unit"]].assign(origin=origin)
    st.dataframe(
        table,
        hide_index=True,
        column_config={name: number(format="%.3g") for name in table.columns[1:5]},
        placeholder=UNKNOWN,
        height=_height(table),
    )


def _show_origin(at: Place, entry: ModelEntry) -> None:
    """Draw the command that made the embedding, and its recipe."""
    st.subheader("How it was made", anchor=False)
    words = command_of(at.dataset, entry)
    st.code(frame.command(*words), language="bash", wrap_lines=True)
    if words[0] == ImportRequest.command:
        st.caption(f"Replace {frame.plain(file_of(entry))} by the path of this file.")
    with st.expander("Recipe"):
        text = json.dumps(entry.recipe.choices, indent=1, ensure_ascii=False)
        st.code(text, language="json", wrap_lines=True)


def _draw_table(table: pd.DataFrame, *, key: str, opens: tuple[str, Sequence[str]]) -> None:
    """Draw a table; a click on a row sets a control. opens: its key, and the value of each row."""
    control, names = opens
    count = f"{key}-clicks"
    clicks = st.session_state.setdefault(count, 0)
    grid = f"{key}-{clicks}"  # a new one after a click, or the row could not be clicked again

    def choose() -> None:
        if cells := st.session_state[grid].selection.cells:
            st.session_state[control] = names[cells[0][0]]
            st.session_state[count] = clicks + 1

    with st.container(key=key):
        st.dataframe(
            table,
            key=grid,
            column_config=COLUMNS,
            hide_index=True,
            on_select=choose,
            selection_mode="single-cell",
            placeholder=UNKNOWN,
        )


def _days(made_at: pd.Series) -> pd.Series:
    """Return the days of times in ISO 8601, a dash if a time is unknown."""
    return made_at.str[:10].replace("", UNKNOWN)


def _height(table: pd.DataFrame) -> int:
    """Return the height in pixels of a table that scrolls beyond ten rows."""
    return 35 * (min(len(table), 10) + 1) + 3
