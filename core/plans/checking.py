"""Whether a plan can run here, before anything is fetched: a row for each model, dataset, text,
task and disk, with what is wrong and what to do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from core.competence.images import ALL, task_names, task_repository
from core.competence.texts import FIRST, WEB, open_texts, web_repository
from core.encoders.language.folder import free_on
from core.encoders.outlines import Download, check_access, files_left, weights_of
from core.encoders.requests import HUB, PATCHES, UNTRAINED
from core.encoders.vision import check_name
from core.errors import InputError, PlatoscopeError, UnknownNameError
from core.machine.memory import size_text
from core.plans.plan import Plan, PlannedData, not_stored, stored_name
from core.plans.sizes import Ask, sizes, totals
from core.settings import choose_device, expand
from core.stimuli.hub import repository, source_of
from core.store import Store

COLUMNS = ["kind", "name", "wrong", "remedy"]
WHOLE = ("*",)  # every file of a repository
SMALLER = "use --precision bf16 or another --device, or leave its group out with --only"


def check(
    plan: Plan, store: Path, *, only: tuple[str, ...] = (), device: str = "auto", ask: Ask
) -> pd.DataFrame:
    """Return COLUMNS; `wrong` is "" if nothing is. ask: as `core.plans.sizes.ask_hub`."""
    table, place = sizes(plan, store, only=only, ask=ask), choose_device(device)
    free, silent, data = free_on(place), "", 0
    seeing = {group.name for group in plan.groups if group.modality == "vision"}
    rows: list[tuple[str, str, str]] = []

    def asked(find: Callable[[], Download], fault: str) -> tuple[str, int]:
        """Return what is wrong with a thing of the hub, and its size; a hub that does not answer is
        asked once. fault: what is wrong whatever the hub says.
        """
        nonlocal silent
        if fault or silent:
            return fault or f"not checked: {silent}", 0
        try:
            download = find()
            check_access(download)
        except PlatoscopeError as error:
            return f"{error}", 0
        silent = download.why if download.is_hub_down else ""
        return download.why, download.size or 0

    for model in table.to_dict("records"):
        spec, wrong = f"{model['model']}", ""
        if not model["embedded"]:
            wrong, _ = asked(partial(ask, spec), _local_fault(spec))
            # language models that are too large are spread over memory and disk
            if not wrong and model["group"] in seeing and model["memory"] > free:
                wrong = (
                    f"its weights take {size_text(model['memory'])} of memory, and"
                    f" {size_text(free)} is free on {place}; {SMALLER}"
                )
        rows.append(("model", spec, wrong))
    for kind, name, find, fault in _data(plan, store):
        wrong, size = asked(find, fault)
        data += size
        rows.append((kind, name, wrong))
    sums = totals(table)
    rows += _disks(int(sums["download"]) + data, store, int(sums["room"]))
    said = [(kind, name, *wrong.rstrip(".").partition("; ")[::2]) for kind, name, wrong in rows]
    return pd.DataFrame(said, columns=COLUMNS)


def _local_fault(spec: str) -> str:
    """Return what this machine can say is wrong with a spec, "" for nothing."""
    if stored_name(spec):
        return not_stored(spec)
    kind, _, place = spec.partition(":")
    name, at, weights = place.partition("@")
    if kind == "timm" and at and weights != UNTRAINED:
        if not (weights and expand(weights).exists()):
            return f"there is no checkpoint at {weights!r}; name a file or folder of weights"
    elif kind == "timm" and not place.startswith(HUB):
        try:
            check_name(name.removesuffix(PATCHES))
        except UnknownNameError as error:
            return f"{error}"
    return ""


def _data(plan: Plan, store: Path) -> Iterator[tuple[str, str, Callable[[], Download], str]]:
    """Yield kind and name of the data that the plan needs, what finds it, and what is wrong with it
    on this machine.
    """
    data, coding, probing, summaries = plan.dataset, plan.coding, plan.probing, plan.summaries
    if data.name not in {card.name for card in Store(store).datasets()}:
        lacks = data.folder and not expand(data.folder).is_dir()
        fault = f"there is no folder {data.folder}; name one with --data DIR" if lacks else ""
        yield "dataset", data.name, partial(_dataset, data), fault
    if coding:
        yield "texts", coding.text, partial(_texts, coding.text), ""
    for each in probing.tasks if probing else ():
        for task in task_names() if each == ALL else (each,):
            yield "task", task, partial(_task, task), ""
    if summaries and summaries.writer:
        yield "writer", summaries.writer, partial(weights_of, summaries.writer), ""


def _dataset(data: PlannedData) -> Download:
    if data.hub:
        wanted = repository(source_of(data.hub, {"revision": data.revision or None}, False))
        return files_left(wanted, WHOLE) if wanted else Download(0)
    if not data.folder:
        raise InputError(f"{data.missing or 'no place is named'}; name a folder with --data DIR")
    return Download(0)


def _texts(name: str) -> Download:
    if name == WEB:
        return files_left(web_repository(None), (FIRST,))
    open_texts(name)
    return Download(0)


def _task(name: str) -> Download:
    if name in task_names():
        return files_left(task_repository(name), WHOLE)
    if not expand(name).exists():
        raise UnknownNameError("folder or task of VTAB", name, [*task_names(), ALL])
    return Download(0)


def _disks(download: int, store: Path, room: int) -> Iterator[tuple[str, str, str]]:
    """Yield a row for the hub's cache and one for the store; on one disk they share the room."""
    from huggingface_hub import constants  # may change while a process runs

    cache, own = (
        next(one for one in (place, *place.parents) if one.exists())  # the nearest that exists
        for place in (Path(constants.HF_HUB_CACHE).absolute(), store.absolute())
    )
    shared = os.stat(cache).st_dev == os.stat(own).st_dev
    for name, place, needed in (
        ("cache of the hub", cache, download + room if shared else download),
        ("store", own, download + room if shared else room),
    ):
        free, wrong = shutil.disk_usage(place).free, ""
        if needed > free:
            have = f"needs {size_text(needed)}, and {size_text(free)} is free at {place}"
            wrong = f"{have}; make room, or set HF_HOME and --store to folders of other disks"
        yield "disk", name, wrong
