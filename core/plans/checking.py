"""Whether a plan can run here, before anything is fetched: ids and their terms, disk and memory. A
row for each thing, with what is wrong and what to do.
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

COLUMNS = ("kind", "name", "wrong", "remedy")
WHOLE = ("*",)  # every file of a repository
SMALLER = "use --precision bf16 or another --device, or leave its group out with --only"
Row = tuple[str, str, str, str]


def check(
    plan: Plan, store: Path, *, only: tuple[str, ...] = (), device: str = "auto", ask: Ask
) -> pd.DataFrame:
    """Return COLUMNS: each model, the data, and the disks; `wrong` is "" where nothing is.

    ask: as `core.plans.sizes.ask_hub`.
    """
    table = sizes(plan, store, only=only, ask=ask)
    free = free_on(choose_device(device))
    rows, silent = list[Row](), ""
    seeing = {group.name for group in plan.groups if group.modality == "vision"}
    for model in table.to_dict("records"):
        spec = f"{model['model']}"
        if model["embedded"]:
            rows.append(_row("model", spec, ""))
            continue
        wrong, silent = _asked(partial(ask, spec), silent, _local_fault(spec))
        # language models that are too large are spread over memory and disk
        if not wrong and model["group"] in seeing and model["memory"] > free:
            need = f"its weights take {size_text(model['memory'])} of memory, and {size_text(free)}"
            wrong = f"{need} is free on {choose_device(device)}; {SMALLER}"
        rows.append(_row("model", spec, wrong))
    data = 0

    def counted(find: Callable[[], Download]) -> Download:
        nonlocal data
        download = find()
        data += download.size or 0
        return download

    for kind, name, find in _data(plan, store):
        wrong, silent = _asked(partial(counted, find), silent, _missing_folder(plan.dataset, kind))
        rows.append(_row(kind, name, wrong))
    sums = totals(table)
    rows += _disks(sums.download + data, store, sums.room)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _asked(find: Callable[[], Download], silent: str, fault: str = "") -> tuple[str, str]:
    """Return what is wrong with a thing of the hub, and why the hub is not to be asked again, ""
    where it is. silent: why it was not asked before. fault: what is wrong whatever the hub says.
    """
    if fault or silent:
        return fault or f"not checked: {silent}", silent
    try:
        download = find()
        check_access(download)
    except PlatoscopeError as error:
        return f"{error}", ""
    return download.why, download.why if download.is_hub_down else ""


def _local_fault(spec: str) -> str:
    """Return what is wrong with a spec that this machine can tell, "" where nothing is."""
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


def _data(plan: Plan, store: Path) -> Iterator[tuple[str, str, Callable[[], Download]]]:
    """Yield the kind and name of whatever data the plan needs, and what finds it."""
    data, coding, probing, summaries = plan.dataset, plan.coding, plan.probing, plan.summaries
    if data.name not in {card.name for card in Store(store).datasets()}:
        yield "dataset", data.name, partial(_dataset, data)
    if coding:
        yield "texts", coding.text, partial(_texts, coding.text)
    for each in probing.tasks if probing else ():
        for task in task_names() if each == ALL else (each,):
            yield "task", task, partial(_task, task)
    if summaries and summaries.writer:
        yield "writer", summaries.writer, partial(weights_of, summaries.writer)


def _dataset(data: PlannedData) -> Download:
    if data.hub:
        wanted = repository(source_of(data.hub, {"revision": data.revision or None}, False))
        return files_left(wanted, WHOLE) if wanted else Download(0)
    if not data.folder:
        raise InputError(f"{data.missing or 'no place is named'}; name a folder with --data DIR")
    return Download(0)


def _missing_folder(data: PlannedData, kind: str) -> str:
    if kind != "dataset" or not data.folder or expand(data.folder).is_dir():
        return ""
    return f"there is no folder {data.folder}; name one with --data DIR"


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


def _disks(download: int, store: Path, room: int) -> Iterator[Row]:
    """Yield a row for the hub's cache and one for the store; on one disk they share the room."""
    from huggingface_hub import constants  # may change while a process runs

    cache, own = _there(Path(constants.HF_HUB_CACHE)), _there(store)
    together = os.stat(cache).st_dev == os.stat(own).st_dev
    both = download + room
    for name, place, needed in (
        ("cache of the hub", cache, both if together else download),
        ("store", own, both if together else room),
    ):
        free, wrong = shutil.disk_usage(place).free, ""
        if needed > free:
            have = f"needs {size_text(needed)}, and {size_text(free)} is free at {place}"
            wrong = f"{have}; make room, or set HF_HOME and --store to folders of other disks"
        yield _row("disk", name, wrong)


def _there(place: Path) -> Path:
    """Return a folder, or the nearest one around it that exists."""
    place = place.absolute()
    return next(one for one in (place, *place.parents) if one.exists())


def _row(kind: str, name: str, said: str) -> Row:
    """Return a row. said: a sentence of what is wrong, and behind a semicolon what to do."""
    wrong, _, remedy = said.rstrip(".").partition("; ")
    return kind, name, wrong, remedy
