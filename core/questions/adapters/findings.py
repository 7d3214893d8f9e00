"""What the tables of adapters say: the verdict on the proposal, the baselines, and what fewer pairs
are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import isnan, nan
from typing import Any

import pandas as pd

from core.figures.numbers import counted
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
    """Return what becomes of the proposal, for each set of encoders and each reference, and how
    adapters retrieve next to the baselines; over several sets their lead first.

    summary: as `core.questions.adapters.measures.summarize` returns it, of one number of pairs for
    each set of encoders.
    """
    several = summary[ENCODERS].nunique() > 1
    findings = lead(summary) if several else []
    for encoders, rows in summary.groupby(ENCODERS, sort=False):
        prefix = f"{_named(str(encoders), titles)}: " if several else ""
        found = [
            *(
                finding
                for reference in rows[REFERENCE].unique()
                if reference
                for finding in gains(rows, str(reference), titles)
            ),
            retrieval(rows),
        ]
        findings += [replace(one, claim=prefix + one.claim) for one in found]
    return findings


def gains(summary: pd.DataFrame, reference: str, titles: Mapping[str, str]) -> list[Finding]:
    """Return the proposal's inequality for each view of the common space, the mean of all encoders
    first, and then whether it is nearer to the reference than each encoder alone.

    summary: of one set of encoders and one number of pairs.
    """
    own = summary[summary[REFERENCE].eq(reference) & summary["measure"].isin((GAIN, OWN))]
    order = own.sort_values("what", key=lambda what: what != MEAN, kind="stable")
    named = titles.get(reference, reference)
    found = []
    for row in order.sort_values("measure", kind="stable").to_dict("records"):
        view = titles.get(row["what"], row["what"])
        space = "the mean of all encoders" if row["what"] == MEAN else view
        alone = "the best encoder alone" if row["what"] == MEAN else f"{view} alone"
        than = "the encoders are on average" if row["measure"] == GAIN else f"{alone} is"
        found.append(_gain(row, f"the common space by {space} is nearer to {named} than {than}"))
    if found:
        seeds = int(order["seeds"].iloc[0])
        found[0] = replace(found[0], note=" ".join([covered(seeds), *_unlearned(summary)]))
    return found


def _gain(row: Mapping[Any, Any], claim: str) -> Finding:
    return Finding(
        claim,
        row["value"],
        row["low"],
        row["high"],
        name="gain",
        digits=3,
        n=int(row["seeds"]),
        over="trainings",
        expected="+",
    )


def curve_findings(summary: pd.DataFrame, titles: Mapping[str, str]) -> list[Finding]:
    """Return what the fewest and the most training pairs reach, for each set of encoders and each
    reference.
    """
    each = list(_each(summary))
    return [
        replace(one, claim=f"{_named(encoders, titles)} beside {titles.get(to, to)}: {one.claim}")
        if len(each) > 1
        else one
        for (encoders, to), rows in each
        for one in costs(rows)
    ]


def _each(summary: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the rows of each set of encoders with each reference, and those that need none."""
    pairs = summary.loc[summary[REFERENCE] != "", [ENCODERS, REFERENCE]].drop_duplicates()
    for encoders, reference in pairs.itertuples(index=False):
        of_one = (summary[ENCODERS] == encoders) & summary[REFERENCE].isin([reference, ""])
        yield (encoders, reference), summary[of_one]


def _named(encoders: str, titles: Mapping[str, str]) -> str:
    return " + ".join(titles.get(name, name) for name in encoders.split(" + "))


def kernel_findings(table: pd.DataFrame, stopped: int | None) -> list[Finding]:
    """Return how aligned the encoders are with the reference, and what one training changed.

    table: as `core.questions.adapters.kernels.tabulate` returns it. stopped: after which pass.
    """
    kernels = table.drop_duplicates(["when", "what"])
    before = float(kernels.loc[kernels["when"] == BEFORE, "alignment"].mean())
    after = kernels[(kernels["when"] == AFTER) & (kernels["what"] == MEAN)]["alignment"]
    encoders = Finding(
        "The encoders' alignment with the reference, mean",
        before,
        digits=3,
        reason="it is undefined" if isnan(before) else "",
    )
    if isnan(before):
        return [encoders]
    if after.empty:
        return [replace(encoders, note="Train adapters to see what they change.")]
    note = f"This is one training{stopped_words(stopped)}; an interval takes several."
    space = "The alignment of the common space with it, by the mean of all encoders"
    return [encoders, Finding(space, float(after.item()), digits=3, note=note)]


def stopped_words(stopped: int | None) -> str:
    """Return in words that a training was stopped, to be put after it; "" if it was not."""
    return "" if stopped is None else f", stopped after {counted(stopped, 'pass', 'passes')}"


def _unlearned(summary: pd.DataFrame) -> list[str]:
    """Say of how many trainings the first weights stayed the best."""
    trainings = summary[summary["measure"] == UNTRAINED]
    count = int(trainings["seeds"].sum())
    untrained = round((trainings["value"] * trainings["seeds"]).sum())
    sentence = (
        f"In {untrained} of {count} trainings no pass led by two standard errors on the validation"
        " stimuli: they kept the adapters that they started from."
    )
    return [sentence] if untrained else []


def covered(seeds: int) -> str:
    """Say what the intervals of gains over this many trainings cover."""
    if seeds == 1:
        return (
            "Intervals cover other test stimuli, not other trainings, since there was only one, nor"
            " other encoders."
        )
    return (
        f"Intervals cover other test stimuli and, from {seeds} runs, other trainings, but not other"
        " encoders."
    )


def retrieval(summary: pd.DataFrame) -> Finding:
    """Return how adapters retrieve next to the best method without training, by recall at 10 over
    all directions.

    summary: of one set of encoders and one number of pairs.
    """
    recalls = _recalls(summary).groupby("method", sort=False)["value"].mean()
    others = recalls.drop([ADAPTERS, CHANCE]).dropna()
    best = (
        f"The best method without training, {others.idxmax()}, reaches {others.max():.3f}"
        if len(others)
        else "There is no baseline to compare with"
    )
    value = float(recalls[ADAPTERS])
    return Finding(
        "recall at 10 by the adapters, mean over directions",
        value,
        digits=3,
        reason="it cannot be measured" if isnan(value) else "",
        note=f"{best}; chance is {recalls[CHANCE]:.3f}.",
    )


def lead(summary: pd.DataFrame) -> list[Finding]:
    """Return whether adapters retrieve better than canonical correlation over several sets of
    encoders, by recall at 10 averaged over directions and trainings; nothing if no set has both.

    The interval over sets is left out if two of them share an encoder: they are not independent.
    """
    recalls = _recalls(summary).groupby([ENCODERS, "method"], sort=False)["value"].mean().unstack()
    leads = (recalls[ADAPTERS] - recalls["CCA"]).dropna()
    if leads.empty:
        return []
    shared = _share(leads.index)
    low, high = (nan, nan) if shared else mean_interval(leads.to_numpy())
    lowest = f"{leads.min():+.3f}".replace("-", "−")
    return [
        Finding(
            "adapters retrieve better than canonical correlation, by recall at 10",
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


def _share(sets: Iterable[str]) -> bool:
    """Return whether an encoder, whatever its layer, is in two sets."""
    encoders = [name.rpartition(":")[0] or name for one in sets for name in one.split(" + ")]
    return len({*encoders}) < len(encoders)


def costs(summary: pd.DataFrame) -> list[Finding]:
    """Return how alignment and recall change from the fewest to the most training pairs.

    summary: of several numbers of pairs.
    """
    few, most = summary[PAIRS].min(), summary[PAIRS].max()
    chosen = (
        (summary["measure"] == ALIGNMENT)
        & (summary["method"] == ADAPTERS)
        & (summary["what"] == MEAN)
    )
    align = summary[chosen].set_index(PAIRS)["value"]
    recalls = _recalls(summary[summary["method"] == ADAPTERS]).groupby(PAIRS)["value"].mean()
    found = []
    for name, values in (("alignment of the mean", align), ("recall at 10", recalls)):
        change = float(values[most] - values[few])
        found.append(
            Finding(
                f"change of {name} from {few:,} to {most:,} pairs",
                change,
                digits=3,
                reason="one of them cannot be measured" if isnan(change) else "",
                note="" if isnan(change) else f"It reaches {values[most]:.3f}.",
            )
        )
    return found


def _recalls(summary: pd.DataFrame) -> pd.DataFrame:
    return summary[summary["measure"] == f"{RECALL}_10"]
