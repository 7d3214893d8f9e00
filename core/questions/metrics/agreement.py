"""Does the answer depend on the metric? Every metric over all pairs of models, and how far any two
metrics rank the pairs alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import make_engine
from core.metrics.spec import AnyEngine
from core.pairs.engine import Engine
from core.pairs.prepared import Prepared, Space, mean_of_both
from core.progress import Progress

FEWEST = 3  # pairs of models that can be ranked in more than two ways

P = TypeVar("P")
Spaces = Mapping[str, Space]


COMPARED = tuple(name for name, metric in METRICS.items() if not metric.spec.costly)


def with_k(metric: str, k: int) -> dict[str, Any]:
    """Return k as a metric's parameter, nothing for a metric that compares no neighbors."""
    return {"k": k} if "k" in METRICS[metric].spec.defaults else {}


def make_engines(
    metrics: Sequence[str] = COMPARED, *, k: int, device: str = "cpu"
) -> dict[str, AnyEngine]:
    """Return the engine of each metric with its default parameters, save k; raises as
    `make_engine`.
    """
    return {name: make_engine(name, device=device, **with_k(name, k)) for name in metrics}


def score_pairs(
    spaces: Spaces, engines: Mapping[str, AnyEngine], report: Progress | None = None
) -> pd.DataFrame:
    """Score every pair of models by each metric.

    spaces: one layer of each model over the same stimuli, clamped by the caller; normalized here.
    engines: by metric, as `make_engines` makes them. A metric that is not symmetric gives the mean
    of both directions. Returns a row for each metric and pair: metric, model_x, model_y, score,
    reason; NaN with the metric's own words where it refuses a pair.
    """
    rows = []
    for done, (metric, engine) in enumerate(engines.items(), start=1):
        rows += [(metric, *row) for row in _scored(spaces, metric, engine)]
        if report:
            report(done, len(engines), "metrics compared over all pairs of models")
    return pd.DataFrame(rows, columns=["metric", "model_x", "model_y", "score", "reason"])


def _scored(spaces: Spaces, metric: str, engine: Engine[P]) -> list[tuple[str, str, float, str]]:
    ready, refused = prepare_each(engine, spaces)
    rows = []
    for x, y in combinations(spaces, 2):
        if reason := refused.get(x) or refused.get(y):
            rows.append((x, y, np.nan, reason))
            continue
        rows.append((x, y, *_score(engine, metric, ready[x], ready[y])))
    return rows


def prepare_each(
    engine: Engine[P], spaces: Spaces
) -> tuple[dict[str, Prepared[P]], dict[str, str]]:
    """Normalize one layer of each model and make it ready to be compared; return them, and why the
    others are refused.
    """
    ready, refused = {}, {}
    for name, space in spaces.items():
        try:
            ready[name] = engine.prepare([space])
        except MetricError as error:
            refused[name] = str(error)
    return ready, refused


def _score(engine: Engine[P], metric: str, x: Prepared[P], y: Prepared[P]) -> tuple[float, str]:
    """Return the score of two single layers, and why it is NaN, else ""."""
    spec, scores = METRICS[metric].spec, engine.scores(x, y)
    if not spec.symmetric:
        scores = mean_of_both(scores, engine.scores(y, x).flipped)
    score = scores.values.item()
    undefined = f"{spec.title} is undefined for these two models"
    return score, scores.refusals.get((0, 0), undefined) if np.isnan(score) else ""


def rank_agreement(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank all pairs of models by two metrics, and return how far the rankings agree: Spearman's
    ρ, for every two metrics.

    scores: as `score_pairs` gives them. A metric that is low where spaces are aligned is turned
    first, so that 1 says for any two metrics that they rank all pairs alike, 0 that their rankings
    are unrelated, −1 that they are opposite. Pairs that share a model are not independent: ρ has no
    p-value here. Returns a row for every two metrics, in the order of METRICS: metric_x, metric_y,
    spearman, pairs (with both scores), reason; NaN where `reason` says why. Source: Huh et al.
    2024, figure 12. left_out: `unscored`, the same in each row.
    """
    wide = scores.pivot(index=["model_x", "model_y"], columns="metric", values="score")
    why = first_reasons(scores, "metric")
    turned = {name: wide[name].to_numpy() * toward(name) for name in METRICS if name in wide}
    table = rank_all(turned, why, names=("metric_x", "metric_y"))
    return table.assign(left_out=unscored(scores))


def unscored(scores: pd.DataFrame) -> str:
    """Return the models that no metric scores with any other, each with its most frequent reason;
    "" where there are none. scores: as `score_pairs` gives them.
    """
    ends = [scores.rename(columns={f"model_{side}": "model"}) for side in "xy"]
    whole = pd.concat(ends).groupby("model")
    without = whole["score"].count() == 0
    if without.all():  # each has its reason in the table
        return ""
    whys = whole["reason"].agg(lambda reasons: reasons.mode().iloc[0])[without]
    return "; ".join(f"{name} ({why})" for name, why in whys.items())


def first_reasons(scores: pd.DataFrame, by: str) -> dict[str, str]:
    """Return a reason for a score that is missing, by the value of a column."""
    refused = scores[scores["reason"] != ""].drop_duplicates(by)
    return dict(zip(refused[by].astype(str), refused["reason"].astype(str), strict=True))


def rank_all(
    turned: Mapping[str, Float64[np.ndarray, " pairs"]],
    why: Mapping[str, str],
    *,
    names: tuple[str, str],
) -> pd.DataFrame:
    """Return Spearman's ρ for every two rankings of the same pairs, in order.

    turned: scores by what gives them, higher is more aligned, NaN for none. why: the reason of one
    NaN of each. names: of the first two columns; the others are spearman, pairs, reason.
    """
    rows = [
        (a, b, *_spearman(turned[a], turned[b], why.get(a) or why.get(b, "")))
        for a, b in product(turned, repeat=2)
    ]
    return pd.DataFrame(rows, columns=[*names, "spearman", "pairs", "reason"])


def toward(metric: str) -> int:
    """Return 1 where higher scores mean more aligned, −1 where lower ones do."""
    return 1 if METRICS[metric].spec.higher_is_more_aligned else -1


def _spearman(
    a: Float64[np.ndarray, "pairs"], b: Float64[np.ndarray, "pairs"], why: str
) -> tuple[float, int, str]:
    both = ~(np.isnan(a) | np.isnan(b))
    count = int(both.sum())
    if count < FEWEST:
        return (
            np.nan,
            count,
            f"{count} pairs of models have both scores, {FEWEST} are needed"
            + (f" ({why})" if why else ""),
        )
    rank_a, rank_b = (pd.Series(scores[both]).rank().to_numpy() for scores in (a, b))
    if 0 in (np.ptp(rank_a), np.ptp(rank_b)):
        return np.nan, count, "one of the two gives all pairs of models the same score"
    return float(np.corrcoef(rank_a, rank_b)[0, 1]), count, ""
