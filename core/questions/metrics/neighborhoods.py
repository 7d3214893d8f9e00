"""How alignment depends on the size of the neighborhood: mutual kNN and CKNNA as k goes from 2 to n
− 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.metrics.catalog import make_engine
from core.progress import Progress
from core.questions.metrics.agreement import Spaces, prepare_each
from core.spaces.preprocess import check_k, check_pair
from core.statistics.nulls import draw_orders

COMPARED = ("mutual_knn", "cknna")
SHUFFLES = 20


def spread_ks(n: int, *, count: int = 12) -> list[int]:
    """Return about `count` numbers of neighbors from 2 to n − 1, evenly spread on a logarithmic
    scale; n of at least 3.
    """
    return sorted({round(k) for k in np.geomspace(2, n - 1, count)})


def curve_over_k(
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "m dy"],
    *,
    ks: Sequence[int],
    seed: int,
    shuffles: int = SHUFFLES,
    device: str = "cpu",
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score two spaces by mutual kNN and CKNNA for each k, beside their chance: the mean over
    shuffles of y's stimuli.

    x, y: one layer of each model, clamped by the caller; normalized here. At k = n − 1 mutual kNN
    is 1 for any spaces, and CKNNA is CKA without the diagonal of its kernels. Returns a row per
    metric and k: metric, k, score, chance, sd (of the shuffles). Raises MetricError for degenerate
    spaces and k outside 1 … n − 1.
    """
    check_pair(x, y)
    orders = draw_orders(len(x), count=shuffles, seed=seed)
    rows = []
    steps = [(metric, k) for metric in COMPARED for k in ks]
    for done, (metric, k) in enumerate(steps, start=1):
        engine = make_engine(metric, k=k, device=device)
        a, b = (engine.prepare([space]) for space in (x, y))
        null = [engine.scores(a, engine.permuted(b, order)).values.item() for order in orders]
        rows.append(
            (metric, k, engine.scores(a, b).values.item(), np.mean(null), np.std(null, ddof=1))
        )
        if report:
            report(done, len(steps), "sizes of the neighborhood")
    return pd.DataFrame(rows, columns=["metric", "k", "score", "chance", "sd"])


def scores_over_k(
    x: Spaces,
    y: Spaces,
    *,
    ks: Sequence[int],
    device: str = "cpu",
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score each model of x by its mean over all models of y, for mutual kNN and CKNNA and each k:
    metric, k, model, score.

    Spaces are clamped by the caller and normalized here. A model without neighbors has the score
    NaN; one of y is left out of the means. Raises MetricError for k outside 1 … n − 1.
    """
    for k in ks:
        check_k(k, len(next(iter(x.values()))))
    rows = []
    steps = [(metric, k) for metric in COMPARED for k in ks]
    for done, (metric, k) in enumerate(steps, start=1):
        engine = make_engine(metric, k=k, device=device)
        (ready, _), (others, _) = prepare_each(engine, x), prepare_each(engine, y)
        for name in x:
            scores = (
                [engine.scores(ready[name], other).values.item() for other in others.values()]
                if name in ready
                else []
            )
            rows.append((metric, k, name, np.mean(scores) if scores else np.nan))
        if report:
            report(done, len(steps), "sizes of the neighborhood")
    return pd.DataFrame(rows, columns=["metric", "k", "model", "score"])


def scale_trends(scores: pd.DataFrame, *, smallest: str) -> pd.DataFrame:
    """Center the scores of each metric and k on those of the smallest model, and divide by their
    spread over models.

    scaled = (score − score of `smallest`) / sd over models (n − 1 degrees of freedom): a steep line
    says that alignment at this k tells the models apart. Returns `scores` with scaled and reason;
    NaN where the models do not differ. scores: as `scores_over_k` gives them. Source: Huh et al.
    2024, figure 10.
    """
    grouped = scores.groupby(["metric", "k"])["score"]
    start = (
        scores["score"]
        .where(scores["model"] == smallest)
        .groupby([scores["metric"], scores["k"]])
        .transform("max")
    )
    spread = grouped.transform("std")
    flat = (grouped.transform("max") - grouped.transform("min")).le(0) | spread.isna()
    scaled = (scores["score"] - start) / spread.mask(flat)
    return scores.assign(
        scaled=scaled, reason=np.where(flat, "all models have the same score at this k", "")
    )
