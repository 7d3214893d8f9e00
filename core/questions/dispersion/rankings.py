"""Both published ways to rank stimuli, beside each other: the mean of their residuals, and the
first principal component.
"""

from __future__ import annotations

import pandas as pd
from scipy.stats import spearmanr

from core.figures.numbers import share_text
from core.progress import Progress
from core.questions.asking import ask
from core.questions.dispersion.question import DispersionRankings, StimulusDispersion
from core.study.selections import ends, random_sets
from core.study.study import Study

RANKINGS = {"mean": "mean over models", "pc1": "first component"}  # as published


def rank_stimuli(
    question: DispersionRankings, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Return a row per stimulus with its residuals and its place in both rankings.

    Columns index, stimulus, of each of RANKINGS its value, rank_… (1 is the least dispersed) and
    set_… (low, high or empty), random (whether the random set has it, the first of those that
    `dispersion effect` draws with this seed), a column of residuals per space, and explained (the
    share of their variance along the first component).
    """
    dispersed = ask(StimulusDispersion(question.scope, question.joint), study, report)
    size, table = question.size or 0, dispersed[["index", "stimulus"]].copy()
    for by in RANKINGS:
        low, high = ends(dispersed[by].to_numpy(), size)
        table[by] = dispersed[by]
        table[f"rank_{by}"] = dispersed[by].rank(method="first").astype(int)
        table[f"set_{by}"] = ""
        table.loc[low, f"set_{by}"], table.loc[high, f"set_{by}"] = "low", "high"
    (drawn,) = random_sets(len(table), size, count=1, seed=question.seed)
    table["random"] = table.index.isin(drawn)
    return pd.concat([table, dispersed[[*question.joint.spaces, "explained"]]], axis=1)


def compare_rankings(table: pd.DataFrame) -> list[str]:
    """Say how far both rankings agree, and what the first component leaves out."""
    size = int((table["set_mean"] == "low").sum())
    kept = {
        name: int(((table["set_mean"] == name) & (table["set_pc1"] == name)).sum())
        for name in ("low", "high")
    }
    order = spearmanr(table["mean"], table["pc1"]).statistic
    return [
        f"Both rankings share {kept['low']:,} of {size:,} stimuli of the low set and"
        f" {kept['high']:,} of the high set; over all stimuli Spearman's ρ is {order:.2f}.",
        f"The first component holds {share_text(table['explained'].iloc[0])} of the variance of the"
        " residuals; the mean counts the rest, too.",
    ]
