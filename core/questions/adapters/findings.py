"""Findings about adapters: the proposal, the baselines, and fewer training pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isnan, nan

import pandas as pd

from core.questions.adapters.kernels import AFTER, BEFORE
from core.questions.adapters.measures import (
    ADAPTERS,
    ALIGNMENT,
    CHANCE,
    ENCODERS,
    GAIN,
    MEAN,
    OWN,
    PAIRS,
    RECALL,
    REFERENCE,
    UNTRAINED,
)
from core.questions.finding import Finding
from core.statistics.intervals import mean_interval


def adaptation_findings(summary: pd.DataFrame, titles: Mapping[str, str]) -> list[Finding]:
    """Return whether the proposal holds, for each set of encoders and each reference, and how
    adapters retrieve next to the baselines; over several sets their lead first.
    """
    several = summary[ENCODERS].nunique() > 1
    findings = lead(summary) if several else []
    for encoders, rows in summary.groupby(ENCODERS, sort=False):
        prefix = f"{_named(str(encoders), titles)}: " if several else ""
        references = [str(name) for name in rows[REFERENCE].unique() if name]
        found = [one for name in references for one in gains(rows, name, titles)]
        findings += [replace(one, claim=prefix + one.claim) for one in [*found, *retrieval(rows)]]
    return findings


def gains(summary: pd.DataFrame, reference: str, titles: Mapping[str, str]) -> list[Finding]:
    """Return whether the common space, by the mean of all encoders, is nearer to the reference than
    they are on average (the proposal) and than the best of them. summary: of one set of encoders.
    """
    mean = summary[(summary[REFERENCE] == reference) & (summary["what"] == MEAN)]
    rows = mean.set_index("measure")
    named, found = titles.get(reference, reference), []
    bases = ((GAIN, "the encoders on average"), (OWN, "the best encoder alone"))
    for measure, base in bases:
        if measure in rows.index:
            row = rows.loc[measure]
            found.append(
                Finding(
                    f"Adapters bring the common space nearer to {named} than {base}",
                    float(row["value"]),
                    float(row["low"]),
                    float(row["high"]),
                    name="gain",
                    digits=3,
                    n=int(row["seeds"]),
                    over="trainings",
                    expected="+",
                )
            )
    if found:
        trainings = summary[summary["measure"] == UNTRAINED]
        count = int(trainings["seeds"].sum())
        kept = round((trainings["value"] * trainings["seeds"]).sum())
        note = f"In {kept} of {count} trainings no epoch beat the adapters it started from."
        found[-1] = replace(found[-1], note=note if kept else "")
    return found


def curve_findings(summary: pd.DataFrame, titles: Mapping[str, str]) -> list[Finding]:
    """Return `costs` for each set of encoders and each reference."""
    sets = summary.loc[summary[REFERENCE] != "", [ENCODERS, REFERENCE]].drop_duplicates()
    found = []
    for encoders, reference in sets.itertuples(index=False):
        of_one = (summary[ENCODERS] == encoders) & summary[REFERENCE].isin([reference, ""])
        prefix = f"{_named(encoders, titles)} and {titles.get(reference, reference)}: "
        found += [
            replace(one, claim=(prefix if len(sets) > 1 else "") + one.claim)
            for one in costs(summary[of_one])
        ]
    return found


def costs(summary: pd.DataFrame) -> list[Finding]:
    """Return how alignment and recall change from the fewest to the most training pairs."""
    few, most = summary[PAIRS].min(), summary[PAIRS].max()
    adapted = summary[summary["method"] == ADAPTERS]
    align = adapted[(adapted["measure"] == ALIGNMENT) & (adapted["what"] == MEAN)]
    found = []
    for name, values in (
        ("alignment of the mean", align.set_index(PAIRS)["value"]),
        ("recall at 10", _recalls(adapted).groupby(PAIRS)["value"].mean()),
    ):
        change = float(values[most] - values[few])
        found.append(
            Finding(
                f"Change of {name} from {few:,} to {most:,} pairs",
                change,
                digits=3,
                reason="one of them cannot be measured" if isnan(change) else "",
                note="" if isnan(change) else f"It reaches {values[most]:.3f}.",
            )
        )
    return found


def retrieval(summary: pd.DataFrame) -> list[Finding]:
    """Return how adapters retrieve next to the best method without training, by recall at 10 over
    all directions. summary: of one set of encoders.
    """
    recalls = _recalls(summary).groupby("method", sort=False)["value"].mean()
    others = recalls.drop([ADAPTERS, CHANCE]).dropna()
    best = f"{others.idxmax()} {others.max():.3f}, " if len(others) else ""
    value = float(recalls[ADAPTERS])
    return [
        Finding(
            "Recall at 10 by the adapters, mean over directions",
            value,
            digits=3,
            reason="it cannot be measured" if isnan(value) else "",
            note=f"Best without training: {best}chance {recalls[CHANCE]:.3f}."
            if best
            else f"Chance is {recalls[CHANCE]:.3f}.",
        )
    ]


def lead(summary: pd.DataFrame) -> list[Finding]:
    """Return whether adapters retrieve better than canonical correlation over several sets of
    encoders, by recall at 10 averaged over directions and trainings; nothing if no set has both.

    The interval over sets is left out if two of them share an encoder: they are not independent.
    """
    recalls = _recalls(summary).groupby([ENCODERS, "method"], sort=False)["value"].mean().unstack()
    leads = (recalls[ADAPTERS] - recalls["CCA"]).dropna()
    if leads.empty:
        return []
    encoders = [name.rpartition(":")[0] or name for one in leads.index for name in one.split(" + ")]
    shared = len({*encoders}) < len(encoders)  # whatever the layer
    low, high = (nan, nan) if shared else mean_interval(leads.to_numpy())
    lowest = f"{leads.min():+.3f}".replace("-", "−")
    return [
        Finding(
            "Adapters retrieve better than canonical correlation, by recall at 10",
            float(leads.mean()),
            low,
            high,
            name="lead",
            digits=3,
            n=len(leads),
            over="sets of encoders",
            expected="+",
            reason="sets share encoders, so they are not independent" if shared else "",
            note=f"They reach at least as much in {int((leads.round(3) >= 0).sum())} of"
            f" {len(leads)} sets; the lowest lead, {lowest}, is that of {leads.idxmin()}.",
        )
    ]


def kernel_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how aligned the encoders are with the reference, and what one training changed."""
    kernels = table.drop_duplicates(["when", "what"])
    before = float(kernels.loc[kernels["when"] == BEFORE, "alignment"].mean())
    after = kernels[(kernels["when"] == AFTER) & (kernels["what"] == MEAN)]["alignment"]
    unknown = "it is undefined" if isnan(before) else ""
    encoders = "The encoders' mean alignment with the reference"
    space = "The alignment of the common space, by the mean of all encoders"
    found = [Finding(encoders, before, digits=3, reason=unknown)]
    if not unknown and len(after):
        found.append(Finding(space, float(after.item()), digits=3, note="One training."))
    return found


def _named(encoders: str, titles: Mapping[str, str]) -> str:
    return " + ".join(titles.get(name, name) for name in encoders.split(" + "))


def _recalls(summary: pd.DataFrame) -> pd.DataFrame:
    return summary[summary["measure"] == f"{RECALL}_10"]
