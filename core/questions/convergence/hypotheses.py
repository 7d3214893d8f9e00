"""What the hypothesis predicts, each claim with the one test that decides it and others next to it.

Source: Huh et al. 2024, sections 2 and 3: competence, scale, and the multitask scaling, the
capacity and the simplicity bias hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from core.errors import MetricError
from core.questions.convergence.levels import (
    KINDS,
    By,
    Kind,
    arrange,
    join_lines,
    put_on_levels,
    usual_of,
)
from core.spaces.bases import effective_rank, participation_ratio
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


@dataclass(frozen=True)
class Test:
    """One test of a claim. scale: brings the trend to the unit, positive as predicted."""

    hypothesis: str
    unit: str
    trend: DealtTrend
    scale: int
    decides: bool = False


def run_tests(of: Material) -> pd.DataFrame:
    """Return a row per test, those that decide a claim first; which do was fixed before any was
    run: hypothesis, claim, unit, decides, value (of the trend, positive as predicted), low, high,
    p, q (p adjusted over those that decide), n (recipes), pairs, reason.
    """
    tests = sorted(_tests(of), key=lambda test: not test.decides)
    rows = []
    for test in tests:
        trend = test.trend
        low, high = sorted((test.scale * trend.low, test.scale * trend.high))
        rows.append(
            {
                "hypothesis": test.hypothesis,
                "claim": CLAIMS[test.hypothesis],
                "unit": test.unit,
                "decides": test.decides,
                "value": test.scale * trend.rise if np.isfinite(trend.p) else np.nan,
                "low": low,
                "high": high,
                "p": trend.p,
                "n": trend.recipes,
                "pairs": trend.pairs,
                "reason": trend.reason or ("" if trend.recipes else NO_MODELS),
            }
        )
    table = pd.DataFrame(rows)
    q = np.full(len(table), np.nan)
    decides = table["decides"].to_numpy(bool)
    q[decides] = adjust(table.loc[decides, "p"].to_numpy(float))
    table.insert(table.columns.get_loc("p") + 1, "q", q)
    return table


def _tests(of: Material) -> Iterator[Test]:
    toward = of.toward
    skilled = _leveled(of, "competence", "all")
    yield Test("competence", "least to most competent", skilled, toward, decides=True)
    for kind, title in KINDS.items():
        trend = _leveled(of, "size", kind)
        yield Test("capacity", f"smallest to largest, {title}", trend, toward, kind == "all")
    trend = _leveled(of, "tasks", "vision")
    yield Test("multitask", "fewest to most tasks, vision", trend, toward, decides=True)
    rows, usual = (of.trainings[of.trainings["varies"] == what] for what in ("tasks", ""))
    near = _mean_alignment(rows, usual[usual["modality"] == "language"], of.pairs)
    trend = _over(of, rows, near, np.log2(rows["tasks"].to_numpy(float)))
    yield Test("multitask", "per doubling of tasks, with language models", trend, toward)
    trend = _leveled(of, "data", "across")
    yield Test("data", "least to most data, vision with language", trend, toward, decides=True)
    yield from _simplicity(of)
    leveled = put_on_levels(of.trainings, "competence", of.skill)
    weak = weak_contrast(arrange(leveled, of.pairs, "all"), draws=of.draws, seed=of.seed)
    weak = replace(weak, recipes=leveled.rows["recipe"].nunique(), pairs=0)
    yield Test("anna karenina", "than to strong ones", weak, -toward, decides=True)


def _simplicity(of: Material) -> Iterator[Test]:
    rows = pd.concat([_sweep(of.trainings, what) for what in SWEPT], ignore_index=True)
    # the mean alignment of each training with the usual models of other lines
    lines = {line.rpartition(", ")[0] for line in rows["line"]}
    usual = of.trainings[(of.trainings["varies"] == "") & ~of.trainings["line"].isin(lines)]
    near = _mean_alignment(rows, usual, of.pairs)
    rank, ratio = (_measured(of, rows, one) for one in (effective_rank, participation_ratio))
    trend = _over(of, rows, near, rank)
    yield Test(
        "simplicity", f"per {RANKS} effective ranks less", trend, -RANKS * of.toward, decides=True
    )
    yield Test(
        "simplicity", "per participation ratio less", _over(of, rows, near, ratio), -of.toward
    )
    decayed = (rows["swept"] == "weight decay").to_numpy(bool)
    places = rows.loc[decayed, "decay"].rank(method="dense").to_numpy(float)
    strengths = (places - 1) / max(places.max(initial=1) - 1, 1)
    trend = _over(of, rows[decayed], rank[decayed], strengths)
    yield Test("simplicity", "fall of the effective rank with weight decay", trend, -1)


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
    return rows.assign(swept=what, recipe=rows["recipe"] + f", {what}")


def _mean_alignment(
    rows: pd.DataFrame, others: pd.DataFrame, pairs: pd.DataFrame
) -> Float64[np.ndarray, " m"]:
    if rows.empty or others.empty:
        return np.full(len(rows), np.nan)
    names = list(dict.fromkeys([*rows["model"], *others["model"]]))
    scores = pd.DataFrame(score_matrix(pairs, names), index=names, columns=names)
    near: np.ndarray = scores.loc[rows["model"], others["model"]].mean(axis=1).to_numpy(float)
    return near


def _measured(
    of: Material, rows: pd.DataFrame, measure: Callable[[Float32[np.ndarray, "n d"]], float]
) -> Float64[np.ndarray, " m"]:
    """Return a measure of the last layer of each model; NaN if it has none."""
    values = {}
    for name in dict.fromkeys(rows["model"]):
        try:
            values[name] = measure(of.last_layer(name))
        except MetricError:
            values[name] = np.nan
    return np.array([values[name] for name in rows["model"]], dtype=float)


def _over(
    of: Material,
    rows: pd.DataFrame,
    values: Float64[np.ndarray, " m"],
    over: Float64[np.ndarray, " m"],
) -> DealtTrend:
    """Return how a value rises with another over recipes, each the mean over its seeds."""
    means = (
        rows.assign(value=values, over=over)
        .groupby(["recipe", "line"], as_index=False)[["value", "over"]]
        .mean()
    )
    return recipe_trend(
        means["value"].to_numpy(float),
        means["over"].to_numpy(float),
        pd.factorize(means["line"])[0],
        draws=of.draws,
        seed=of.seed,
    )
