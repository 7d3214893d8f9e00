"""The three reasons that the hypothesis gives for convergence, each as one test that decides and
others next to it.

Source: Huh et al. 2024, section 3: the multitask scaling, the capacity and the simplicity bias
hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

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
from core.statistics.trends import DealtTrend, level_trend, recipe_trend
from core.study.layers import score_matrix

Verdict = Literal["supported", "contradicted", "not shown", "not tested"]
SURE = 0.05
SWEPT = ("weight decay", "width")
COLUMNS = (
    "hypothesis",
    "measured",
    "decides",
    "predicted",
    "value",
    "low",
    "high",
    "p",
    "q",
    "recipes",
    "pairs",
    "verdict",
    "reason",
)
MULTITASK = "rise of alignment among models of different tasks, from the fewest tasks to the most"
MULTITASK_ACROSS = "rise of alignment with language models per doubling of the tasks"
CAPACITY = "rise of alignment from the smallest size to the largest, {}"
SIMPLICITY = "change of alignment with other models per unit of effective rank"
DECAYED = "change of effective rank from the weakest weight decay to the strongest"
RATIO = "change of alignment with other models per unit of participation ratio"
DATA = "rise of alignment of vision with language from the least data to the most"


@dataclass(frozen=True)
class Material:
    """What all tests are made from.

    last_layer: reads the last space of a model. trainings: rows of `describe_trainings`. pairs: of
    `ModelPairs`. draws, seed: of the permutations. toward: 1 if higher scores mean more aligned,
    −1 if lower ones do.
    """

    last_layer: Callable[[str], Float32[np.ndarray, "n d"]]
    trainings: pd.DataFrame
    pairs: pd.DataFrame
    draws: int
    seed: int
    toward: int = 1


@dataclass(frozen=True)
class Test:
    """One test of a hypothesis.

    decides: whether the verdict on the hypothesis is this test's. predicted: 1 if it predicts
    that the score rises, −1 that it falls.
    """

    hypothesis: str
    measured: str
    trend: DealtTrend
    predicted: int
    decides: bool = False


def test_all(of: Material) -> pd.DataFrame:
    """Return a row per test with COLUMNS; which test decides was fixed before any was run.

    value: of the trend, with its interval and p; q: p adjusted for as many tests as decide; verdict
    by q if it decides, else by p.
    """
    tests = [
        *_multitask(of),
        *_capacity(of),
        *_simplicity(of),
        Test("data", DATA, _leveled(of, "data", "across"), of.toward),
    ]
    rows = pd.DataFrame([_row(test) for test in tests])
    q = np.full(len(rows), np.nan)
    decide = rows["decides"].to_numpy(bool)
    q[decide] = adjust(rows.loc[decide, "p"].to_numpy(float))
    rows = rows.assign(q=q)
    sure = rows["q"].where(decide, rows["p"])
    verdicts = [
        judge(value, predicted, p)
        for value, predicted, p in zip(rows["value"], rows["predicted"], sure, strict=True)
    ]
    return rows.assign(verdict=verdicts)[list(COLUMNS)]


def judge(value: float, predicted: int, p: float) -> Verdict:
    """Return what a test says of its hypothesis."""
    if not np.isfinite(value) or not np.isfinite(p):
        return "not tested"
    if p > SURE:
        return "not shown"
    return "supported" if value * predicted > 0 else "contradicted"


def _row(test: Test) -> dict[str, object]:
    trend = test.trend
    return {
        "hypothesis": test.hypothesis,
        "measured": test.measured,
        "decides": test.decides,
        "predicted": test.predicted,
        "value": trend.rise,
        "low": trend.low,
        "high": trend.high,
        "p": trend.p,
        "recipes": trend.recipes,
        "pairs": trend.pairs,
        "reason": trend.reason,
    }


def _multitask(of: Material) -> Iterator[Test]:
    yield Test("multitask", MULTITASK, _leveled(of, "tasks", "vision"), of.toward, decides=True)
    rows, usual = (of.trainings[of.trainings["varies"] == what] for what in ("tasks", ""))
    near = _mean_alignment(rows, usual[usual["modality"] == "language"], of.pairs)
    doublings = np.log2(rows["tasks"].to_numpy(float))
    yield Test("multitask", MULTITASK_ACROSS, _over(of, rows, near, doublings), of.toward)


def _capacity(of: Material) -> Iterator[Test]:
    for kind, title in KINDS.items():
        trend = _leveled(of, "size", kind)
        yield Test("capacity", CAPACITY.format(title), trend, of.toward, decides=kind == "all")


def _simplicity(of: Material) -> Iterator[Test]:
    rows = pd.concat([_sweep(of.trainings, what) for what in SWEPT], ignore_index=True)
    near = _near_others(rows, of)
    rank, ratio = (_measured(of, rows, one) for one in (effective_rank, participation_ratio))
    yield Test("simplicity", SIMPLICITY, _over(of, rows, near, rank), -of.toward, decides=True)
    yield Test("simplicity", RATIO, _over(of, rows, near, ratio), -of.toward)
    decayed = (rows["swept"] == "weight decay").to_numpy(bool)
    places = rows.loc[decayed, "decay"].rank(method="dense").to_numpy(float)
    strengths = (places - 1) / max(places.max(initial=1) - 1, 1)
    trend = _over(of, rows[decayed], rank[decayed], strengths)
    yield Test("simplicity", DECAYED, trend, predicted=-1)  # of the rank


def _leveled(of: Material, by: By, kind: Kind) -> DealtTrend:
    leveled = put_on_levels(of.trainings, by, pd.Series(dtype=float))
    return level_trend(arrange(leveled, of.pairs, kind), draws=of.draws, seed=of.seed)


def _sweep(trainings: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return the trainings that vary in one thing with the usual ones that they vary from, in one
    line.
    """
    varied = trainings[trainings["varies"] == what]
    usual = trainings[trainings["recipe"].isin(usual_of(varied))]
    rows = join_lines(pd.concat([varied, usual]), what)
    return rows.assign(swept=what, recipe=rows["recipe"] + f", {what}")


def _near_others(rows: pd.DataFrame, of: Material) -> Float64[np.ndarray, " m"]:
    """Return the mean alignment of each training with the usual models of other lines."""
    lines = {line.rpartition(", ")[0] for line in rows["line"]}
    usual = of.trainings[(of.trainings["varies"] == "") & ~of.trainings["line"].isin(lines)]
    return _mean_alignment(rows, usual, of.pairs)


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
    of: Material,
    rows: pd.DataFrame,
    measure: Callable[[Float32[np.ndarray, "n d"]], float],
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
