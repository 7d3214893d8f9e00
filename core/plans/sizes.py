"""What a plan will take, before anything is fetched: a row per model, from published facts and the
hub's own counts. What no source states is unknown.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

from core.competence.images import ALL, task_names
from core.competence.scores import published_models
from core.embedding.history import room_for
from core.encoders.encoder import ModelCard
from core.encoders.outlines import Download
from core.encoders.requests import BYTES, UNTRAINED, split_marks
from core.errors import OfflineError, PlatoscopeError
from core.plans.plan import Group, Plan, PlannedModel, is_of, not_stored, stored_name
from core.settings import expand
from core.store import Store

CAPTION = 64  # tokens of a caption, assumed: they are not counted before they are fetched
OFFLINE = "The hub may not be asked: HF_HUB_OFFLINE is set; unset it, and ask again."
NUMBERS = ("parameters", "layers", "width", "download", "room", "memory", "seconds")
COLUMNS = ("group", "model", *NUMBERS, "gated", "embedded", "note")
Ask = Callable[[str], Download]
Shape = tuple[int | None, tuple[int, ...]]  # parameters, the width of each layer


def sizes(
    plan: Plan, store: Path, *, only: tuple[str, ...] = (), ask: Ask, rate: float = math.nan
) -> pd.DataFrame:
    """Return a row per model: COLUMNS. Bytes and counts are NaN where they are unknown.

    download: bytes still to be fetched; ask: says them for a spec, as `ask_hub` does. room: bytes
    in the store, at all caption levels. memory: bytes of the weights on the device, at
    most. seconds: that it computes, `flops_of` over `rate`, which is in operations a second.
    embedded: the model's name in the store, "" where it is not there yet. note: why the model
    cannot be had.
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
            row |= _needs(plan, group, model, ask, rate)
        elif card is not None:  # of another program: what is known of it
            row |= {"download": 0, "room": 0, "parameters": card.parameters}
            row["layers"] = len(card.layers)
        else:
            row |= {"download": 0, "room": 0, "note": not_stored(model.spec)}
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(NUMBERS, "float64"))


def ask_hub() -> Ask:
    """Return what asks the hub for the size of a download, and no more once it has not answered."""
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
    bytes, seconds, and the number of models of which each is unknown. memory: of the largest.
    """
    left = table[table["embedded"] == ""]
    sums: dict[str, float] = {"models": len(table), "embedded": len(table) - len(left)}
    for name in ("download", "room"):
        sums |= {name: int(left[name].sum()), f"{name}_unknown": int(left[name].isna().sum())}
    sums["memory"] = float(left["memory"].max())
    seconds = left["seconds"]
    return sums | {"seconds": float(seconds.sum()), "seconds_unknown": int(seconds.isna().sum())}


def _needs(
    plan: Plan, group: Group, model: PlannedModel, ask: Ask, rate: float
) -> dict[str, object]:
    try:
        if model.parameters is None:
            parameters, widths = _shape(model.spec)
        else:  # as the plan states
            parameters = model.parameters
            widths = (model.width,) * (model.layers or 0) if model.width else ()
        flops = flops_of(plan, group, model.spec, parameters)
        download = ask(model.spec)
    except PlatoscopeError as error:
        return {"note": f"{error}"}
    room = room_for(widths, plan.dataset.size) if plan.dataset.size else None
    return {
        "parameters": parameters,
        "layers": len(widths) or None,
        "width": max(widths, default=None),
        "download": download.size,
        "room": None if room is None else room * _levels(plan, group),
        "memory": None if parameters is None else BYTES[plan.precision] * parameters,
        "seconds": None if flops is None else flops / rate,
        "note": download.why,
    }


def flops_of(plan: Plan, group: Group, spec: str, parameters: int | None) -> float | None:
    """Return about how many operations a model takes: 2 · parameters for each token or patch.

    A language model reads CAPTION tokens of each stimulus at each level, and the texts that it
    codes; a vision model the patches of each stimulus and of each image that it is probed on. None
    where its parameters or patches, or how many stimuli there are, is unknown.
    """
    if parameters is None or plan.dataset.size is None:
        return None
    if group.modality == "language":
        coding = plan.coding
        coded = coding.tokens if coding and group.name in coding.groups else 0
        return 2.0 * parameters * (CAPTION * plan.dataset.size * _levels(plan, group) + coded)
    from core.encoders.outlines import patches_of  # seconds that language models need not pay

    patches, probing, images = patches_of(spec), plan.probing, plan.dataset.size
    if probing and group.name in probing.groups:
        tasks = sum(len(task_names()) if one == ALL else 1 for one in probing.tasks)
        images += tasks * (probing.train + probing.test)
    return None if patches is None else 2.0 * parameters * patches * images


def _levels(plan: Plan, group: Group) -> int:
    if group.modality != "language":
        return 1
    return max(1, len(plan.levels)) + (len(plan.summaries.words) if plan.summaries else 0)


def _shape(spec: str) -> Shape:
    """Return a model's parameters and the width of each layer: published, or read from a folder on
    this machine; None and () if neither is known.
    """
    known = published_models().set_index("model")
    if spec in known.index:
        row = known.loc[spec]
        layers = int(row["depth"]) + (row["modality"] == "language")  # its embedding is one
        return int(row["parameters"]), (int(row["width"]),) * layers
    kind, _, place = split_marks(spec)[0].partition(":")
    name = place.partition("@")[2] if kind == "timm" else place
    if name == UNTRAINED or (name and os.path.isfile(expand(name) / "config.json")):
        from core.encoders.outlines import outline  # as above

        made = outline(spec)
        return made.parameters, made.widths
    return None, ()
