"""Measures the competence of a plan's models: bits per byte over texts, linear probes on images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd

from core.competence.bits_per_byte import Extent
from core.competence.images import ALL, ImageSet, task_names
from core.competence.texts import open_texts
from core.competence.transfer import open_tasks
from core.competence.units import Bench
from core.crew.units import Once, Unit
from core.plans.plan import Coding, Probing
from core.plans.run import Run


def measure_models(run: Run) -> None:
    """Measure the models that are embedded, each by itself; what is measured already stays."""
    if run.plan.coding:
        _code(run, run.plan.coding)
    if run.plan.probing:
        _probe(run, run.plan.probing)


def _code(run: Run, coding: Coding) -> None:
    names, texts = _names(run, coding.groups), Once(partial(open_texts, coding.text))
    units = list[Unit[pd.DataFrame]]()
    if names:
        with run.step(f"texts of {coding.text}"):
            texts()
            code = partial(_bench(run).coding, texts=texts, extent=Extent(coding.tokens))
            units = run.gather("bits per byte of", names, lambda name: code([name]))
    run.do(units)


def _probe(run: Run, probing: Probing) -> None:
    names = _names(run, probing.groups)
    if names and (each := _open_tasks(run, probing)):
        probe = partial(_bench(run).probing, sets=Once(partial(_sets, each)))
        run.do(run.gather("linear probes of", names, lambda name: probe([name])))


def _open_tasks(run: Run, probing: Probing) -> list[Once[list[ImageSet]]]:
    """Return what opens each task; one that cannot be had is named, and the others are measured."""
    limit, able = (probing.train, probing.test), list[Once[list[ImageSet]]]()
    for task in [
        one for each in probing.tasks for one in (task_names() if each == ALL else [each])
    ]:
        with run.step(f"task {task}"):
            opened = Once(partial(open_tasks, (task,), limit=limit))
            opened(report=run.report)
            able.append(opened)
    return able


def _sets(each: Sequence[Callable[[], list[ImageSet]]]) -> list[ImageSet]:
    return [images for opened in each for images in opened()]


def _bench(run: Run) -> Bench:
    return Bench(run.store, run.plan.dataset.name, run.device)


def _names(run: Run, groups: tuple[str, ...]) -> list[str]:
    """Return the embedded models of these groups, of those in `only` alone where any is named."""
    there = run.names()
    return [
        name for group in groups if group in (run.only or groups) for name in there.get(group, [])
    ]
