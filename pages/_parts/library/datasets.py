"""The datasets of the store, and what can be done with the one that is chosen in the sidebar."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.stimuli.dataset import DatasetCard
from core.store import Store
from core.store.editing import dataset_sizes
from core.store.uploads import uploads_folder
from pages._parts.library import changes, tables
from pages._shared import frame, queries
from pages._shared.queries import Place

SOURCES = {"cave": "made here", "folder": "a folder", "hub": "Hugging Face"}
PLACES = ("folder", "hub_id")  # what of a source says where it is


def show(at: Place) -> None:
    """Draw a row per dataset; a click on one chooses it for all pages."""
    store = queries.store()
    cards = store.datasets()
    st.caption("Click a row to choose its dataset for all pages.")
    rows = pd.DataFrame([_row(store, card) for card in cards])
    tables.draw(rows, key="library-datasets", opens=("dataset", [card.name for card in cards]))
    card = store.dataset(at.dataset)
    st.header(frame.plain(card.title), anchor=False)
    with st.container(horizontal=True, gap="small"):
        changes.offer(changes.Held(card.title, card.name))
    levels = ", ".join([*card.levels, *store.summaries(card.name)]) or "none"
    st.markdown(
        f"**Name** {frame.plain(card.name)}  \n**Caption levels** {frame.plain(levels)}  \n"
        f"**Revision** {frame.plain(card.revision[:16])}"
    )


def _row(store: Store, card: DatasetCard) -> dict[str, Any]:
    stimuli, embeddings, results = dataset_sizes(store.root, card.name)
    return {
        "dataset": card.title,
        "stimuli": card.size,
        "caption levels": len(card.levels) + len(store.summaries(card.name)),
        "models": len(store.models(card.name)),
        "from": _source(card.source, uploads_folder(store.root)),
        "stimuli on disk": stimuli,
        "embeddings": embeddings,
        "results": results,
    }


def _source(source: Mapping[str, Any], uploads: Path) -> str:
    """Say where a dataset comes from; uploads: where those of the store lie."""
    kind = str(source.get("kind", ""))
    if kind == "folder" and (folder := Path(source["folder"])).is_relative_to(uploads.resolve()):
        return f"an upload: {folder.name}"
    place = next((str(source[name]) for name in PLACES if name in source), "")
    return ": ".join(part for part in (SOURCES.get(kind, kind), place) if part)
