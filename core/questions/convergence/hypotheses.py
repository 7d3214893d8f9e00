"""What the hypothesis predicts, each claim with the test that decides it.

Source: Huh et al. 2024, sections 2 and 3: competence, scale, and the multitask scaling, the
capacity and the simplicity bias hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import MetricError
from core.questions.convergence.levels import (
    By,
    Kind,
    arrange,
    join_lines,
    put_on_levels,
    usual_of,
)
from core.spaces.bases import effective_rank
from core.statistics.nulls import adjust
from core.statistics.trends import DealtTrend, level_trend, recipe_trend, weak_contrast
from core.study.layers import score_matrix

SWEPT = ("weight decay", "width")
RANKS = 10  # effective ranks: the unit of the claim about simplicity
CLAIMS = {
    "competence": "More competent models are more similar",
    "capacity": "Larger models are more similar",
    "multitask": "Models of more tasks are more similar",
    "data": "Models of more data are more similar",
    "simplicity": "Simpler representations are more similar",
    "anna karenina": "Weak models are less similar to each other",
}
NO_MODELS = "no models here differ in this alone"


@dataclass(frozen=True)
class Material:
    """What all tests are made from.

    last_layer: reads the last space of a model. trainings: rows of `describe_trainings`. pairs: of
    `ModelPairs`. skill: competence by model. draws, seed: of the permutations. toward: 1 if higher
    scores mean more aligned, −1 if lower ones do.
    """

    last_layer: Callable[[str], Float32[np.ndarray, "n d"]]
    trainings: pd.DataFrame
    pairs: pd.DataFrame
    skill: pd.Series
    draws: int
    seed: int
    toward: int = 1


def run_tests(of: Material) -> pd.DataFrame:
    """Return the test of each claim, which was fixed before any was run: hypothesis, claim, unit,
    value (positive as predicted), low, high, p, q (adjusted over all), n (recipes), pairs, reason.
    """
    leveled = put_on_levels(of.trainings, "competence", of.skill)
    weak = weak_contrast(arrange(leveled, of.pairs, "all"), draws=of.draws, seed=of.seed)
    weak = replace(weak, recipes=leveled.rows["recipe"].nunique(), pairs=0)
    tests = {
        "competence": ("least to most competent", _leveled(of, "competence", "all"), 1),
        "capacity": ("smallest to largest", _leveled(of, "size", "all"), 1),
        "multitask": ("fewest to most tasks, vision", _leveled(of, "tasks", "vision"), 1),
        "data": ("least to most data, vision with language", _leveled(of, "data", "across"), 1),
        "simplicity": (f"per {RANKS} effective ranks less", _simplicity(of), -RANKS),
        "anna karenina": ("than to strong ones", weak, -1),
    }
    rows = []
    for hypothesis, (unit, trend, sign) in tests.items():
        scale = sign * of.toward
        low, high = sorted((scale * trend.low, scale * trend.high))
        rows.append(
            {
                "hypothesis": hypothesis,
                "claim": CLAIMS[hypothesis],
                "unit": unit,
                "value": scale * trend.rise if np.isfinite(trend.p) else np.nan,
                "low": low,
                "high": high,
                "p": trend.p,
                "n": trend.recipes,
                "pairs": trend.pairs,
                "reason": trend.reason or ("" if trend.recipes else NO_MODELS),
            }
        )
    table = pd.DataFrame(rows)
    table.insert(table.columns.get_loc("p") + 1, "q", adjust(table["p"].to_numpy(float)))
    return table


def _simplicity(of: Material) -> DealtTrend:
    """Return how the mean alignment with the usual models of other lines rises with the effective
    rank of the last layer, over recipes in sweeps of weight decay or width.
    """
    rows = pd.concat([_sweep(of.trainings, what) for what in SWEPT], ignore_index=True)
    lines = {line.rpartition(", ")[0] for line in rows["line"]}
    usual = of.trainings[(of.trainings["varies"] == "") & ~of.trainings["line"].isin(lines)]
    if rows.empty or usual.empty:
        return DealtTrend()
    names = list(dict.fromkeys([*rows["model"], *usual["model"]]))
    scores = pd.DataFrame(score_matrix(of.pairs, names), index=names, columns=names)
    near = scores.loc[rows["model"], usual["model"]].mean(axis=1).to_numpy(float)
    ranks = {}
    for name in dict.fromkeys(rows["model"]):
        try:
            ranks[name] = effective_rank(of.last_layer(name))
        except MetricError:
            ranks[name] = np.nan
    measured = rows.assign(value=near, over=rows["model"].map(ranks).astype(float))
    means = measured.groupby(["recipe", "line"], as_index=False)[["value", "over"]].mean()
    return recipe_trend(
        means["value"].to_numpy(float),
        means["over"].to_numpy(float),
        pd.factorize(means["line"])[0],
        draws=of.draws,
        seed=of.seed,
    )


def _leveled(of: Material, by: By, kind: Kind) -> DealtTrend:
    leveled = put_on_levels(of.trainings, by, of.skill)
    return level_trend(arrange(leveled, of.pairs, kind), draws=of.draws, seed=of.seed)


def _sweep(trainings: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return the trainings that vary in one thing with the usual ones that they vary from, in one
    line.
    """
    varied = trainings[trainings["varies"] == what]
    usual = trainings[trainings["recipe"].isin(usual_of(varied))]
    rows = join_lines(pd.concat([varied, usual]), what)
    return rows.assign(recipe=rows["recipe"] + f", {what}")
