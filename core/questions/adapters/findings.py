"""What the tables of adapters say, in plain sentences: the verdict on the proposal, the baselines,
and what fewer pairs are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
from core.questions.adapters.question import Adaptation, Kernels, PairsCurve
from core.statistics.intervals import mean_interval

VERDICTS = {
    "yes": "is nearer to",
    "no": "is farther from",
    "undecided": "is neither significantly nearer to nor farther from",
}


def adaptation_findings(_: Adaptation, summary: pd.DataFrame) -> list[str]:
    """Say what becomes of the proposal, for each set of encoders and each reference, and whether
    adapters retrieve better than the baselines.

    summary: as `core.questions.adapters.measures.summarize` returns it, of one number of pairs for
    each set of encoders.
    """
    several = summary[ENCODERS].nunique() > 1
    sentences = lead_finding(summary) if several else []
    for encoders, rows in summary.groupby(ENCODERS, sort=False):
        prefix = f"{encoders}: " if several else ""
        for reference in [name for name in rows[REFERENCE].unique() if name]:
            of_one = rows[rows[REFERENCE].isin([reference, ""])]
            sentences.append(prefix + " ".join(verdict(of_one, reference=reference)))
        sentences.append(prefix + baseline_finding(rows))
    return sentences


def curve_findings(_: PairsCurve, summary: pd.DataFrame) -> list[str]:
    """Say what the fewest and the most training pairs reach, for each set of encoders and each
    reference.
    """
    sentences = []
    for (encoders, reference), rows in _each(summary):
        several = summary[[ENCODERS, REFERENCE]].drop_duplicates().query(f"{REFERENCE} != ''")
        prefix = f"{encoders} beside {reference}: " if len(several) > 1 else ""
        sentences.append(prefix + cost_finding(rows))
    return sentences


def proposal_findings(summary: pd.DataFrame) -> list[str]:
    """Say for each reference whether the mean of all adapted encoders is nearer to it than they
    were, and what the interval covers.

    summary: as `adaptation_findings` takes it, of one set of encoders.
    """
    rows = summary[summary["what"] == MEAN].to_dict("records")
    own = {row[REFERENCE]: row for row in rows if row["measure"] == OWN}
    gains = [row for row in rows if row["measure"] == GAIN]
    compared = [_compare(gain, own[gain[REFERENCE]], gain[REFERENCE]) for gain in gains]
    return [*compared, covered(gains[0]["seeds"])]


def kernel_findings(question: Kernels, table: pd.DataFrame) -> list[str]:
    """Say how aligned the encoders are with the reference, and what one training changed.

    table: as `core.questions.adapters.kernels.tabulate` returns it.
    """
    kernels = table.drop_duplicates(["when", "what"])
    before = kernels.loc[kernels["when"] == BEFORE, "alignment"].mean()
    after = kernels[(kernels["when"] == AFTER) & (kernels["what"] == MEAN)]["alignment"]
    if isnan(before):
        return ["The encoders' alignment with the reference is undefined."]
    encoders = f"The encoders' alignment with the reference is {before:.3f} on average"
    if after.empty:
        return [f"{encoders}, before any training.", "Train adapters to see what they change."]
    return [
        f"{encoders}, that of the common space {after.item():.3f} (mean of all encoders).",
        f"This is one training{stopped_words(question.passes)}; an interval takes several.",
    ]


def stopped_words(stopped: int | None) -> str:
    """Return in words that a training was stopped, to be put after it, where it was."""
    return "" if stopped is None else f", stopped after {counted(stopped, 'pass', 'passes')}"


def verdict(summary: pd.DataFrame, *, reference: str) -> list[str]:
    """Say what becomes of the proposal's inequality for each view of the common space, beside what
    each encoder was alone.

    summary: of one set of encoders, one reference and one number of pairs. reference: what people
    call it.
    """
    rows = summary.to_dict("records")
    own = {gain["what"]: gain for gain in rows if gain["measure"] == OWN}
    gains = [gain for gain in rows if gain["measure"] == GAIN]
    compared = [_compare(gain, own[gain["what"]], reference) for gain in gains]
    return [*compared, *_unlearned(summary), covered(gains[0]["seeds"])]


def _each(summary: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the rows of each set of encoders with each reference, and those that need none."""
    pairs = summary.loc[summary[REFERENCE] != "", [ENCODERS, REFERENCE]].drop_duplicates()
    for encoders, reference in pairs.itertuples(index=False):
        of_one = (summary[ENCODERS] == encoders) & summary[REFERENCE].isin([reference, ""])
        yield (encoders, reference), summary[of_one]


def _compare(gain: Mapping[Any, Any], own: Mapping[Any, Any], reference: str) -> str:
    mean = gain["what"] == MEAN
    space, alone = (
        ("the mean of all encoders", "the best encoder") if mean else (gain["what"], gain["what"])
    )
    return (
        f"The common space by {space} {VERDICTS[gain['holds']]} {reference} than the encoders are"
        f" on average ({_interval(gain)}), and {VERDICTS[own['holds']]} it than {alone} alone"
        f" ({_interval(own)})."
    )


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
            "These intervals cover other test stimuli, not other trainings, since there was only"
            " one, nor other encoders."
        )
    return (
        f"These intervals cover other test stimuli and, from {seeds} runs, other trainings, but not"
        " other encoders."
    )


def _interval(gain: Mapping[Any, Any]) -> str:
    return f"{gain['value']:+.3f}, 95 % interval {gain['low']:+.3f} to {gain['high']:+.3f}".replace(
        "-", "−"
    )


def baseline_finding(summary: pd.DataFrame) -> str:
    """Say whether any method that needs no training retrieves better than the adapters, by recall
    at 10 over all directions.

    summary: as `core.questions.adapters.measures.summarize` returns it, of one number of pairs.
    """
    recalls = (
        _recalls(summary).groupby("method", sort=False)["value"].mean().round(3)
    )  # compared as they are printed
    adapters, chance, others = (
        recalls[ADAPTERS],
        recalls[CHANCE],
        recalls.drop([ADAPTERS, CHANCE]).dropna(),
    )
    if isnan(adapters):
        return "The adapters' retrieval cannot be measured."
    reached = (
        f"By recall at 10, averaged over directions, the adapters reach {adapters:.3f} (chance"
        f" {chance:.3f})"
    )
    if others.empty:
        return f"{reached}; there is no baseline to compare with."
    best = others.max()
    beside = "more than" if adapters > best else "less than" if adapters < best else "as much as"
    return (
        f"{reached}, {beside} the best method without training, {others.idxmax()}, with {best:.3f}."
    )


def lead_finding(summary: pd.DataFrame) -> list[str]:
    """Say whether adapters retrieve better than canonical correlation over several sets of
    encoders, by recall at 10 averaged over directions and trainings; nothing where no set has both.
    The interval over sets is left out where two of them share an encoder: they are not independent.
    """
    recalls = _recalls(summary).groupby([ENCODERS, "method"], sort=False)["value"].mean().unstack()
    leads = (recalls[ADAPTERS] - recalls["CCA"]).dropna()
    if leads.empty:
        return []
    low, high = (nan, nan) if _share(leads.index) else mean_interval(leads.to_numpy())
    interval = "" if isnan(low) else f", 95 % interval over sets {low:+.3f} to {high:+.3f}"
    return [
        (
            f"By recall at 10 over {counted(len(leads), 'set', 'sets')} of encoders, the adapters"
            f" reach {leads.mean():+.3f} over canonical correlation on average{interval}. They"
            f" reach at least as much in {(leads.round(3) >= 0).sum()} of {len(leads)} sets; the"
            f" lowest difference, {leads.min():+.3f}, is that of {leads.idxmin()}."
        ).replace("-0.", "−0.")
    ]


def _share(sets: Iterable[str]) -> bool:
    """Return whether an encoder, whatever its layer, is in two sets."""
    encoders = [name.rpartition(":")[0] or name for one in sets for name in one.split(" + ")]
    return len({*encoders}) < len(encoders)


def cost_finding(summary: pd.DataFrame) -> str:
    """Say what the fewest and the most training pairs reach.

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
    changes = [
        f"{name} changes from {values[few]:.3f} to {values[most]:.3f}"
        for name, values in (("alignment of the mean", align), ("recall at 10", recalls))
        if not isnan(values[few] + values[most])
    ]
    return f"From {few:,} to {most:,} pairs, {' and '.join(changes) or 'nothing can be compared'}."


def _recalls(summary: pd.DataFrame) -> pd.DataFrame:
    return summary[summary["measure"] == f"{RECALL}_10"]
