"""Does a caption that says more align better? Alignment by caption level, over language models that
read every level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import InputError
from core.statistics.intervals import LEVEL
from core.statistics.nulls import adjust

LEAST_FAMILIES, LEAST_LEVELS = 2, 3  # of a trend test
ESTIMATES = ("slope", "low", "high", "rho", "p")
COLUMNS = ("model_y", "models", "families", "levels", *ESTIMATES, "reason")


def by_level(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per target and level, from the fewest words to the most: words, mean, deviation,
    models, chance.

    mean and deviation (n − 1; NaN for one): of the scores over language models. rows: model, level,
    words, model_y, score, chance; those without a score are left out. Source: Huh et al. 2024,
    figure 9 (deviation over language models).
    """
    scored = rows.dropna(subset="score")
    table = scored.groupby(["model_y", "level"], sort=False).agg(
        words=("words", "first"),
        mean=("score", "mean"),
        deviation=("score", "std"),
        models=("model", "nunique"),
        chance=("chance", "mean"),
    )
    return table.reset_index().sort_values(["model_y", "words"], kind="stable", ignore_index=True)


def by_group(rows: pd.DataFrame, groups: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows with each language model's mean score over the targets of a group in place of
    them; see `level_trends`.

    groups: of each target, its objective say. A target without one is left out.
    """
    named = rows.assign(model_y=rows["model_y"].map(groups)).dropna(subset=["model_y", "score"])
    keys = ["model", "level", "words", "model_y"]
    return (
        named.groupby(keys, sort=False)
        .agg(score=("score", "mean"), chance=("chance", "mean"))
        .reset_index()
    )


def told_by_group(points: pd.DataFrame, groups: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of `core.questions.captions.answer.compare_told` with the mean over the
    targets of a group in place of them.

    groups: of each target. The bins of a level are the same stimuli for all targets.
    """
    named = points.assign(model_y=points["model_y"].map(groups)).dropna(subset="model_y")
    return named.groupby(["model_y", "level", "facts"], sort=False, as_index=False)[
        ["score", "stimuli", "chance"]
    ].mean()


def level_trends(rows: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """Test for each target whether alignment goes with the number of words, paired over families
    that have equal levels.

    A family's score at a level is the mean over its language models: they share how they were made,
    so each alone is no sample. slope: how much the score changes when the words double, by least
    squares over log₂ words for each family, then their mean; low, high: its 95 % interval by
    Student's t over the families. p: Page's test that every family ranks the levels by their words
    or against them, two-sided (twice the smaller one-sided p); rho: its direction, from -1 to 1,
    the mean over the families of the rank correlation ρ = 12 L / (m n (n² − 1)) − 3 (n + 1) / (n −
    1) of m families, n levels and Page's statistic L. p_adjusted: for the false discovery rate over
    the targets of these rows that have a p, one test each. All of this is about these captions:
    what moves every family at a level and comes of no words, a quirk of how its captions were
    written, passes for a trend. Where it makes .1, .3, .5 or .7 of the variance of scores
    without a trend, p is below .05 in 8, 16, 21 or 32 of 100 (simulated, four families of 3, 3, 3
    and 1 models at four levels), more often for more families. Where some models lack levels, the
    levels are those of a model for which models that have them × levels is largest. Levels of
    equally many words, such as captions joined and apart, count as one; one without words, of emoji
    say, has no log₂. rows: model, level, words, model_y, score. families: of each model; one
    without is its own. Returns model_y, models, families, levels, slope, low, high, rho, p,
    p_adjusted, reason; NaN with a reason below two families or three levels. Raises InputError for
    a model that has two rows of one level and target. Source: Page 1963.
    """
    twice = rows.loc[rows.duplicated(["model_y", "model", "level"]), ["model", "level", "model_y"]]
    if len(twice):
        model, level, target = twice.iloc[0]
        raise InputError(
            f"expected one score of {model} at level {level!r} with {target}; got several: leave"
            " all but one out"
        )
    estimates = [
        {"model_y": str(target), **_trend(_paired(part, families), families)}
        for target, part in rows.groupby("model_y", sort=False)
    ]
    table = pd.DataFrame(estimates, columns=list(COLUMNS)).astype(
        dict.fromkeys(ESTIMATES, np.float64)
    )
    table.insert(COLUMNS.index("p") + 1, "p_adjusted", adjust(table["p"].to_numpy()))
    return table


def _paired(rows: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """Return a row per language model that has every level and a column per number of words,
    rising: levels of one are averaged.
    """
    every = rows[rows["words"] > 0].pivot(index="model", columns="level", values="score")
    offered = [every.loc[:, has].dropna() for has in every.notna().to_numpy() if has.any()]
    table = max(
        offered,
        key=lambda kept: (_enough(_by_family(kept, families)), kept.size, kept.shape[1]),
        default=every.dropna(),
    )
    words = rows.groupby("level")["words"].first()
    return table.set_axis(words[table.columns], axis=1).T.groupby(level=0).mean().T


def _by_family(table: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    return table.groupby([families.get(name, name) for name in table.index]).mean()


def _enough(table: pd.DataFrame) -> bool:
    families, levels = table.shape
    return families >= LEAST_FAMILIES and levels >= LEAST_LEVELS


def _trend(scores: pd.DataFrame, families: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of a target; scores: a row per model, a column per number of words."""
    table = _by_family(scores, families)
    count, levels = table.shape
    about = {"models": len(scores), "families": count, "levels": levels}
    if not _enough(table):
        wanted = (
            f"a trend needs language models of {LEAST_FAMILIES} families at {LEAST_LEVELS} caption"
            " levels"
        )
        return {**about, "reason": f"{wanted}; here {count} at {levels}"}
    from scipy.stats import (  # a third of a second that pages without a trend must not pay
        page_trend_test,
        t,
    )

    ranked, doublings = table.to_numpy(np.float64), np.log2(table.columns.to_numpy(np.float64))
    slopes = _slopes(ranked, doublings)
    half, middle = (
        t.ppf((1 + LEVEL) / 2, count - 1) * slopes.std(ddof=1) / np.sqrt(count),
        slopes.mean(),
    )
    rising, falling = (page_trend_test(part) for part in (ranked, ranked[:, ::-1]))
    rho = 12 * rising.statistic / (count * levels * (levels**2 - 1)) - 3 * (levels + 1) / (
        levels - 1
    )
    p = min(1.0, 2 * min(rising.pvalue, falling.pvalue))
    return {
        **about,
        "slope": middle,
        "low": middle - half,
        "high": middle + half,
        "rho": rho,
        "p": p,
        "reason": "",
    }


def _slopes(
    scores: Float64[np.ndarray, "families levels"], x: Float64[np.ndarray, "levels"]
) -> Float64[np.ndarray, "families"]:
    around = x - x.mean()
    slopes: np.ndarray = scores @ around / (around @ around)
    return slopes


def by_share(
    facts: Float64[np.ndarray, "n"],
    scores: Float64[np.ndarray, "n"],
    *,
    edges: Float64[np.ndarray, "edges"],
    fewest: int,
) -> pd.DataFrame:
    """Return what stimuli score by how much their captions tell, a row per bin of at least
    `fewest`: facts, score, stimuli.

    facts: the share that its caption tells, 0 … 1. scores: each stimulus's own. Both come as means
    over the bin. edges: of the bins, rising.
    """
    bins = np.clip(np.digitize(facts, edges) - 1, 0, len(edges) - 2)
    table = pd.DataFrame({"bin": bins, "facts": facts, "score": scores}).groupby("bin")
    means = table.agg(facts=("facts", "mean"), score=("score", "mean"), stimuli=("facts", "size"))
    return means[means["stimuli"] >= fewest].reset_index(drop=True)
