"""Probes of factors and nuisances on encoders' vectors before adapters, and in the common space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64, Int64

from core.competence.probes import Split, right_answers
from core.errors import InputError
from core.progress import Progress
from core.questions.adapters.answer import complete_training, lesson_of
from core.questions.adapters.course import passes
from core.questions.adapters.lesson import Lesson
from core.questions.adapters.maps.model import Adapters, Parts, settings_of, split
from core.questions.adapters.nuisances.findings import OVERALL, probe_findings
from core.questions.adapters.nuisances.labels import factor_labels, nuisance_labels, study_events
from core.questions.adapters.nuisances.question import AdapterProbes
from core.questions.registry import Answer, declare
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import mean_interval
from core.study.spaces import find_space
from core.study.study import Study

FACTOR, NUISANCE = "factor", "nuisance"
NEAR = 10  # training stimuli that a neighbor probe looks at

Labels = Int64[np.ndarray, "n"]
Space = Float32[np.ndarray, "n _"]
Shares = Float64[np.ndarray, "test"]  # of right answers, by test stimulus


class Task(NamedTuple):
    """What is probed: a factor or a nuisance, its name and its classes."""

    kind: str
    label: str
    classes: Labels


def complete_probes(question: AdapterProbes, study: Study) -> AdapterProbes:
    """Name spaces and pairs; raises InputError where the stimuli are not the Cave's, and as
    `core.questions.adapters.answer.complete_training`.
    """
    if question.seeds < 1:
        raise InputError(f"expected at least one training; got {question.seeds} seeds")
    study_events(study)
    return complete_training(question, study)


def probe_adapters(question: AdapterProbes, study: Study, report: Progress | None) -> pd.DataFrame:
    """Probe each encoder before and after its adapter, and the reference as it is.

    Returns a row per space, probe and label, and one per kind for all labels together: space, kind
    (factor or nuisance), label, probe, chance, before, after, change with its 95 % interval, seeds.
    linear: the share of test stimuli that a linear probe gets right. neighbors: the share of the
    NEAR most similar training stimuli that have the test stimulus's class. Both learn from the
    pairs that the adapters learn from. The interval covers other test stimuli, with shares averaged
    over trainings. Rows have length 1 before and after. Of the reference after and change are NaN.
    """
    lesson, reference = lesson_of(question, study)
    tasks = _tasks(study, [*lesson.spaces, question.ref[0]])
    rows = list[dict[str, object]]()
    for seed in range(question.seeds):
        parts = split(study.size, pairs=question.pairs, seed=question.seed, draw=seed)
        adapters = _train(lesson._replace(parts=parts), question, seed, study.device)
        for name, space in {**lesson.spaces, question.ref[0]: reference}.items():
            after = adapters.apply({name: space})[name] if name in lesson.spaces else None
            rows += _probed(name, tasks[name], normalize_rows(space), after, parts)
        if report:
            report(seed + 1, question.seeds, "trainings probed")
    return _summarize(pd.DataFrame(rows), question.seeds)


declare(
    AdapterProbes,
    Answer(probe_adapters, version=2, complete=complete_probes, findings=probe_findings),
)


def _train(lesson: Lesson, question: AdapterProbes, seed: int, device: str) -> Adapters:
    *_, last = passes(lesson, settings_of(question.fitting), seed=seed, device=device)
    return replace(last.best, products="cosine")  # rows of length 1, as before the adapters


def _tasks(study: Study, names: list[str]) -> dict[str, list[Task]]:
    """Return what is probed of each space: all factors, and the nuisances of what it reads."""
    world, seen = study_events(study)
    factors = [Task(FACTOR, label, each) for label, each in factor_labels(world, seen).items()]
    tasks = {}
    for name in names:
        entry = study.entry(find_space(study, name).model)
        own = nuisance_labels(world, seen, entry.card.modality, entry.level)
        tasks[name] = [*factors, *(Task(NUISANCE, label, each) for label, each in own.items())]
    return tasks


def _probed(
    name: str, tasks: list[Task], before: Space, after: Space | None, parts: Parts
) -> Iterator[dict[str, object]]:
    """Yield a row per task and probe of one training; before, after: shares by test stimulus."""
    for task in tasks:
        for probe, measure in PROBES.items():
            yield {
                "space": name,
                "kind": task.kind,
                "label": task.label,
                "probe": probe,
                "chance": _chance(probe, task.classes, parts),
                "before": measure(before, task.classes, parts),
                "after": None if after is None else measure(after, task.classes, parts),
            }


def _linear(space: Space, classes: Labels, parts: Parts) -> Shares:
    own = Split(parts.train, parts.validation, parts.test)
    return right_answers(space, classes, own).astype(np.float64)


def _neighbors(space: Space, classes: Labels, parts: Parts) -> Shares:
    unit = normalize_rows(space)
    similar = unit[parts.test] @ unit[parts.train].T
    nearest = np.argsort(-similar, axis=1, kind="stable")[:, :NEAR]
    shares: Shares = (classes[parts.train][nearest] == classes[parts.test][:, None]).mean(axis=1)
    return shares


PROBES: Mapping[str, Callable[[Space, Labels, Parts], Shares]] = {
    "linear": _linear,
    "neighbors": _neighbors,
}


def _chance(probe: str, classes: Labels, parts: Parts) -> float:
    """Return the share that a probe reaches which knows how frequent classes are, and no more."""
    most = int(classes.max()) + 1
    tested = np.bincount(classes[parts.test], minlength=most) / len(parts.test)
    taught = np.bincount(classes[parts.train], minlength=most) / len(parts.train)
    return float(tested.max() if probe == "linear" else tested @ taught)


def _summarize(rows: pd.DataFrame, seeds: int) -> pd.DataFrame:
    """Average over trainings, and over the labels of each kind."""
    table = []
    for (space, probe, kind), group in rows.groupby(["space", "probe", "kind"], sort=False):
        labels = dict(list(group.groupby("label", sort=False)))
        for label, each in {**labels, OVERALL: group}.items():
            named = {"space": space, "kind": kind, "label": label, "probe": probe}
            table.append({**named, **_figures(each), "seeds": seeds})
    return pd.DataFrame(table)


def _figures(rows: pd.DataFrame) -> dict[str, float]:
    before = np.mean(list(rows["before"]), axis=0)
    figures = {"chance": float(rows["chance"].mean()), "before": float(before.mean())}
    if rows["after"].isna().any():
        return {**figures, **dict.fromkeys(("after", "change", "low", "high"), np.nan)}
    change = np.mean(list(rows["after"]), axis=0) - before
    low, high = mean_interval(change)
    after = figures["before"] + float(change.mean())
    return {**figures, "after": after, "change": float(change.mean()), "low": low, "high": high}
