"""What the tables of dispersion say in plain sentences, beside what the published work found on
photographs.

Source of the published figures: the single-stimulus method's figure 2 and its supplements 1 and 2,
over 1,024 captioned pictures of Wikipedia and four vision models: alignment on the low set is up to
twice that on the high one and higher in every model; leaving the most dispersed quarter out raises
it and leaving the least dispersed out lowers it in every model; Pearson 0.21 to 0.43.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pandas as pd

from core.figures.numbers import share_text
from core.questions.dispersion.residuals import SHUFFLES
from core.questions.sentences import listed
from core.statistics.correlations import LEAST_MODELS, Fit, competence_fit
from core.statistics.nulls import adjust

PUBLISHED_RATIO = 2.0  # of CKNNA
PUBLISHED_PEARSON = (0.21, 0.43)
LEVEL = 0.05  # of p: at most this is beyond chance
LEAST_SETS = 39  # random ones for a two-sided p-value of LEVEL
WITHOUT_HIGH, WITHOUT_LOW = "without high", "without low"
MOST_NAMED = 3  # predictors, and words of each set
BETTER = "the low set is better aligned than the high one"


def effect(table: pd.DataFrame, *, higher_is_better: bool = True) -> list[str]:
    """Say in which models alignment is better on the low set, by the interval of the ratio, and how
    the largest one compares.

    Of several models the intervals are widened on the scale of logarithms, so that with no effect
    at all one or more is named in about 5 % of cases (Bonferroni; measured: 6 % of 200 simulations
    of four). table: as `dispersion effect` has it, models by the names that the sentences use; its
    rows of means over language models are read. higher_is_better: whether a higher score is more
    aligned; of a distance a ratio below 1 is.
    """
    means = table[(table["set"] == "low/high") & (table["language"] == "")]
    ratios = means.dropna(subset="score")
    if ratios.empty:
        return ["No ratio could be computed here."]
    bounded = ratios.dropna(subset=["low", "high"])
    wide = _widened(bounded)
    above, below = bounded[wide["low"] > 1], bounded[wide["high"] < 1]
    better, worse = (above, below) if higher_is_better else (below, above)
    unsure = bounded.drop(index=[*above.index, *below.index])
    of = f"{{}} of {len(ratios)} models: " if len(ratios) > 1 else ""
    sentences = [
        _those(f"Models align better with language where they agree: {BETTER} for {of}", better),
        _those(f"The reverse holds for {of}", worse),
        _those(f"The low and the high set cannot be distinguished for {of}", unsure),
        _those(f"Without an interval, nothing can be said for {of}", ratios.drop(bounded.index)),
    ]
    if len(bounded) > 1:
        sentences.append(
            f"Because {len(bounded)} models are tested, this is judged by wider intervals than the"
            " 95 % ones drawn."
        )
    return [*filter(None, sentences), _extreme(ratios, higher_is_better=higher_is_better)]


def _extreme(ratios: pd.DataFrame, *, higher_is_better: bool) -> str:
    if not higher_is_better:
        return "Lower scores are more aligned here, so a ratio below 1 favors the low set."
    return (
        f"The largest ratio is {ratios['score'].max():.2f}; the published work found up to"
        f" {PUBLISHED_RATIO:g} with CKNNA."
    )


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


def _those(sentence: str, rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    named = listed(f"{row['vision']} (ratio {row['score']:.2f})" for row in rows.to_dict("records"))
    return f"{sentence.format(len(rows))}{named}."


def drop(table: pd.DataFrame, *, repeats: int, higher_is_better: bool = True) -> list[str]:
    """Say in how many models alignment is better without the most dispersed stimuli and worse
    without the least dispersed ones.

    Beside as many stimuli left out at random, since a metric of neighbors moves with their number;
    and in how many of these models the difference is beyond chance: p of the `repeats` random sets
    is 0.05 or less. Of one model without any effect the signs alone are so in a quarter of cases.
    table: as `dispersion drop` has it.
    """
    mean = table[table["language"] == ""]
    names = [WITHOUT_HIGH, WITHOUT_LOW, "without random"]
    score, p = (
        mean.pivot(index="vision", columns="set", values=value).reindex(columns=names)
        for value in ("score", "p")
    )
    score = score.dropna()
    if score.empty:
        return ["The effect of leaving stimuli out could not be computed here."]
    sign, sure = 1 if higher_is_better else -1, p.loc[score.index] <= LEVEL
    better = sign * (score[WITHOUT_HIGH] - score["without random"]) > 0
    worse = sign * (score[WITHOUT_LOW] - score["without random"]) < 0
    both, beyond = better & worse, sure[WITHOUT_HIGH] & sure[WITHOUT_LOW]
    enough = repeats >= LEAST_SETS
    at_high, at_low = (
        f" (beyond chance in {(ways & sure[name]).sum()})" if enough else ""
        for name, ways in ((WITHOUT_HIGH, better), (WITHOUT_LOW, worse))
    )
    sentence = (
        f"Compared with leaving out random stimuli, alignment is better without the most dispersed"
        f" ones in {better.sum()} of {len(score)} models{at_high} and worse without the least"
        f" dispersed ones in {worse.sum()} of {len(score)}{at_low}:"
        f" {_agreement(both=bool(both.all()), beyond=bool((both & beyond).all()))}."
    )
    few = f"{repeats} random sets are too few to judge chance; {LEAST_SETS} are needed."
    return [sentence] if enough else [sentence, few]


def _agreement(*, both: bool, beyond: bool) -> str:
    if both and beyond:
        return "both in every model, and beyond chance"
    if both:
        return "both in every model, not beyond chance in every one"
    return "not both in every model, where the published work's four did both"


def parts(table: pd.DataFrame) -> list[str]:
    """Say for which models the score falls or rises along the parts, by Spearman's correlation of
    the mean over language models.

    p: as `competence_fit` gives it, exact for up to 8 parts, adjusted for the false discovery rate
    over models. table: as `dispersion parts` has it. The parts hold other stimuli each, so that
    their scores are independent.
    """
    fits = _fits(table)
    if not fits:
        return [f"No trend can be tested: it takes {LEAST_MODELS} parts with different scores."]
    p = adjust(np.array([fit.p for fit in fits.values()]))
    sure = {vision for vision, one in zip(fits, p, strict=True) if one <= LEVEL}
    falls = [vision for vision in fits if vision in sure and fits[vision].spearman < 0]
    rises = [vision for vision in fits if vision in sure and fits[vision].spearman > 0]
    ways = {
        "The score falls with dispersion for {}.": falls,
        "It rises for {}.": rises,
        "No trend can be distinguished from chance for {}.": [
            vision for vision in fits if vision not in sure
        ],
    }
    return [
        sentence.format(listed(_with_rho(vision, fits[vision]) for vision in those))
        for sentence, those in ways.items()
        if those
    ]


def _fits(table: pd.DataFrame) -> dict[str, Fit]:
    """Return each model's trend along the parts, where there is one."""
    mean = table[(table["language"] == "") & table["set"].str.isdigit()].dropna(subset="score")
    fits = {
        str(vision): competence_fit(*run[["set", "score"]].to_numpy(np.float64).T)
        for vision, run in mean.groupby("vision", sort=False)
    }
    return {vision: fit for vision, fit in fits.items() if not fit.reason}


def _with_rho(vision: str, fit: Fit) -> str:
    return f"{vision} (ρ = {_number(fit.spearman)})"


def predictors(table: pd.DataFrame) -> list[str]:
    """Say how much of the dispersion all predictors predict, and name those without which the
    regression loses most, of those whose interval lies above 0.

    None is named where all together predict nothing beyond doubt. table: as
    `core.questions.dispersion.prediction.regression.predict` ranks them.
    """
    return [prediction(table), needed(table)]


def prediction(table: pd.DataFrame) -> str:
    """Say how much of the target the predictors predict together."""
    r2, low, high = table[["r2", "r2_low", "r2_high"]].iloc[0]
    interval = f"95 % interval {_number(low)} to {_number(high)}"
    bounds = "without an interval" if np.isnan(low) else interval
    span = f"R² {_number(r2)} on held-out stimuli, {bounds}"
    if np.isnan(r2):
        return f"No predictor can be used: {table['reason'].iloc[0]}."
    if not low > 0:  # NaN is not above 0 either
        return f"Together these predictors have no significant predictive power: {span}."
    return f"Together these predictors predict {share_text(r2)} of the variance: {span}."


def needed(table: pd.DataFrame) -> str:
    """Name the predictors that the regression needs most."""
    if not (table["r2_low"] > 0).all():
        return "So no single predictor is named."
    sure = table[(table["covers"] == 1) & (table["low"] > 0)].head(MOST_NAMED)
    if sure.empty:
        return "No single predictor is significant."
    names = (
        f"{row['predictor'].replace('_', ' ')} ({row['importance']:.2f})"
        for row in sure.to_dict("records")
    )
    return f"The prediction loses most without {listed(names)}."


def words(table: pd.DataFrame) -> list[str]:
    """Name the words that distinguish the low and the high set after correction. table: as
    `core.questions.dispersion.prediction.words` ranks them.
    """
    sure = table[table["p_adjusted"] <= LEVEL]
    if sure.empty:
        return [f"None of {len(table)} words distinguishes the two sets."]
    low = sure["in_low"] / sure["low"] > sure["in_high"] / sure["high"]
    sides = {
        name: sure.loc[rows, "word"].head(MOST_NAMED)
        for name, rows in (("low", low), ("high", ~low))
    }
    named = (
        f"{listed(f'“{word}”' for word in side)} in the {name} set"
        for name, side in sides.items()
        if len(side)
    )
    which = f"Words that distinguish the two sets: {len(sure)} of {len(table)}"
    return [f"{which}, above all {'; '.join(named)}."]


def held_out(table: pd.DataFrame) -> list[str]:
    """Say how a model's deviation goes with the dispersion of the others, and how far the
    correlations are the published ones.

    They go together where Pearson's interval lies above 0 and r is beyond what it is with the
    model's stimuli shuffled (one-sided p ≤ 0.05, adjusted for the false discovery rate over
    models); inversely where both hold on the other side. Of four spaces that share nothing one or
    more is named in 3 to 4 % of simulations; by intervals alone in most. table: as `dispersion
    held-out` has it.
    """
    fits = table.dropna(subset=["pearson", "pearson_low", "pearson_high", "shuffled_p"])
    if fits.empty:
        return ["No correlation could be computed here."]
    together = fits[(fits["pearson_low"] > 0) & (adjust(fits["shuffled_p"].to_numpy()) <= LEVEL)]
    # of the other tail: each draw lies on one side of r
    below = (1 + 1 / (SHUFFLES + 1) - fits["shuffled_p"]).clip(upper=1)
    inverse = fits[(fits["pearson_high"] < 0) & (adjust(below.to_numpy()) <= LEVEL)]
    unsure = fits.drop(index=[*together.index, *inverse.index])
    every = len(together) == len(fits)
    which = "in every model" if every else f"in {len(together)} of {len(fits)} models"
    sentences = [
        f"Stimuli that are dispersed for the others are so for the held-out model, too, {which}."
        if len(together)
        else "",
        _pointed("The reverse holds for {}", inverse),
        _pointed("The dispersion of the others predicts that of {} no better than chance", unsure),
        _correlations(fits),
    ]
    return [*filter(None, sentences)]


def _correlations(fits: pd.DataFrame) -> str:
    partial = (
        f", {_span(fits['partial'])} given the norm of the others' consensus"
        if fits["partial"].notna().all()
        else ""
    )
    shuffled = f"{_span(fits['shuffled'])} with the model's stimuli shuffled"
    published = f"the published work found {PUBLISHED_PEARSON[0]} to {PUBLISHED_PEARSON[1]}"
    return f"Pearson's r is {_span(fits['pearson'])}{partial}, and {shuffled}; {published}."


def _pointed(sentence: str, rows: pd.DataFrame) -> str:
    return f"{sentence.format(listed(rows['space']))}." if len(rows) else ""


def _span(values: pd.Series) -> str:
    """Return the least and the greatest of some numbers, for a sentence."""
    return " to ".join(dict.fromkeys(map(_number, (values.min(), values.max()))))


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
