"""The nineteen tasks of the Visual Task Adaptation Benchmark, from the hub or its cache.

Source: X. Zhai et al., A large-scale study of representation learning with the visual task
adaptation benchmark (2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.competence.images.labeled import (
    LIMIT,
    SEED,
    ImageSet,
    Limit,
    Sample,
    Samples,
    as_set,
    draw,
)
from core.competence.images.shards import COUNT, read_shards
from core.competence.published import vtab_tasks
from core.errors import StimuliError, UnknownNameError
from core.hub.repository import Repository
from core.progress import Progress

ALL = "vtab"  # stands for all of them
PARTS = [f"{part}/{form}" for part in ("train", "test") for form in (COUNT, "*.tar")]
# What the hub's labels count where the benchmark joins neighbors: positions and orientations of the
# drawn figure.
RAW_CLASSES: Mapping[str, int] = {"dSprites-Location": 32, "dSprites-Orientation": 40}


def task_names() -> list[str]:
    """Return the names of the nineteen tasks."""
    return vtab_tasks()["task"].tolist()


def open_vtab(name: str, *, limit: Limit = LIMIT, report: Progress | None = None) -> ImageSet:
    """Open a task by its name; its data set is fetched whole on the first time, and at most `limit`
    samples are drawn.

    Raises UnknownNameError, OfflineError where the data set is not in the cache and the hub cannot
    be reached, StimuliError where the hub does not have it, or where it is not as the benchmark
    describes it.
    """
    from core.hub.fetch import fetch_snapshot  # half a second, only for the hub's users

    tasks = {task["task"]: task for task in vtab_tasks().to_dict("records")}
    if name not in tasks:
        raise UnknownNameError("task of VTAB", name, tasks)
    task = tasks[name]
    wanted = task_repository(name)
    folder = fetch_snapshot(wanted, PARTS)
    listed = read_shards(folder, report=report)
    samples, parts = draw(_in_benchmark_classes(listed, name, task["classes"]), limit=limit)
    source = {
        "hub": task["hub"],
        "revision": folder.name,
        "classes": task["classes"],
        "limit": limit,
        "seed": SEED,
    }
    return as_set(name, task["group"], samples, parts, source=source)


def _in_benchmark_classes(samples: Samples, name: str, classes: int) -> Samples:
    """Return ⌊label · classes / raw⌋ for each label where labels count finer than the benchmark,
    and else the labels.

    Raises StimuliError for labels beyond either count.
    """
    highest = max(
        (sample.label for part in (samples.train, samples.test) for sample in part), default=0
    )
    if highest < classes:
        return samples
    raw = RAW_CLASSES.get(name, classes)
    if highest >= raw:
        raise StimuliError(
            f"the labels of {name} go up to {highest}, and {raw} classes from 0 were expected;"
            " fetch it again"
        )

    def joined(part: Sequence[Sample]) -> list[Sample]:
        return [sample._replace(label=sample.label * classes // raw) for sample in part]

    return Samples(joined(samples.train), joined(samples.test))


def task_repository(name: str) -> Repository:
    """Return where a task lies on the hub."""
    hub_id = vtab_tasks().set_index("task").loc[name, "hub"]
    instead = "--task DIR with a copy of its train and test folders"
    return Repository(hub_id, f"{name} ({hub_id})", instead, kind="dataset")
