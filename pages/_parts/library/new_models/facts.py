"""What models will take before they are embedded: parameters, download, room in the store, time."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.competence.published import published_models
from core.embedding.forecast import Measured, measured, room_for, seconds_for
from core.encoders.outlines import Outline, outline
from core.encoders.requests import EmbedRequest
from core.errors import PlatoscopeError
from core.figures.numbers import count_text, size_text, time_text
from core.modalities import LANGUAGE, VISION
from core.store import Store
from pages._shared import queries
from pages._shared.queries import Place

NOTE = """Room is about that of the vectors, in float32. Time is that of similar models, as this
store has measured them. A dash: not known before it runs."""
SILENT = "The hub does not answer now: a model that is not on this machine needs it."


def show(at: Place, request: EmbedRequest) -> list[str]:
    """Draw a row per model, and return why some cannot be had."""
    outlines: dict[str, Outline] = {}
    refused: list[str] = []
    for spec in request.model:
        try:
            outlines[spec] = _complete(spec, _outline(spec))
        except PlatoscopeError as error:
            refused.append(f"{error}.")
    rows = [_row(at, request, spec, known) for spec, known in outlines.items()]
    if rows:
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        is_silent = any(known.download is None for known in outlines.values())
        st.caption(f"{NOTE} {SILENT}" if is_silent else NOTE)
    return refused


def _row(at: Place, request: EmbedRequest, spec: str, known: Outline) -> dict[str, str]:
    modality, times = VISION.name, 1
    if spec.startswith("hf:"):
        modality, times = LANGUAGE.name, max(1, len(request.caption_level))
    size = queries.card(at).size
    room = room_for(known.widths, size)
    seconds = seconds_for(
        known.parameters, size, _measured(at), modality=modality, device=request.device
    )
    return {
        "model": spec,
        "parameters": count_text(known.parameters),
        "layers": str(len(known.widths) or "—"),
        "download": "none" if known.download == 0 else size_text(known.download),
        "in the store": size_text(None if room is None else room * times),
        "time": time_text(None if seconds is None else seconds * times),
    }


@st.cache_data(max_entries=256, ttl=600, show_spinner="Looking at the model")
def _outline(spec: str) -> Outline:
    return outline(spec)


def _complete(spec: str, known: Outline) -> Outline:
    """Add what is published of a language model where the hub does not answer."""
    table = published_models()
    rows = table[table["model"] == spec]
    if known.parameters is not None or rows.empty:
        return known
    row = rows.iloc[0]
    widths = (int(row["width"]),) * (1 + int(row["depth"]))
    return replace(known, parameters=int(row["parameters"]), widths=widths)


@st.cache_data(max_entries=8, show_spinner=False)
def _measured(at: Place) -> list[Measured]:
    """Return what all embeddings of the store have taken, those of this dataset last."""
    store = Store(at.root)
    cards = sorted(store.datasets(), key=lambda card: card.name == at.dataset)
    return [one for card in cards for one in measured(store.embeddings(card.name), card.size)]
