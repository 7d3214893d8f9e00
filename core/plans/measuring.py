"""Measures the competence of a plan's models: bits per byte over texts, linear probes on images."""

from __future__ import annotations

from core.competence.images.labeled import ImageSet
from core.competence.images.transfer import open_tasks, probe_models
from core.competence.images.vtab import ALL, task_names
from core.competence.language.bits_per_byte import Extent
from core.competence.language.coding import code_models
from core.competence.language.texts import open_texts
from core.plans.plan import Coding, Probing
from core.plans.run import Run


def measure_models(run: Run) -> None:
    """Measure the models that are embedded, each by itself; what is measured already stays."""
    if run.plan.coding:
        _code(run, run.plan.coding)
    if run.plan.probing:
        _probe(run, run.plan.probing)


def _code(run: Run, coding: Coding) -> None:
    names, dataset = _names(run, coding.groups), run.plan.dataset.name
    if not names:
        return
    with run.step(f"texts of {coding.text}"):
        texts, extent = open_texts(coding.text), Extent(coding.tokens)
        for name in names:
            with run.step(f"bits per byte of {name}"):
                code_models(
                    run.store,
                    dataset,
                    [name],
                    texts,
                    extent,
                    device=run.device,
                    report=run.report,
                )


def _probe(run: Run, probing: Probing) -> None:
    names, dataset = _names(run, probing.groups), run.plan.dataset.name
    sets = _open_tasks(run, probing) if names else []
    for name in names if sets else []:
        with run.step(f"linear probes of {name}"):
            probe_models(run.store, dataset, [name], sets, device=run.device, report=run.report)


def _open_tasks(run: Run, probing: Probing) -> list[ImageSet]:
    """Open each task by itself: one that cannot be had is named, and the others are measured."""
    sets: list[ImageSet] = []
    limit = (probing.train, probing.test)
    for task in [
        one for each in probing.tasks for one in (task_names() if each == ALL else [each])
    ]:
        with run.step(f"task {task}"):
            sets += open_tasks([task], limit=limit, report=run.report)
    return sets


def _names(run: Run, groups: tuple[str, ...]) -> list[str]:
    """Return the embedded models of these groups, of those in `only` alone where any is named."""
    there = run.names()
    return [
        name for group in groups if group in (run.only or groups) for name in there.get(group, [])
    ]
