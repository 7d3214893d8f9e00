"""Do adapters drop what only one modality knows? Probes of factors and nuisances on encoders'
vectors before adapters, and in the common space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64, Int64

from core.competence.probes import Split, right_answers
from core.errors import InputError, NotApplicableError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Palette, Plot
from core.progress import Progress
from core.questions.adapters.lesson import Lesson, passes
from core.questions.adapters.maps.model import Adapters, Parts, settings_of, split
from core.questions.adapters.parts import trainings_option
from core.questions.adapters.question import OneSet
from core.questions.finding import Finding
from core.questions.question import Answer
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import mean_interval
from core.stimuli.worlds import Event, World
from core.study.spaces import find_space
from core.study.study import Study, studied_indices

FACTORS = ("scene", "time", "weather", "count")
FACTOR, NUISANCE = "factor", "nuisance"
NEAR = 10  # training stimuli that a neighbor probe looks at
OVERALL = "all"  # in place of a label: the mean over those of a kind
READS = {"linear": "linear probe", "neighbors": "nearest stimuli of the class"}
BY = {"linear": "linear probes", "neighbors": "the nearest stimuli"}

Labels = Int64[np.ndarray, "n"]
Space = Float32[np.ndarray, "n _"]
Shares = Float64[np.ndarray, "test"]  # of right answers, by test stimulus


class Task(NamedTuple):
    """What is probed: a factor or a nuisance, its name and its classes."""

    kind: str
    label: str
    classes: Labels


@dataclass(frozen=True)
class AdapterProbes(OneSet):
    """Do adapters drop what only one modality knows, and keep what is real?

    Each encoder is probed before and after its adapter, and the reference as it is. Both probes
    learn from the pairs that the adapters learn from; rows have length 1 before and after.
    """

    command = "adapters probes"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "space": "an encoder, or the reference",
        "title": "what people call it",
        "kind": "factor of the world, or nuisance of one modality",
        "label": "which; all: the mean over those of a kind",
        "probe": f"linear: share of test stimuli that a linear probe gets right; neighbors: share"
        f" of the {NEAR} most similar training stimuli that have the class",
        "chance": "what frequencies of classes alone reach",
        "before": "share before adapters",
        "after": "share after; empty for the reference",
        "change": "after − before",
        "low": "low end of its 95% interval over test stimuli, shares averaged over trainings",
        "high": "high end of that interval",
        "seeds": "trainings",
    }

    seeds: int = trainings_option("trainings over which probes are averaged")

    def complete(self, study: Study) -> AdapterProbes:
        if self.seeds < 1:
            raise InputError(f"expected at least one training; got {self.seeds} seeds")
        study_events(study)
        return super().complete(study)

    def answer(self, study: Study, report: Progress | None) -> Answer:
        lesson, reference = self.lesson(study)
        tasks = _tasks(study, [*lesson.spaces, self.ref[0]])
        rows = list[dict[str, object]]()
        for seed in range(self.seeds):
            parts = split(study.size, pairs=self.pairs, seed=self.seed, draw=seed)
            adapters = _train(lesson._replace(parts=parts), self, seed, study.device)
            for name, space in {**lesson.spaces, self.ref[0]: reference}.items():
                after = adapters.apply({name: space})[name] if name in lesson.spaces else None
                rows += _probed(name, tasks[name], normalize_rows(space), after, parts)
            if report:
                report(seed + 1, self.seeds, "trainings probed")
        table, titles = _summarize(pd.DataFrame(rows), self.seeds), self.titles(study)
        table.insert(1, "title", table["space"].map(titles))
        return Answer(table, probe_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        """Return each label's share before (hollow) and after (filled, with the interval of the
        change), next to chance; a panel per encoder and probe.
        """
        rows = table[table["change"].notna() & (table["label"] != OVERALL)]
        rows = rows.assign(
            panel=rows["probe"] + rows["space"],
            reads=rows["probe"].map(READS),
            left=rows["before"] + rows["low"],
            right=rows["before"] + rows["high"],
        )
        colors = Palette("kind", {FACTOR: "text", NUISANCE: "ember"})
        card = (
            "<b>{label}</b>",
            "before {before:.3f}, after {after:.3f}, chance {chance:.3f}",
            "change {change:+.3f} [{low:+.3f}, {high:+.3f}]",
        )
        return Plot(
            "Factors and nuisances before and after adapters",
            marks=(
                Dots(
                    "chance",
                    "label",
                    color=Fixed("chance"),
                    symbol="line-ns-open",
                    size=12,
                    name="chance",
                ),
                Dots("before", "label", color=colors, hollow=True, size=10, card=card),
                Dots(
                    "after", "label", color=colors, size=10, left="left", right="right", card=card
                ),
            ),
            x=Axis("share right", percent=True, zero=True),
            y=Axis("", names=True),
            facet=Facet(
                "panel",
                head="<b>{title}</b>",
                note="{reads}",
                columns=max(1, rows["space"].nunique()),
                share="x",
            ),
            empty="No probe of these encoders could be measured.",
            row=26,
        ).over(rows)


def probe_findings(table: pd.DataFrame) -> list[Finding]:
    """Return for each encoder and probe what adapters change of nuisances and of factors."""
    shown = table[(table["label"] == OVERALL) & table["change"].notna()]
    nuisances = table[(table["kind"] == NUISANCE) & (table["label"] != OVERALL)]
    labels = nuisances.groupby("space")["label"].unique().map(sorted)
    found = []
    for row in shown[shown["space"].isin(labels.index)].to_dict("records"):
        what, by = row["title"], BY[row["probe"]]
        if row["kind"] == NUISANCE:
            named = ", ".join(labels[row["space"]])
            claim = f"Adapters lower what {by} read of the nuisances of {what} ({named})"
        else:
            claim = f"Change in what {by} read of the factors from {what}"
        found.append(_change(row, claim))
    return found


def _change(row: Mapping[Any, Any], claim: str) -> Finding:
    before, after, chance = (f"{row[name]:.3f}" for name in ("before", "after", "chance"))
    return Finding(
        claim,
        row["change"],
        row["low"],
        row["high"],
        digits=3,
        n=int(row["seeds"]),
        over="trainings",
        expected="-" if row["kind"] == NUISANCE else "",
        note=f"The share right goes from {before} to {after}; chance is {chance}.",
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


def study_events(study: Study) -> tuple[World, list[Event]]:
    """Return the world of a study and the events behind its stimuli; raises NotApplicableError for
    a dataset without one.
    """
    world, table = study.dataset.world, study.store.stimuli(study.dataset.name)
    drawn = world.behind(study.dataset) if world else []
    if world is None or [event.scene for event in drawn] != list(table.get("scene", ())):
        raise NotApplicableError(
            "palette, light and wording are known of the Cave's stimuli alone; got"
            f" {study.dataset.name!r}: name --dataset cave"
        )
    return world, [drawn[index] for index in studied_indices(study)]


def factor_labels(world: World, seen: Sequence[Event]) -> dict[str, Labels]:
    """Return each of FACTORS as classes from 0."""
    rows = [dict(zip(world.factors, world.answers(event), strict=True)) for event in seen]
    values = {name: [world.factors[name][row[name]] for row in rows] for name in FACTORS}
    return {name: _classes(values[name]) for name in FACTORS}


def nuisance_labels(
    world: World, seen: Sequence[Event], modality: str, level: str | None
) -> Mapping[str, Labels]:
    """Return the nuisances of what a modality reads as classes from 0; none of a modality that has
    none, and of captions that somebody else wrote.
    """
    nuisances = world.nuisances(seen, modality, level)
    return {name: _classes(values) for name, values in nuisances.items()}


def _classes(values: Sequence[object]) -> Labels:
    return np.unique(np.array(values), return_inverse=True)[1].astype(np.int64)
