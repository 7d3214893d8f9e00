"""How far a study's alignments lie above chance, and how sure they are: nulls and intervals beside
each row of `Study.align`.

Results are kept in the store with their recipe: the same question is not computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.kernels import linear
from core.metrics.knn import jaccard_terms, mutual_terms
from core.metrics.knn_order import edit_terms, subsequence_terms
from core.metrics.spec import MetricSpec
from core.pairs.engine import Engine
from core.pairs.permuted import permuted_overlaps
from core.progress import Progress
from core.spaces.preprocess import normalize_rows
from core.statistics.discoveries import adjust
from core.statistics.intervals import (
    bootstrap_mean,
    cka_of_halves,
    draw_halves,
    half_interval,
    influences,
)
from core.statistics.nulls import calibrate, check_count, draw_orders, null_scores, shuffled_scores
from core.study.keeping import keep
from core.study.layers import aggregate, read_choice
from core.study.study import Study

TERMS: dict[str, Callable[..., np.ndarray]] = {
    "mutual_knn": mutual_terms,
    "jaccard_knn": jaccard_terms,
    "lcs_knn": subsequence_terms,
    "edit_distance_knn": edit_terms,
}
PAIR = ["model_x", "model_y"]


@dataclass(frozen=True)
class Question:
    """What is compared and how: a metric with all of its parameters, which layers, the seed of what
    is drawn, who hears of it.
    """

    metric: str
    parameters: dict[str, Any]
    layers: str
    seed: int
    report: Progress | None

    @property
    def spec(self) -> MetricSpec:
        """The metric's spec; CKNNA as released can exceed 1, so that it has no best value and no
        end to cut an interval at.
        """
        spec = METRICS[self.metric].spec
        return (
            replace(spec, range=(-math.inf, math.inf))
            if self.parameters.get("variant") == "released"
            else spec
        )

    @property
    def concatenated(self) -> bool:
        """Whether all layers of a model side by side are a candidate."""
        return read_choice(self.layers).concatenated


def align_calibrated(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    *,
    metric: str = "mutual_knn",
    layers: str = "best",
    null: int = 0,
    bootstrap: int = 0,
    seed: int = 0,
    report: Progress | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Align as `Study.align` does, with the permutation null, the interval or both beside each
    score.

    null: permutations of y's stimuli, shared by all layers and models; adds null_mean, null_sd,
    threshold, p, calibrated (see `core.statistics.nulls.calibrate`) and p_adjusted for the false
    discovery rate over all rows. bootstrap: draws of the stimuli; adds low and high, the 95 %
    interval of the score of the chosen layers (see `core.statistics.intervals`). seed: of both.
    reason: why any of these is NaN, or the score; else empty. Raises MetricError for `all` layers
    and too few permutations, and as `Study.align`.
    """
    if layers == "all":
        raise MetricError(
            "nulls and intervals belong to one score per pair of models; choose best, last, a pair"
            " or a depth"
        )
    study.engine(metric, **parameters)  # what cannot be asked is told before minutes are spent
    if null:
        check_count(null)
    if not (null or bootstrap):
        return study.align(x, y, metric=metric, layers=layers, **parameters)
    question = Question(metric, METRICS[metric].complete(parameters), layers, seed, report)
    recipe = study.recipe(
        "alignment",
        [*x, *y],
        metric=metric,
        x=list(x),
        y=list(y),
        layers=layers,
        null=null,
        bootstrap=bootstrap,
        seed=seed,
        **question.parameters,
    )
    return keep(
        study, recipe, lambda: _aligned(study, x, y, question, null=null, bootstrap=bootstrap)
    )


def _aligned(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    question: Question,
    *,
    null: int,
    bootstrap: int,
) -> pd.DataFrame:
    table = study.align(x, y, metric=question.metric, layers=question.layers, **question.parameters)
    reasons = [table.pop("reason")]
    if null and len(table):
        found = _calibrated(study, x, y, question, null)
        table = table.merge(found.drop(columns="score"), on=PAIR, how="left")
        reasons.append(table.pop("reason").fillna(""))
        table["p_adjusted"] = adjust(table["p"].to_numpy())
    if bootstrap and len(table):
        low, high, why = _intervals(study, table, question, bootstrap)
        table = table.assign(low=low, high=high)
        reasons.append(pd.Series(why))
    return table.assign(
        reason=[told or "; ".join(filter(None, rest)) for told, *rest in zip(*reasons, strict=True)]
    )


def _calibrated(
    study: Study, x: Sequence[str], y: Sequence[str], question: Question, count: int
) -> pd.DataFrame:
    """Calibrate every pair of models that can be compared; the others have no row."""
    engine = study.engine(question.metric, **question.parameters)
    ready, _ = study.prepare_each(engine, [*x, *y], concatenated=question.concatenated)
    left = [[name for name in dict.fromkeys(names) if name in ready] for names in (x, y)]
    models_x, models_y = ([ready[name] for name in names] for names in left)
    layers_x, layers_y = (
        [len(study.entry(name).dims) + question.concatenated for name in names] for names in left
    )
    choice = aggregate(read_choice(question.layers), spec=question.spec)
    score, n = _scoring(engine, question, models_x, models_y), study.size
    observed = null_scores(
        score, np.arange(n)[None], choice=choice, layers_x=layers_x, layers_y=layers_y
    )
    orders = draw_orders(n, count=count, seed=question.seed)
    null = null_scores(
        _reported(score, count, question.report),
        orders,
        choice=choice,
        layers_x=layers_x,
        layers_y=layers_y,
    )
    pairs = pd.DataFrame([(a, b) for a in left[0] for b in left[1]], columns=PAIR)
    return pairs.join(calibrate(observed[0], null, spec=question.spec))


Scoring = Callable[[Int64[np.ndarray, "P n"]], Float64[np.ndarray, "P Lx Ly"]]


def _scoring(engine: Engine, question: Question, x: Sequence[Any], y: Sequence[Any]) -> Scoring:
    if question.metric != "mutual_knn":
        return shuffled_scores(engine, x, y)
    k = question.parameters["k"]
    lists_x, lists_y = (np.concatenate([lists[:, :, :k] for lists in models]) for models in (x, y))
    return lambda orders: permuted_overlaps(lists_x, lists_y, orders, k=k)


def _reported(score: Scoring, count: int, report: Progress | None) -> Scoring:
    """Score a few permutations at a time, and tell how many are done."""
    done = 0

    def scores(orders: Int64[np.ndarray, "P n"]) -> Float64[np.ndarray, "P Lx Ly"]:
        nonlocal done
        found = []
        for part in np.array_split(orders, max(1, len(orders) // 10)):
            found.append(score(part))
            done += len(part)
            if report:
                report(done, count, "permutations")
        return np.concatenate(found)

    return scores


def _intervals(
    study: Study, table: pd.DataFrame, question: Question, count: int
) -> tuple[list[float], list[float], list[str]]:
    """Return low, high and why they are NaN, for each row; a row without a score has its own
    reason.
    """
    k = question.parameters.get("k", 0)
    near = (
        question.metric in TERMS and k < study.size - 1
    )  # else no list has a next neighbor, to move up where one is left out
    chosen = _chosen(study, table[table["score"].notna()], question, depth=k + 1 if near else 0)
    found = []
    for row in table.to_dict("records"):
        if math.isnan(row["score"]):
            found.append((math.nan, math.nan, ""))
        else:
            x, y = (chosen[row[f"model_{side}"], row[f"layer_{side}"]] for side in ("x", "y"))
            found.append(
                _interval(_of_terms if near else _of_halves, x, y, row["score"], question, count)
            )
        if question.report:
            question.report(len(found), len(table), "intervals")
    low, high, why = map(list, zip(*found, strict=True))
    return low, high, why


def _interval(way: Callable[..., np.ndarray], *given: Any) -> tuple[float, float, str]:
    try:
        low, high = map(float, way(*given))
    except MetricError as error:
        return math.nan, math.nan, f"no interval: {error}"
    return (
        low,
        high,
        "no interval: some half of the stimuli has no score" if math.isnan(low) else "",
    )


def _chosen(
    study: Study, table: pd.DataFrame, question: Question, *, depth: int
) -> dict[tuple[str, int], np.ndarray]:
    """Read the layers that a table's scores are of, each model once: so many neighbors, or where
    depth is 0 the vectors.
    """
    places = {
        (row[f"model_{side}"], row[f"layer_{side}"])
        for row in table.to_dict("records")
        for side in ("x", "y")
    }
    found: dict[tuple[str, int], np.ndarray] = {}
    for model in sorted({model for model, _ in places}):
        layers = [layer for name, layer in places if name == model]
        if depth:
            lists = study.neighbors(model, k=depth, concatenated=question.concatenated)
            found |= {(model, layer): lists[layer, :, :depth].copy() for layer in layers}
        else:
            spaces = study.spaces(model, concatenated=question.concatenated)
            found |= {(model, layer): normalize_rows(spaces[layer]) for layer in layers}
    return found


def _of_terms(
    x: np.ndarray, y: np.ndarray, _: float, question: Question, count: int
) -> Float64[np.ndarray, "2"]:
    terms = influences(x, y, k=question.parameters["k"], terms=TERMS[question.metric])
    return np.clip(
        bootstrap_mean(terms[:, None], count=count, seed=question.seed)[:, 0], *question.spec.range
    )


def _of_halves(
    x: np.ndarray, y: np.ndarray, score: float, question: Question, count: int
) -> Float64[np.ndarray, "2"]:
    halves = draw_halves(len(x), count=count, seed=question.seed)
    if question.metric in ("cka", "unbiased_cka"):
        scores = cka_of_halves(
            linear(x), linear(y), halves, unbiased=question.metric == "unbiased_cka"
        )
    else:
        scores = np.array(
            [
                METRICS[question.metric](x[half], y[half], **_halved(question.parameters))
                for half in halves
            ]
        )
    return half_interval(score, scores, spec=question.spec)


def _halved(parameters: dict[str, Any]) -> dict[str, Any]:
    """Halve k, so that among half of the stimuli k/n stays; raises MetricError for k = 1, which has
    no half.
    """
    if parameters.get("k") == 1:
        raise MetricError("half of the stimuli would need half a neighbor; choose k of 2 or more")
    return {name: value // 2 if name == "k" else value for name, value in parameters.items()}
