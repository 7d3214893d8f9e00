"""What the tables of dispersion say, in a sentence each, beside what the published work found on photographs.

Source of the published figures: the single-stimulus method's figure 2 and its supplements 1 and 2, over 1,024 captioned pictures of
Wikipedia and four vision models: alignment on the low set is up to twice that on the high one and higher in every model; leaving
the most dispersed quarter out raises it and leaving the least dispersed out lowers it in every model; Pearson 0.21 to 0.43.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

PUBLISHED_RATIO = 2.0  # of CKNNA
PUBLISHED_PEARSON = (0.21, 0.43)
LEVEL = 0.05  # a p-value below it is told apart from chance
LEAST_PARTS = 5  # for a rank correlation
MOST_NAMED = 3  # predictors, and words of each set


def tell_effect(effect: pd.DataFrame, titles: Mapping[str, str], *, higher_is_better: bool = True) -> str:
    """Say in which models alignment is better on the low set, by the interval of the ratio, and how the largest one compares.

    effect: as `core.studies.trials.effect` gives it; its rows of means over language models are read. titles: of the spaces.
    higher_is_better: whether a higher score is more aligned; of a distance a ratio below 1 is.
    """
    known = effect[(effect["set"] == "low/high") & (effect["language"] == "")].dropna(subset="score")
    if known.empty:
        return "No ratio can be told here."
    above, below = known[known["low"] > 1], known[known["high"] < 1]
    better, worse = (above, below) if higher_is_better else (below, above)
    unsure = known.drop(index=[*above.index, *below.index])
    largest = f"The largest ratio is {known['score'].max():.2f}; the published work found up to {PUBLISHED_RATIO:g} of CKNNA."
    parts = [
        _those("Language agrees more where models agree with each other: the low set is better aligned than the high one for {}",
               better, titles),
        _those("It is the other way round, against the published work, for {}", worse, titles),
        _those("The low and the high set cannot be told apart for {}", unsure, titles),
        largest if higher_is_better else "A lower score is more aligned here: a ratio below 1 speaks for the low set.",
    ]  # fmt: skip
    return " ".join(part for part in parts if part)


def _those(sentence: str, rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    if rows.empty:
        return ""
    return sentence.format(listed(f"{titles[row['vision']]} (ratio {row['score']:.2f})" for row in rows.to_dict("records"))) + "."


def tell_drop(drop: pd.DataFrame, *, higher_is_better: bool = True) -> str:
    """Say in how many models alignment is better without the most dispersed stimuli and worse without the least dispersed ones.

    Beside as many stimuli left out at random, since a metric of neighbors moves with their number; and in how many of these models
    the difference is beyond that of random sets. drop: as `core.studies.trials.drop` gives it.
    """
    mean = drop[drop["language"] == ""]
    score, p = (mean.pivot(index="vision", columns="set", values=value) for value in ("score", "p"))
    score = score.dropna(subset=["without high", "without low", "without random"])
    if score.empty:
        return "What leaving stimuli out does cannot be told here."
    sign, sure = 1 if higher_is_better else -1, p.loc[score.index] < LEVEL
    better = sign * (score["without high"] - score["without random"]) > 0
    worse = sign * (score["without low"] - score["without random"]) < 0
    agrees = "as in the published work" if (better & worse).all() else "not as in the published work, where every model does both"
    return (
        f"Without the most dispersed stimuli alignment is better than without as many at random in {better.sum()} of {len(score)} "
        f"models (beyond 95 % of the random sets in {(better & sure['without high']).sum()}), without the least dispersed it is "
        f"worse in {worse.sum()} of {len(score)} (in {(worse & sure['without low']).sum()}): {agrees}."
    )


def tell_parts(by_part: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say for which models the score falls or rises along the parts, by Spearman's correlation of the mean over language models.

    by_part: as `core.studies.trials.by_part` gives it. The parts hold other stimuli each, so that their scores are independent.
    """
    from scipy.stats import spearmanr  # a third of a second that pages without it must not pay

    mean = by_part[(by_part["language"] == "") & by_part["set"].str.isdigit()].dropna(subset="score")
    runs = {str(vision): run for vision, run in mean.groupby("vision", sort=False) if len(run) >= LEAST_PARTS}
    found = {vision: spearmanr(run["set"].astype(int), run["score"]) for vision, run in runs.items() if run["score"].nunique() > 1}
    if not found:
        return f"No trend can be told: at least {LEAST_PARTS} parts with different scores are needed."
    told = {vision: f"{titles[vision]} (ρ = {one.statistic:.2f})".replace("= -", "= −") for vision, one in found.items()}
    sure = [vision for vision, one in found.items() if one.pvalue < LEVEL]
    ways = {
        "With dispersion the score falls for {}.": [told[each] for each in sure if found[each].statistic < 0],
        "It rises for {}.": [told[each] for each in sure if found[each].statistic > 0],
        "No trend is told from chance for {}.": [text for vision, text in told.items() if vision not in sure],
    }
    return " ".join(sentence.format(listed(names)) for sentence, names in ways.items() if names)


def tell_predictors(table: pd.DataFrame) -> str:
    """Name the predictors without which the regression loses most, of those whose interval lies above 0.

    table: as `core.analyses.prediction.predict` ranks them.
    """
    sure = table[(table["covers"] == 1) & (table["low"] > 0)].head(MOST_NAMED)
    if sure.empty:
        return "No single predictor is needed beyond doubt."
    names = (f"{row['predictor'].replace('_', ' ')} ({row['importance']:.2f})" for row in sure.to_dict("records"))
    return f"Most is lost without {listed(names)}."


def tell_words(table: pd.DataFrame) -> str:
    """Name the words that tell the low and the high set apart after correction. table: as `core.analyses.enriched` ranks them."""
    found = table[table["p_adjusted"] <= LEVEL]
    if found.empty:
        return f"None of {len(table)} words tells the two sets apart."
    low = found["in_low"] / found["low"] > found["in_high"] / found["high"]
    sides = {name: found.loc[rows, "word"].head(MOST_NAMED) for name, rows in (("low", low), ("high", ~low))}
    named = (f"{listed(f'“{word}”' for word in words)} in the {name} set" for name, words in sides.items() if len(words))
    return f"Words that tell the two sets apart: {len(found)} of {len(table)}, above all {'; '.join(named)}."


def tell_held_out(fits: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say how a model's deviation goes with the dispersion of the others, and how far the correlations are the published ones.

    fits: as `core.studies.consensus.held_out_fits` gives it.
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
