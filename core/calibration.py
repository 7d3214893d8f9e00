"""How far a study's alignments lie above chance, and how sure they are: nulls and intervals beside each row of `Study.align`.

Results are kept in the store with their recipe: the same question is not computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.analyses.discoveries import adjust
from core.analyses.intervals import bootstrap_mean, draw_halves, half_interval, influences
from core.analyses.layers import aggregate, read_choice
from core.analyses.nulls import calibrate, draw_orders, null_scores, shuffled_scores
from core.embedding.progress import Progress
from core.errors import MetricError
from core.kept import keep
from core.metrics import METRICS
from core.metrics.knn import jaccard_terms, mutual_terms
from core.metrics.knn_order import edit_terms, subsequence_terms
from core.metrics.preprocess import normalize_rows
from core.pairs.engine import Engine
from core.pairs.permuted import permuted_overlaps
from core.study import Study

TERMS: dict[str, Callable[..., np.ndarray]] = {
    "mutual_knn": mutual_terms,
    "jaccard_knn": jaccard_terms,
    "lcs_knn": subsequence_terms,
    "edit_distance_knn": edit_terms,
}


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
    """Align as `Study.align` does, with the permutation null, the interval or both beside each score.

    null: permutations of y's stimuli, shared by all layers and models; adds null_mean, null_sd, threshold, p, calibrated, reason
    (see `core.analyses.nulls.calibrate`) and q, p adjusted for the false discovery rate over all rows. bootstrap: draws of the
    stimuli; adds low and high, the 95 % interval of the score of the chosen layers (see `core.analyses.intervals`). seed: of both.
    Raises MetricError for `all` layers, and as `Study.align`.
    """
    if layers == "all":
        raise MetricError("nulls and intervals belong to one score per pair of models; choose best, last, a pair or a depth")
    if not (null or bootstrap):
        return study.align(x, y, metric=metric, layers=layers, **parameters)
    recipe = study.recipe("alignment", [*x, *y], metric=metric, x=list(x), y=list(y), layers=layers, null=null,
                          bootstrap=bootstrap, seed=seed, **METRICS[metric].complete(parameters))  # fmt: skip
    drawn: dict[str, Any] = {"metric": metric, "layers": layers, "seed": seed, "report": report, **parameters}
    return keep(study, recipe, lambda: _aligned(study, x, y, null=null, bootstrap=bootstrap, **drawn))


def _aligned(
    study: Study, x: Sequence[str], y: Sequence[str], *, metric: str, layers: str, null: int, bootstrap: int, seed: int,
    report: Progress | None, **parameters: Any,
) -> pd.DataFrame:  # fmt: skip
    table = study.align(x, y, metric=metric, layers=layers, **parameters)
    if null and len(table):
        found = _calibrated(study, x, y, metric=metric, layers=layers, count=null, seed=seed, report=report, **parameters)
        table = table.join(found.drop(columns="score")).assign(q=adjust(found["p"].to_numpy()))
    if bootstrap and len(table):
        low, high = _intervals(study, table, metric, count=bootstrap, seed=seed, report=report, **parameters)
        table = table.assign(low=low, high=high)
    return table


def _calibrated(
    study: Study, x: Sequence[str], y: Sequence[str], *, metric: str, layers: str, count: int, seed: int, report: Progress | None,
    **parameters: Any,
) -> pd.DataFrame:  # fmt: skip
    spec, engine = METRICS[metric].spec, study.engine(metric, **parameters)
    ready_x, ready_y = ([study.prepare(engine, name) for name in names] for names in (x, y))
    layers_x, layers_y = ([len(study.entry(name).dims) for name in names] for names in (x, y))
    choice = aggregate(read_choice(layers), spec=spec)
    score = _scoring(engine, metric, ready_x, ready_y, **METRICS[metric].complete(parameters))
    n = study.size
    observed = null_scores(score, np.arange(n)[None], choice=choice, layers_x=layers_x, layers_y=layers_y)
    orders = draw_orders(n, count=count, seed=seed)
    null = null_scores(_reported(score, count, report), orders, choice=choice, layers_x=layers_x, layers_y=layers_y)
    return calibrate(observed[0], null, spec=spec)


Scoring = Callable[[Int64[np.ndarray, "P n"]], Float64[np.ndarray, "P Lx Ly"]]


def _scoring(engine: Engine, metric: str, x: Sequence[Any], y: Sequence[Any], **parameters: Any) -> Scoring:
    if metric != "mutual_knn":
        return shuffled_scores(engine, x, y)
    k = parameters["k"]
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
    study: Study, table: pd.DataFrame, metric: str, *, count: int, seed: int, report: Progress | None, **parameters: Any
) -> tuple[list[float], list[float]]:
    complete = METRICS[metric].complete(parameters)
    found = []
    for row in table.to_dict("records"):
        sides = ((row["model_x"], row["layer_x"]), (row["model_y"], row["layer_y"]))
        if metric in TERMS and complete["k"] < study.size - 1:
            k = complete["k"]
            near_x, near_y = (study.neighbors(model, k=k + 1)[layer] for model, layer in sides)
            terms = influences(near_x, near_y, k=k, terms=TERMS[metric])
            found.append(bootstrap_mean(terms[:, None], count=count, seed=seed)[:, 0])
        else:
            spaces = [normalize_rows(study.spaces(model)[layer]) for model, layer in sides]
            halved = {name: max(1, value // 2) if name == "k" else value for name, value in complete.items()}  # k/n stays
            scores = [METRICS[metric](*(space[half] for space in spaces), **halved)
                      for half in draw_halves(study.size, count=count, seed=seed)]  # fmt: skip
            found.append(half_interval(row["score"], np.array(scores), spec=METRICS[metric].spec))
        if report:
            report(len(found), len(table), "intervals")
    return [float(low) for low, _ in found], [float(high) for _, high in found]
