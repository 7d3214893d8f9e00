"""What a plan will take, before anything is fetched: a row per model, from published facts and the
hub's own counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

from core.competence.scores import published_models
from core.embedding.history import room_for
from core.encoders.encoder import ModelCard
from core.encoders.outlines import Download, Shape, shape_of
from core.encoders.requests import BYTES, UNTRAINED, split_marks
from core.errors import OfflineError, PlatoscopeError
from core.plans.plan import Group, Plan, PlannedModel, is_of, not_stored, stored_name
from core.settings import expand
from core.store import Store

OFFLINE = "The hub may not be asked: HF_HUB_OFFLINE is set; unset it, and ask again."
NUMBERS = ("parameters", "layers", "width", "download", "room", "memory")
COLUMNS = ("group", "model", *NUMBERS, "gated", "embedded", "note")
Ask = Callable[[str], Download]


def sizes(plan: Plan, store: Path, *, only: tuple[str, ...] = (), ask: Ask) -> pd.DataFrame:
    """Return a row per model: COLUMNS. Bytes and counts are NaN if they are unknown.

    download: bytes still to be fetched; ask: says them for a spec, as `ask_hub` does. room: bytes
    in the store, at all caption levels. memory: bytes of the weights on the device, at most.
    embedded: the model's name in the store, "" if it is not there yet. note: why it cannot be had.
    """
    reader, cards = Store(store), list[ModelCard]()
    if plan.dataset.name in {card.name for card in reader.datasets()}:
        cards = [entry.card for entry in reader.models(plan.dataset.name)]
    rows = []
    for group, model in plan.members(only):
        card = next((card for card in cards if is_of(card, model.spec)), None)
        row: dict[str, object] = {"group": group.name, "model": model.spec, "gated": model.gated}
        row["embedded"] = card.name if card else ""
        if not stored_name(model.spec):
            row |= _needs(plan, group, model, ask)
        elif card is not None:  # of another program: what is known of it
            row |= {"download": 0, "room": 0, "parameters": card.parameters}
            row["layers"] = len(card.layers)
        else:
            row |= {"download": 0, "room": 0, "note": not_stored(model.spec)}
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(NUMBERS, "float64"))


def ask_hub() -> Ask:
    """Return what asks the hub for the size of a download, until it has not answered once."""
    silence: list[Download] = []

    @cache
    def ask(spec: str) -> Download:
        from core.encoders.outlines import weights_of  # seconds that a page need not pay

        if silence:
            return silence[0]
        try:
            download = weights_of(spec)
        except OfflineError:
            download = Download(None, OFFLINE, is_hub_down=True)
        if download.is_hub_down:
            silence.append(download)
        return download

    return ask


def totals(table: pd.DataFrame) -> dict[str, float]:
    """Return what the models that are not embedded yet take together, over the rows of `sizes`:
    bytes, and the number of models of which each is unknown. memory: of the largest.
    """
    left = table[table["embedded"] == ""]
    sums: dict[str, float] = {"models": len(table), "embedded": len(table) - len(left)}
    for name in ("download", "room"):
        sums |= {name: int(left[name].sum()), f"{name}_unknown": int(left[name].isna().sum())}
    return sums | {"memory": float(left["memory"].max())}


def _needs(plan: Plan, group: Group, model: PlannedModel, ask: Ask) -> dict[str, object]:
    try:
        if model.parameters is None:
            parameters, widths = known_shape(model.spec)
        else:  # as the plan states
            parameters = model.parameters
            widths = (model.width,) * (model.layers or 0) if model.width else ()
        download = ask(model.spec)
    except PlatoscopeError as error:
        return {"note": f"{error}"}
    levels = 1
    if group.modality == "language":
        levels = max(1, len(plan.levels)) + (len(plan.summaries.words) if plan.summaries else 0)
    room = room_for(widths, plan.dataset.size) if plan.dataset.size else None
    return {
        "parameters": parameters,
        "layers": len(widths) or None,
        "width": max(widths, default=None),
        "download": download.size,
        "room": None if room is None else room * levels,
        "memory": None if parameters is None else BYTES[plan.precision] * parameters,
        "note": download.why,
    }


def known_shape(spec: str) -> Shape:
    """Return the published parameters of a model and the width of each layer, or those of a model
    on this machine; None and () if neither is known.
    """
    known = published_models().set_index("model")
    if spec in known.index:
        row = known.loc[spec]
        layers = int(row["depth"]) + (row["modality"] == "language")  # its embedding is one
        return int(row["parameters"]), (int(row["width"]),) * layers
    kind, _, place = split_marks(spec)[0].partition(":")
    name = place.partition("@")[2] if kind == "timm" else place
    if name == UNTRAINED or (name and os.path.isfile(expand(name) / "config.json")):
        return shape_of(spec)
    return None, ()
