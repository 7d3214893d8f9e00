"""What models will take before they are embedded: parameters, download, room in the store, time."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.competence.scores import published_models
from core.embedding.history import Measured, measured, room_for, seconds_for
from core.encoders.outlines import Outline, outline
from core.encoders.requests import EmbedRequest
from core.errors import PlatoscopeError
from core.figures.numbers import count_text, time_text
from core.machine.memory import size_text
from core.modalities import LANGUAGE, VISION
from core.settings import choose_device, cluster_address
from core.store import Store
from pages._shared import frame, queries
from pages._shared.queries import Place

ROOM = "Space in the store: estimated from the vectors, in float32."
DASH = "A dash: unknown until the job runs."


def show(at: Place, request: EmbedRequest) -> list[str]:
    """Draw a row per model, and return why some cannot be had."""
    outlines: dict[str, Outline] = {}
    refused: list[str] = []
    for spec in request.model:
        try:
            outlines[spec] = _complete(spec, _outline(spec))
        except PlatoscopeError as error:
            refused.append(f"{error}.")
    try:
        device = _device_of_job(request.device)
    except PlatoscopeError as error:
        return [*refused, f"{error}."]
    rows = [_row(at, request, spec, outline, device) for spec, outline in outlines.items()]
    if rows:
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        reasons = dict.fromkeys(outline.download.why for outline in outlines.values())
        notes = [ROOM, _note_time(device), DASH, *filter(None, reasons)]
        st.caption(frame.plain(" ".join(notes)))
    return refused


def _device_of_job(name: str) -> str | None:
    """Return the device on which the job will run, None where a cluster chooses it; raises
    DeviceError for one that is not here.
    """
    if cluster_address():
        return None if name == "auto" else name
    return str(choose_device(name))


def _note_time(device: str | None) -> str:
    if device is None:
        return "Time depends on the device that the cluster chooses."
    where = "the CPU" if device == "cpu" else device
    return f"Time: estimated from similar models on {where} that this store has embedded."


def _row(
    at: Place, request: EmbedRequest, spec: str, outline: Outline, device: str | None
) -> dict[str, str]:
    modality, times = VISION.name, 1
    if spec.startswith("hf:") and not outline.sees:
        modality, times = LANGUAGE.name, max(1, len(request.caption_level))
    size, download = queries.card(at).size, outline.download.size
    room = room_for(outline.widths, size)
    seconds = (
        seconds_for(outline.parameters, size, _measured(at), modality=modality, device=device)
        if device
        else None
    )
    return {
        "model": spec,
        "parameters": count_text(outline.parameters),
        "layers": str(len(outline.widths) or "—"),
        "download": "none" if download == 0 else size_text(download),
        "in the store": size_text(None if room is None else room * times),
        "time": time_text(None if seconds is None else seconds * times),
    }


@st.cache_data(max_entries=256, ttl=600, show_spinner="Looking at the model")
def _outline(spec: str) -> Outline:
    return outline(spec)


def _complete(spec: str, outline: Outline) -> Outline:
    """Add what is published of a language model where the hub does not answer."""
    table = published_models()
    rows = table[table["model"] == spec]
    if outline.parameters is not None or rows.empty:
        return outline
    row = rows.iloc[0]
    widths = (int(row["width"]),) * (1 + int(row["depth"]))
    return replace(outline, parameters=int(row["parameters"]), widths=widths)


@st.cache_data(max_entries=8, show_spinner=False)
def _measured(at: Place) -> list[Measured]:
    """Return what all embeddings of the store have taken."""
    store = Store(at.root)
    cards = store.datasets()
    return [one for card in cards for one in measured(store.embeddings(card.name), card.size)]
