"""The Library's own cached queries, keyed as those of `pages/_shared/queries.py`."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.questions.kept import list_results
from core.store import Store
from core.store.editing import device_of, embedding_size, seconds_of, widths_of
from pages._shared import queries
from pages._shared.queries import Place


@st.cache_data(max_entries=32, show_spinner=False)
def models(at: Place) -> pd.DataFrame:
    """Return a row per model of `core.study.models.describe`, with what its file says: depth, dims,
    bytes, device, seconds, made_at, level, and levels: how many more of the captions there are.
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


@st.cache_data(max_entries=8, show_spinner="Looking at what is kept")
def results(at: Place, kept: tuple[tuple[str, str], ...]) -> pd.DataFrame:  # noqa: ARG001
    """Return what is kept over a dataset; see `core.questions.kept.list_results`. kept: name and
    time of every result, the cache's key.
    """
    return list_results(queries.study(at))
