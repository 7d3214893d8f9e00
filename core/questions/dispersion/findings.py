"""What the tables of dispersion say, in a sentence each, beside what the published work found on
photographs.

Source of the published figures: the single-stimulus method's figure 2 and its supplements 1 and 2,
over 1,024 captioned pictures of Wikipedia and four vision models: alignment on the low set is up to
twice that on the high one and higher in every model; leaving the most dispersed quarter out raises
it and leaving the least dispersed out lowers it in every model; Pearson 0.21 to 0.43.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import NormalDist

import numpy as np
import pandas as pd

from core.questions.dispersion.residuals import SHUFFLES
from core.statistics.discoveries import adjust
from core.statistics.fits import competence_fit

PUBLISHED_RATIO = 2.0  # of CKNNA
PUBLISHED_PEARSON = (0.21, 0.43)
LEVEL = 0.05  # a p-value of at most this is told apart from chance
LEAST_SETS = 39  # random ones for a two-sided p-value of LEVEL
WITHOUT_HIGH, WITHOUT_LOW = "without high", "without low"
LEAST_PARTS = 5  # for a rank correlation
MOST_NAMED = 3  # predictors, and words of each set


def tell_effect(
    effect: pd.DataFrame, titles: Mapping[str, str], *, higher_is_better: bool = True
) -> str:
    """Say in which models alignment is better on the low set, by the interval of the ratio, and how
    the largest one compares.

    Of several models the intervals are widened on the scale of logarithms, so that with no effect
    at all one or more is named in about 5 % of cases (Bonferroni; measured: 6 % of 200 simulations
    of four). effect: as `core.questions.dispersion.trials.effect` gives it; its rows of means over
    language models are read. titles: of the spaces. higher_is_better: whether a higher score is
    more aligned; of a distance a ratio below 1 is.
    """
    known = effect[(effect["set"] == "low/high") & (effect["language"] == "")].dropna(
        subset="score"
    )
    if known.empty:
        return "No ratio can be told here."
    bounded, unbounded = (
        known.dropna(subset=["low", "high"]),
        known[known[["low", "high"]].isna().any(axis=1)],
    )
    wide = _widened(bounded)
    above, below = bounded[wide["low"] > 1], bounded[wide["high"] < 1]
    better, worse = (above, below) if higher_is_better else (below, above)
    unsure = bounded.drop(index=[*above.index, *below.index])
    largest = (
        f"The largest ratio is {known['score'].max():.2f}; the published work found up to"
        f" {PUBLISHED_RATIO:g} of CKNNA."
    )
    of = f"{{}} of {len(known)} models: " if len(known) > 1 else ""
    parts = [
        _those(
            "Language agrees more where models agree with each other: the low set is better"
            f" aligned than the high one for {of}",
            better,
            titles,
        ),
        _those(f"It is the other way round, against the published work, for {of}", worse, titles),
        _those(f"The low and the high set cannot be told apart for {of}", unsure, titles),
        _those(f"There is no interval, so nothing is told, for {of}", unbounded, titles),
        (
            f"For this the intervals are widened, as {len(bounded)} models are told of at once."
            if len(bounded) > 1
            else ""
        ),
        (
            largest
            if higher_is_better
            else "A lower score is more aligned here: a ratio below 1 speaks for the low set."
        ),
    ]
    return " ".join(part for part in parts if part)


def _widened(ratios: pd.DataFrame) -> pd.DataFrame:
    """Return the bounds of 95 % intervals of ratios for as many of them at once, by the normal
    quantile of 1 − 0.05 / 2m.
    """
    if ratios.empty:
        return ratios[["low", "high"]]
    usual, wide = (NormalDist().inv_cdf(1 - LEVEL / 2 / count) for count in (1, len(ratios)))
    return (
        ratios[["low", "high"]]
        .div(ratios["score"], axis=0)
        .pow(wide / usual)
        .mul(ratios["score"], axis=0)
    )


def _those(sentence: str, rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    if rows.empty:
        return ""
    named = listed(
        f"{titles[row['vision']]} (ratio {row['score']:.2f})" for row in rows.to_dict("records")
    )
    return f"{sentence.format(len(rows))}{named}."


def tell_drop(drop: pd.DataFrame, *, repeats: int, higher_is_better: bool = True) -> str:
    """Say in how many models alignment is better without the most dispersed stimuli and worse
    without the least dispersed ones.

    Beside as many stimuli left out at random, since a metric of neighbors moves with their number;
    and in how many of these models the difference is beyond chance: p of the `repeats` random sets
    is 0.05 or less. Only where it is in both directions and every model do they do as in the
    published work: of one model without any effect the signs alone do in a quarter of cases. drop:
    as `core.questions.dispersion.trials.drop` gives it.
    """
    mean = drop[drop["language"] == ""]
    names = [WITHOUT_HIGH, WITHOUT_LOW, "without random"]
    score, p = (
        mean.pivot(index="vision", columns="set", values=value).reindex(columns=names)
        for value in ("score", "p")
    )
    score = score.dropna()
    if score.empty:
        return "What leaving stimuli out does cannot be told here."
    sign, sure = 1 if higher_is_better else -1, p.loc[score.index] <= LEVEL
    better = sign * (score[WITHOUT_HIGH] - score["without random"]) > 0
    worse = sign * (score[WITHOUT_LOW] - score["without random"]) < 0
    both, beyond = better & worse, sure[WITHOUT_HIGH] & sure[WITHOUT_LOW]
    counts = [
        f" (beyond chance in {(ways & sure[name]).sum()})"
        for name, ways in ((WITHOUT_HIGH, better), (WITHOUT_LOW, worse))
    ]
    few = (
        f" {repeats} random sets are too few to tell chance; {LEAST_SETS} are needed."
        if repeats < LEAST_SETS
        else ""
    )
    at_high, at_low = ("", "") if few else counts
    return (
        "Without the most dispersed stimuli alignment is better than without as many at random in"
        f" {better.sum()} of {len(score)} models{at_high}, without the least dispersed it is worse"
        f" in {worse.sum()} of {len(score)}{at_low}:"
        f" {_agreement(both=bool(both.all()), beyond=bool((both & beyond).all()))}.{few}"
    )


def _agreement(*, both: bool, beyond: bool) -> str:
    if both and beyond:
        return "as in the published work, and beyond chance"
    if both:
        return "in the direction of the published work, not beyond chance in every model"
    return "not as in the published work, where every model does both"


def tell_parts(by_part: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say for which models the score falls or rises along the parts, by Spearman's correlation of
    the mean over language models.

    p: as `competence_fit` gives it, exact for up to 8 parts, adjusted for the false discovery rate
    over models. by_part: as `core.questions.dispersion.trials.by_part` gives it. The parts hold
    other stimuli each, so that their scores are independent.
    """
    mean = by_part[(by_part["language"] == "") & by_part["set"].str.isdigit()].dropna(
        subset="score"
    )
    runs = {
        str(vision): run
        for vision, run in mean.groupby("vision", sort=False)
        if len(run) >= LEAST_PARTS
    }
    fits = {
        vision: competence_fit(*run[["set", "score"]].to_numpy(np.float64).T)
        for vision, run in runs.items()
    }
    found = {vision: fit for vision, fit in fits.items() if not fit.reason}
    if not found:
        return (
            f"No trend can be told: at least {LEAST_PARTS} parts with different scores are needed."
        )
    told = {
        vision: f"{titles[vision]} (ρ = {one.spearman:.2f})".replace("= -", "= −")
        for vision, one in found.items()
    }
    sure = [
        vision
        for vision, p in zip(
            found, adjust(np.array([one.p for one in found.values()])), strict=True
        )
        if p <= LEVEL
    ]
    ways = {
        "With dispersion the score falls for {}.": [
            told[each] for each in sure if found[each].spearman < 0
        ],
        "It rises for {}.": [told[each] for each in sure if found[each].spearman > 0],
        "No trend is told from chance for {}.": [
            text for vision, text in told.items() if vision not in sure
        ],
    }
    return " ".join(sentence.format(listed(names)) for sentence, names in ways.items() if names)


def tell_predictors(table: pd.DataFrame) -> str:
    """Name the predictors without which the regression loses most, of those whose interval lies
    above 0.

    None is named where all together predict nothing beyond doubt. table: as
    `core.questions.dispersion.prediction.predict` ranks them.
    """
    if not (table["r2_low"] > 0).all():
        return "So none of them is named."
    sure = table[(table["covers"] == 1) & (table["low"] > 0)].head(MOST_NAMED)
    if sure.empty:
        return "No single predictor is needed beyond doubt."
    names = (
        f"{row['predictor'].replace('_', ' ')} ({row['importance']:.2f})"
        for row in sure.to_dict("records")
    )
    return f"Most is lost without {listed(names)}."


def tell_words(table: pd.DataFrame) -> str:
    """Name the words that tell the low and the high set apart after correction. table: as
    `core.questions.dispersion.words` ranks them.
    """
    found = table[table["p_adjusted"] <= LEVEL]
    if found.empty:
        return f"None of {len(table)} words tells the two sets apart."
    low = found["in_low"] / found["low"] > found["in_high"] / found["high"]
    sides = {
        name: found.loc[rows, "word"].head(MOST_NAMED)
        for name, rows in (("low", low), ("high", ~low))
    }
    named = (
        f"{listed(f'“{word}”' for word in words)} in the {name} set"
        for name, words in sides.items()
        if len(words)
    )
    return (
        f"Words that tell the two sets apart: {len(found)} of {len(table)}, above all"
        f" {'; '.join(named)}."
    )


def tell_held_out(fits: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say how a model's deviation goes with the dispersion of the others, and how far the
    correlations are the published ones.

    They go together where Pearson's interval lies above 0 and r is beyond what it is with the
    model's stimuli shuffled (one-sided p ≤ 0.05, adjusted for the false discovery rate over
    models); inversely where both hold on the other side. Of four spaces that share nothing one or
    more is named in 3 to 4 % of simulations; by intervals alone in most. fits: as
    `core.study.consensus.held_out_fits` gives it.
    """
    known = fits.dropna(subset=["pearson", "pearson_low", "pearson_high", "shuffled_p"])
    if known.empty:
        return "No correlation can be told here."
    together = known[(known["pearson_low"] > 0) & (adjust(known["shuffled_p"].to_numpy()) <= LEVEL)]
    below = (1 + 1 / (SHUFFLES + 1) - known["shuffled_p"]).clip(
        upper=1
    )  # of the other tail: each draw lies on one side of r
    inverse = known[(known["pearson_high"] < 0) & (adjust(below.to_numpy()) <= LEVEL)]
    unsure = known.drop(index=[*together.index, *inverse.index])
    published = f"the published work found {PUBLISHED_PEARSON[0]} to {PUBLISHED_PEARSON[1]}"
    partial = (
        f", {_span(known['partial'])} given the norm of the others' consensus"
        if known["partial"].notna().all()
        else ""
    )
    shuffled = f"{_span(known['shuffled'])} with the model's stimuli shuffled"
    which = (
        "in every model"
        if len(together) == len(known)
        else f"in {len(together)} of {len(known)} models"
    )
    parts = [
        (
            "What is dispersed for the others is dispersed for the model that is left out,"
            f" {which}."
            if len(together)
            else ""
        ),
        _pointed("It is the other way round, against the published work, for {}", inverse, titles),
        _pointed(
            "The others' dispersion tells that of {} no better than chance, unlike in the published"
            " work",
            unsure,
            titles,
        ),
        f"Pearson is {_span(known['pearson'])}{partial}, and {shuffled}; {published}.",
    ]
    return " ".join(part for part in parts if part)


def _pointed(sentence: str, rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    return (
        f"{sentence.format(listed(titles[space] for space in rows['space']))}." if len(rows) else ""
    )


def _span(values: pd.Series) -> str:
    """Return the least and the greatest of some numbers, for a sentence."""
    ends = dict.fromkeys(f"{value:.2f}".replace("-", "−") for value in (values.min(), values.max()))
    return " to ".join(ends)


def listed(names: Iterable[str]) -> str:
    """Return names in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
