"""What the tables of dispersion say, in a sentence each, beside what the published work found on photographs.

Source of the published figures: the single-stimulus method's figure 2 and its supplements 1 and 2, over 1,024 captioned pictures of
Wikipedia and four vision models: alignment on the low set is up to twice that on the high one and higher in every model; leaving
the most dispersed quarter out raises it and leaving the least dispersed out lowers it in every model; Pearson 0.21 to 0.43.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

PUBLISHED_RATIO = 2.0
PUBLISHED_PEARSON = (0.21, 0.43)


def tell_effect(effect: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say in which models alignment is higher on the low set, by the interval of the ratio, and how the largest one compares.

    effect: as `core.trials.effect` gives it; its rows of means over language models are read. titles: of the spaces.
    """
    known = effect[(effect["set"] == "low/high") & (effect["language"] == "")].dropna(subset="score")
    if known.empty:
        return "No ratio can be told here."
    higher, lower = known[known["low"] > 1], known[known["high"] < 1]
    unsure = known.drop(index=[*higher.index, *lower.index])
    parts = [
        _those("Language agrees more where models agree with each other: the low set is better aligned than the high one for {}",
               higher, titles),
        _those("It is the other way round, against the published work, for {}", lower, titles),
        _those("The ratio cannot be told from 1 for {}", unsure, titles),
        f"The largest ratio is {known['score'].max():.2f}; the published work found up to {PUBLISHED_RATIO:g}.",
    ]  # fmt: skip
    return " ".join(part for part in parts if part)


def _those(sentence: str, rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    if rows.empty:
        return ""
    return sentence.format(listed(f"{titles[row['vision']]} ({row['score']:.2f})" for row in rows.to_dict("records"))) + "."


def tell_drop(drop: pd.DataFrame) -> str:
    """Say in how many models alignment rises without the most dispersed stimuli and falls without the least dispersed ones.

    Beside as many stimuli left out at random, since a metric of neighbors moves with their number. drop: as `core.trials.drop`
    gives it.
    """
    mean = drop[drop["language"] == ""].pivot(index="vision", columns="set", values="score")
    mean = mean.dropna(subset=["without high", "without low", "without random"])
    if mean.empty:
        return "What leaving stimuli out does cannot be told here."
    rises = int((mean["without high"] > mean["without random"]).sum())
    falls = int((mean["without low"] < mean["without random"]).sum())
    whole = rises == falls == len(mean)
    agrees = "as in the published work" if whole else "against the published work, where every model does both"
    return (
        f"Without the most dispersed stimuli alignment is higher than without as many at random in {rises} of {len(mean)} models, "
        f"without the least dispersed it is lower in {falls} of {len(mean)}: {agrees}."
    )


def tell_held_out(fits: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say how a model's deviation goes with the dispersion of the others, and how far the correlations are the published ones.

    fits: as `core.consensus.held_out_fits` gives it.
    """
    known = fits.dropna(subset="pearson")
    if known.empty:
        return "No correlation can be told here."
    least, most = known["pearson"].min(), known["pearson"].max()
    span = (f"{least:.2f}" if len(known) == 1 else f"{least:.2f} to {most:.2f}").replace("-", "−")
    published = f"the published work found {PUBLISHED_PEARSON[0]} to {PUBLISHED_PEARSON[1]}"
    weak = known[known["pearson_low"] <= 0]
    if weak.empty:
        said = "What is dispersed for the others is dispersed for the model that is left out, in every model"
    else:
        left = listed(titles[space] for space in weak["space"])
        said = f"The others' dispersion does not tell that of {left}, against the published work; over all models"
    return f"{said}: Pearson {span}; {published}."


def listed(names: Iterable[str]) -> str:
    """Return names in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
