"""Scores of pairs of models by any metric with any parameter, their rankings, curves over k and
over the number of stimuli, and nulls. Spaces are one layer of each model over the same stimuli.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import make_engine
from core.metrics.spec import AnyEngine, Metric, Parameter
from core.pairs.engine import Engine, ListEngine
from core.pairs.lists import find_lists, shuffled_scores
from core.pairs.prepared import Lists, Prepared, Space, mean_of_both
from core.progress import tell_each
from core.spaces.preprocess import check_k, check_pair
from core.statistics.nulls import COLUMNS, calibrate, draw_orders, fixed_pair, null_scores

COMPARED = tuple(name for name, metric in METRICS.items() if not metric.spec.costly)
OVER_K = ("mutual_knn", "cknna")
FEWEST = 3  # pairs of models that can be ranked in more than two ways
SHUFFLES = 20
REPEATS_GROWN = 10  # of each of four curves
SMALLEST_SAMPLE = 16  # stimuli from which curves over the sample size start
FIXED_K, FIXED_SHARE = "mutual k-NN, k fixed", "mutual k-NN, k/n fixed"

P = TypeVar("P")
Spaces = Mapping[str, Space]
Parameters = Callable[[int], Mapping[str, Any]]


@dataclass(frozen=True)
class Variant:
    """A metric with one parameter, or its defaults, on so many stimuli."""

    metric: str
    parameter: tuple[tuple[str, Parameter], ...]
    size: int

    @property
    def title(self) -> str:
        """Return its name in tables: mutual k-NN, k = 10, n = 256."""
        settings = (*self.parameter, ("n", self.size))
        return ", ".join([METRICS[self.metric].spec.short, *(f"{a} = {b}" for a, b in settings)])


def with_k(metric: str, k: int) -> dict[str, Any]:
    return {"k": k} if "k" in METRICS[metric].spec.defaults else {}


def make_engines(
    metrics: Sequence[str] = COMPARED, *, k: int, device: str = "cpu"
) -> dict[str, AnyEngine]:
    return {name: make_engine(name, device=device, **with_k(name, k)) for name in metrics}


def prepare_each(
    engine: Engine[P], spaces: Spaces
) -> tuple[dict[str, Prepared[P]], dict[str, str]]:
    """Return each model ready to be compared, and why the others are refused."""
    ready, refused = {}, {}
    for name, space in spaces.items():
        try:
            ready[name] = engine.prepare([space])
        except MetricError as error:
            refused[name] = str(error)
    return ready, refused


def score_pairs(
    spaces: Spaces, metric: str, engine: AnyEngine, pairs: Iterable[tuple[str, str]] = ()
) -> pd.DataFrame:
    """Score these pairs of models, every pair if none is named: metric, model_x, model_y, score,
    reason. A metric that is not symmetric gives the mean of both directions.
    """
    spec = METRICS[metric].spec
    ready, refused = prepare_each(engine, spaces)
    rows = []
    for x, y in pairs or combinations(spaces, 2):
        score, reason = np.nan, refused.get(x) or refused.get(y) or ""
        if not reason:
            scores = engine.scores(ready[x], ready[y])
            if not spec.symmetric:
                scores = mean_of_both(scores, engine.scores(ready[y], ready[x]).flipped)
            score = scores.values.item()
            if np.isnan(score):
                undefined = f"{spec.title} is undefined for these two models"
                reason = scores.refusals.get((0, 0), undefined)
        rows.append((metric, x, y, score, reason))
    return pd.DataFrame(rows, columns=["metric", "model_x", "model_y", "score", "reason"])


def toward(metric: str) -> int:
    """Return 1 if higher scores mean more aligned, −1 if lower ones do."""
    return 1 if METRICS[metric].spec.higher_is_more_aligned else -1


def rank_agreement(scores: pd.DataFrame) -> pd.DataFrame:
    """Return Spearman's ρ between the rankings of all pairs of models by every two variants, higher
    scores being more aligned. Pairs share models, so ρ has no p-value.

    scores: of `score_pairs`, and variant. left_out: the models that no variant scores, each with
    its most frequent reason. Source: Huh et al. 2024, figure 12.
    """
    names = ["variant_x", "variant_y", "metric_x", "metric_y", "spearman", "pairs", "reason"]
    if scores.empty:
        return pd.DataFrame(columns=[*names, "left_out"])
    metric = dict(zip(scores["variant"], scores["metric"], strict=True))
    refused = scores[scores["reason"] != ""].drop_duplicates("variant").set_index("variant")
    why = refused["reason"]
    turned = scores.assign(score=scores["score"] * scores["metric"].map(toward))
    wide = turned.pivot(index=["model_x", "model_y"], columns="variant", values="score")
    rho = wide.corr(method="spearman", min_periods=FEWEST)
    known = wide.notna().astype(int)
    counts = known.T @ known
    rows = []
    for a, b in product(metric, repeat=2):
        value, count, reason = float(rho.loc[a, b]), int(counts.loc[a, b]), ""
        if count < FEWEST:
            also = why.get(a) or why.get(b)
            reason = f"{count} pairs of models have both scores, {FEWEST} are needed"
            reason += f" ({also})" if also else ""
        elif np.isnan(value):
            reason = "one of the two gives all pairs of models the same score"
        rows.append((a, b, metric[a], metric[b], value, count, reason))
    ends = [scores.rename(columns={f"model_{side}": "model"}) for side in "xy"]
    whole = pd.concat(ends).groupby("model")
    without = whole["score"].count() == 0
    left_out = ""
    if not without.all():  # else each has its reason in the table
        whys = whole["reason"].agg(lambda reasons: reasons.mode().iloc[0])[without]
        left_out = "; ".join(f"{name} ({why})" for name, why in whys.items())
    return pd.DataFrame(rows, columns=names).assign(left_out=left_out)


def spread_ks(n: int, *, count: int = 12) -> list[int]:
    """Return about `count` numbers of neighbors from 2 to n − 1, evenly spaced in log k."""
    return sorted({round(k) for k in np.geomspace(2, n - 1, count)})


def curve_over_k(
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "m dy"],
    *,
    ks: Sequence[int],
    seed: int,
    shuffles: int = SHUFFLES,
    device: str = "cpu",
) -> pd.DataFrame:
    """Score two spaces by mutual k-NN and CKNNA for each k, with chance and sd over shuffles of y's
    stimuli. At k = n − 1 mutual k-NN is 1 for any spaces.
    """
    check_pair(x, y)
    orders = draw_orders(len(x), count=shuffles, seed=seed)
    rows = []
    steps = [(metric, k) for metric in OVER_K for k in ks]
    for metric, k in tell_each(steps, "sizes of the neighborhood"):
        engine = make_engine(metric, k=k, device=device)
        a, b = (engine.prepare([space]) for space in (x, y))
        null = [engine.scores(a, engine.permuted(b, order)).values.item() for order in orders]
        score = engine.scores(a, b).values.item()
        rows.append((metric, k, score, np.mean(null), np.std(null, ddof=1)))
    return pd.DataFrame(rows, columns=["metric", "k", "score", "chance", "sd"])


def scores_over_k(
    x: Spaces,
    y: Spaces,
    *,
    ks: Sequence[int],
    device: str = "cpu",
) -> pd.DataFrame:
    """Score each model of x by its mean over all models of y, for mutual k-NN and CKNNA and each k.

    A model without neighbors has the score NaN; one of y is left out of the means.
    """
    for k in ks:
        check_k(k, len(next(iter(x.values()))))
    rows = []
    steps = [(metric, k) for metric in OVER_K for k in ks]
    for metric, k in tell_each(steps, "sizes of the neighborhood"):
        engine = make_engine(metric, k=k, device=device)
        (ready, _), (others, _) = prepare_each(engine, x), prepare_each(engine, y)
        for name in x:
            known = others.values() if name in ready else ()
            scores = [engine.scores(ready[name], other).values.item() for other in known]
            rows.append((metric, k, name, np.mean(scores) if scores else np.nan))
    return pd.DataFrame(rows, columns=["metric", "k", "model", "score"])


def scale_trends(scores: pd.DataFrame, *, smallest: str) -> pd.DataFrame:
    """Add scaled = (score − score of `smallest`) / sd over models (n − 1 degrees of freedom), for
    each metric and k; NaN with a reason if the models do not differ. Source: Huh et al. 2024,
    figure 10.
    """
    keys = [scores["metric"], scores["k"]]
    grouped = scores["score"].groupby(keys)
    start = scores["score"].where(scores["model"] == smallest).groupby(keys).transform("max")
    spread = grouped.transform("std")
    flat = (grouped.transform("max") - grouped.transform("min")).le(0) | spread.isna()
    return scores.assign(
        scaled=(scores["score"] - start) / spread.mask(flat),
        reason=np.where(flat, "all models have the same score at this k", ""),
    )


def size_curve(
    metric: Metric,
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "n dy"],
    *,
    sizes: Sequence[int],
    parameters: Parameters,
    seed: int,
    repeats: int = REPEATS_GROWN,
) -> pd.DataFrame:
    """Score random subsamples of the stimuli, and the same with those of y shuffled, which is
    chance. Each repeat grows one sample, so near the whole sd shrinks to 0.

    x, y: normalized. parameters: of the metric, given the number of stimuli.
    """
    check_pair(x, y)
    rows = []
    for size in sizes:
        drawn, chosen = draw_orders(len(x), count=repeats, seed=seed)[:, :size], parameters(size)
        shuffled = np.random.default_rng((seed, size)).permuted(drawn, axis=1)
        scores = [metric(x[one], y[one], **chosen) for one in drawn]
        chance = [metric(x[a], y[b], **chosen) for a, b in zip(drawn, shuffled, strict=True)]
        means = {"score": np.mean(scores), "chance": np.mean(chance), "sd": np.std(scores, ddof=1)}
        rows.append({"n": size, **chosen, **means, "repeats": repeats})
    return pd.DataFrame(rows)


def grow_sample(
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "n dy"],
    *,
    k: int,
    seed: int,
) -> pd.DataFrame:
    """Score two layers over n stimuli and its halves down to SMALLEST_SAMPLE, by mutual k-NN at
    fixed k (chance falls as 1/n) and at fixed k/n (it stays), by CKA and by unbiased CKA.
    """
    n = len(x)
    halvings = range(max(0, int(np.log2(n / SMALLEST_SAMPLE))) + 1)
    sizes = sorted(n >> halving for halving in halvings)
    share = k / n
    shared = [size for size in sizes if share * size >= 1 and round(share * size) < size]
    curves: dict[str, tuple[str, Parameters, list[int]]] = {
        FIXED_K: ("mutual_knn", lambda _: {"k": k}, [size for size in sizes if size > k]),
        FIXED_SHARE: ("mutual_knn", lambda size: {"k": max(1, round(share * size))}, shared),
        "CKA": ("cka", lambda _: {}, sizes),
        "unbiased CKA": ("unbiased_cka", lambda _: {}, sizes),
    }
    tables = []
    counted = tell_each(curves.items(), "curves over the number of stimuli")
    for curve, (name, parameters, few) in counted:
        table = size_curve(METRICS[name], x, y, sizes=few, parameters=parameters, seed=seed)
        tables.append(table.assign(curve=curve, metric=name))
    return pd.concat(tables, ignore_index=True)


def calibrate_metrics(
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "m dy"],
    engines: Mapping[str, AnyEngine],
    *,
    count: int,
    seed: int,
) -> pd.DataFrame:
    """Calibrate each metric against the same `count` permutations of y's stimuli; see
    `core.statistics.nulls.calibrate`. A metric that refuses the spaces has NaN and the reason.
    """
    check_pair(x, y)
    orders, tables = draw_orders(len(x), count=count, seed=seed), []
    most = max((one.k for one in engines.values() if isinstance(one, ListEngine)), default=0)
    lists = list[Prepared[Lists]]()
    with suppress(MetricError):  # each metric says why
        lists = [find_lists([space], k=most) for space in (x, y) if most]
    for metric, engine in tell_each(engines.items(), "metrics against shuffled stimuli"):
        try:
            if lists and isinstance(engine, ListEngine):
                ready = [engine.take(of_space) for of_space in lists]
            else:
                ready = [engine.prepare([space]) for space in (x, y)]
            score = shuffled_scores(engine, ready[:1], ready[1:])
        except MetricError as refusal:
            refused = {**dict.fromkeys(COLUMNS, np.nan), "reason": str(refusal)}
            table = pd.DataFrame([refused])
        else:
            observed, null = (
                null_scores(score, part, choice=fixed_pair(0, 0), layers_x=[1], layers_y=[1])
                for part in (np.arange(len(x))[None], orders)
            )
            table = calibrate(observed[0], null, spec=METRICS[metric].spec)
        tables.append(table.assign(metric=metric))
    table = pd.concat(tables, ignore_index=True)
    table.insert(0, "metric", table.pop("metric"))
    return table
