"""Do adapters drop what only one modality knows? Probes of factors and nuisances on encoders'
vectors before adapters, and in the common space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64, Int64

from core.errors import NotApplicableError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Palette, Plot
from core.progress import tell_each
from core.questions.adapters.lesson import Lesson, passes
from core.questions.adapters.maps import Parts, split
from core.questions.finding import Finding
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import mean_interval
from core.stimuli.worlds import Event, World
from core.study.spaces import find_space
from core.study.study import Study, studied_indices

if TYPE_CHECKING:
    from core.questions.adapters.question import Adaptation

FACTORS = ("scene", "time", "weather", "count")
FACTOR, NUISANCE = "factor", "nuisance"
NEAR = 10  # training stimuli that a neighbor probe looks at
OVERALL = "all"  # in place of a label: the mean over those of a kind
READS = {"linear": "linear probe", "neighbors": "nearest stimuli of the class"}
BY = {"linear": "linear probes", "neighbors": "the nearest stimuli"}

Labels = Int64[np.ndarray, "n"]
Space = Float32[np.ndarray, "n _"]
Shares = Float64[np.ndarray, "test"]  # of right answers, by test stimulus


def probe(
    question: Adaptation,
    study: Study,
    lesson: Lesson,
    reference: Space,
) -> pd.DataFrame:
    """Probe each encoder before and after its adapter, and the reference as it is.

    Both probes learn from the pairs that the adapters learn from; rows have length 1 before and
    after. Probed are all factors and the nuisances of a space's modality.
    """
    world, seen = study_events(study)
    factors = {(FACTOR, name): each for name, each in factor_labels(world, seen).items()}
    rows = list[dict[str, Any]]()
    for seed in tell_each(range(question.seeds), "trainings probed"):
        parts = split(study.size, pairs=len(lesson.parts.train), seed=question.seed, draw=seed)
        lesson = lesson._replace(parts=parts)
        *_, last = passes(lesson, question.settings, seed=seed, device=study.device)
        adapters = replace(last.best, products="cosine")
        for name, space in {**lesson.spaces, question.ref[0]: reference}.items():
            entry = study.entry(find_space(study, name).model)
            own = nuisance_labels(world, seen, entry.card.modality, entry.level)
            tasks = factors | {(NUISANCE, label): each for label, each in own.items()}
            views = {"before": normalize_rows(space)}
            if name in lesson.spaces:
                views["after"] = adapters.apply({name: space})[name]
            for (kind, label), classes in tasks.items():
                for probe, measure in PROBES.items():
                    named = {"space": name, "kind": kind, "label": label, "probe": probe}
                    right = {when: measure(view, classes, parts) for when, view in views.items()}
                    rows.append({**named, **right, "chance": _chance(probe, classes, parts)})
    return _summarize(pd.DataFrame(rows), question.seeds)


def probe_plot(table: pd.DataFrame) -> Plot:
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
    chance = Dots("chance", "label", color=Fixed("chance"), symbol="line-ns-open", size=12)
    return Plot(
        "Factors and nuisances before and after adapters",
        marks=(
            replace(chance, name="chance"),
            Dots("before", "label", color=colors, hollow=True, size=10, card=card),
            Dots("after", "label", color=colors, size=10, left="left", right="right", card=card),
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
        nuisance = row["kind"] == NUISANCE
        named = ", ".join(labels[row["space"]])
        before, after, chance = (f"{row[name]:.3f}" for name in ("before", "after", "chance"))
        found.append(
            Finding(
                f"Adapters lower the accuracy of {by} for nuisances of {what} ({named})"
                if nuisance
                else f"Change in the accuracy of {by} for factors from {what}",
                row["change"],
                row["low"],
                row["high"],
                digits=3,
                n=int(row["seeds"]),
                over="trainings",
                expected="-" if nuisance else "",
                note=f"Accuracy goes from {before} to {after}; chance is {chance}.",
            )
        )
    return found


def _linear(space: Space, classes: Labels, parts: Parts) -> Shares:
    from core.competence.probes import Split, right_answers  # torch takes seconds

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
    """Return the share that a probe reaches from the frequencies of classes alone."""
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
            before = np.mean(list(each["before"]), axis=0)
            figures = dict.fromkeys(("after", "change", "low", "high"), np.nan)
            if not each["after"].isna().any():
                change = np.mean(list(each["after"]), axis=0) - before
                mean, (low, high) = float(change.mean()), mean_interval(change)
                after = float(before.mean()) + mean
                figures = {"after": after, "change": mean, "low": low, "high": high}
            named = {"space": space, "kind": kind, "label": label, "probe": probe}
            means = {"chance": float(each["chance"].mean()), "before": float(before.mean())}
            table.append({**named, **means, **figures, "seeds": seeds})
    return pd.DataFrame(table)


def study_events(study: Study) -> tuple[World, list[Event]]:
    """Return the world of a study and the events behind its stimuli; raise NotApplicableError for a
    dataset without one.
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
    return {name: _classes([world.factors[name][row[name]] for row in rows]) for name in FACTORS}


def nuisance_labels(
    world: World, seen: Sequence[Event], modality: str, level: str | None
) -> dict[str, Labels]:
    """Return the nuisances of what a modality reads as classes from 0, if it has any."""
    nuisances = world.nuisances(seen, modality, level)
    return {name: _classes(values) for name, values in nuisances.items()}


def _classes(values: Sequence[object]) -> Labels:
    return np.unique(np.array(values), return_inverse=True)[1].astype(np.int64)
