"""What a plan will take, before anything is fetched: a row per model, from published facts and the
hub's own counts. What no source states is unknown.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from core.competence.images import ALL, task_names
from core.competence.scores import published_models
from core.embedding.history import room_for
from core.encoders.encoder import ModelCard
from core.encoders.outlines import Download
from core.encoders.requests import BYTES, UNTRAINED, Precision, split_marks
from core.errors import OfflineError, PlatoscopeError
from core.plans.plan import Group, Plan, PlannedModel, is_of, not_stored, stored_name
from core.settings import expand
from core.store import Store

CAPTION = 64  # tokens of a caption, assumed: they are not counted before they are fetched
OFFLINE = "The hub may not be asked: HF_HUB_OFFLINE is set; unset it, and ask again."
COLUMNS = (
    "group",
    "model",
    "parameters",
    "layers",
    "width",
    "download",
    "room",
    "memory",
    "seconds",
    "gated",
    "embedded",
    "note",
)
Ask = Callable[[str], Download]
Shape = tuple[int | None, tuple[int, ...]]  # parameters, the width of each layer


@dataclass(frozen=True)
class Totals:
    """What the models that are not embedded yet take together, in bytes and seconds, and of how
    many of them it is not known. memory: of the largest of them, NaN where none is known.
    """

    models: int
    embedded: int
    download: int
    download_unknown: int
    room: int
    room_unknown: int
    memory: float
    seconds: float
    seconds_unknown: int


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
    cards, facts = _cards(plan, store), _published()
    rows = [
        _row(plan, group, model, facts, ask, rate) | _held(cards, model.spec)
        for group, model in plan.members(only)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = ["parameters", "layers", "width", "download", "room", "memory", "seconds"]
    return table.astype(dict.fromkeys(numbers, "float64"))


def memory_of(spec: str, precision: Precision) -> int | None:
    """Return the bytes of a model's weights in memory, at most; None if no source states them."""
    parameters, _ = _shape(spec, _published())
    return None if parameters is None else BYTES[precision] * parameters


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


def totals(table: pd.DataFrame) -> Totals:
    """Return the sums over the rows of `sizes`."""
    left = table[table["embedded"] == ""]
    return Totals(
        models=len(table),
        embedded=len(table) - len(left),
        download=int(left["download"].sum()),
        download_unknown=int(left["download"].isna().sum()),
        room=int(left["room"].sum()),
        room_unknown=int(left["room"].isna().sum()),
        memory=float(left["memory"].max()),
        seconds=float(left["seconds"].sum()),
        seconds_unknown=int(left["seconds"].isna().sum()),
    )


def _row(
    plan: Plan,
    group: Group,
    model: PlannedModel,
    facts: Mapping[str, Shape],
    ask: Ask,
    rate: float,
) -> dict[str, object]:
    named = {"group": group.name, "model": model.spec, "gated": model.gated}
    if stored_name(model.spec):
        return {**named, "download": 0, "room": 0}
    try:
        parameters, widths = _stated(model) or _shape(model.spec, facts)
        flops = flops_of(plan, group, model.spec, parameters)
        download = ask(model.spec)
    except PlatoscopeError as error:
        return {**named, "note": f"{error}"}
    levels = _levels(plan, group)
    room = room_for(widths, plan.dataset.size) if plan.dataset.size else None
    return {
        **named,
        "parameters": parameters,
        "layers": len(widths) or None,
        "width": max(widths, default=None),
        "download": download.size,
        "room": None if room is None else room * levels,
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


def _stated(model: PlannedModel) -> Shape | None:
    """Return the shape that a plan states of a model, None where it states none."""
    if model.parameters is None:
        return None
    return model.parameters, (model.width,) * (model.layers or 0) if model.width else ()


def _levels(plan: Plan, group: Group) -> int:
    """Return at how many caption levels a group's models are embedded."""
    if group.modality != "language":
        return 1
    return max(1, len(plan.levels)) + (len(plan.summaries.words) if plan.summaries else 0)


def _shape(spec: str, facts: Mapping[str, Shape]) -> Shape:
    """Return a model's parameters and the width of each layer: published, or read from a folder on
    this machine.
    """
    if spec in facts:
        return facts[spec]
    if not _is_here(spec):
        return None, ()
    from core.encoders.outlines import outline  # as above

    made = outline(spec)
    return made.parameters, made.widths


def _published() -> dict[str, Shape]:
    """Return what is published of each model, by spec."""
    shapes: dict[str, Shape] = {}
    for row in published_models().to_dict("records"):
        layers = int(row["depth"]) + (row["modality"] == "language")  # its embedding is one
        shapes[f"{row['model']}"] = int(row["parameters"]), (int(row["width"]),) * layers
    return shapes


def _is_here(spec: str) -> bool:
    """Return whether a spec names a folder on this machine that says what model it holds, or no
    weights at all.
    """
    kind, _, place = split_marks(spec)[0].partition(":")
    name = place.partition("@")[2] if kind == "timm" else place
    return name == UNTRAINED or (bool(name) and os.path.isfile(expand(name) / "config.json"))


def _cards(plan: Plan, store: Path) -> list[ModelCard]:
    """Return the models that are embedded over the plan's dataset."""
    reader = Store(store)
    if plan.dataset.name not in {card.name for card in reader.datasets()}:
        return []
    return [entry.card for entry in reader.models(plan.dataset.name)]


def _held(cards: Sequence[ModelCard], spec: str) -> dict[str, object]:
    """Return what the store calls a model, "" where it is not there; and of one that is no other
    program's, what is known of it.
    """
    card = next((card for card in cards if is_of(card, spec)), None)
    if card is None:
        note = {"note": not_stored(spec)} if stored_name(spec) else {}
        return {"embedded": "", **note}
    known = {"parameters": card.parameters, "layers": len(card.layers)} if stored_name(spec) else {}
    return {"embedded": card.name, **known}
