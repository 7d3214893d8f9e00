"""Every metric's score of one pair of layers beside what shuffled stimuli give, and its calibrated score."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.analyses.metric_agreement import with_k
from core.analyses.nulls import COLUMNS, calibrate, draw_orders, fixed_pair, null_scores, shuffled_scores
from core.embedding.progress import Progress
from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.inputs import check_pair
from core.pairs.engine import make_engine


def calibrate_metrics(
    x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, k: int, count: int, seed: int, report: Progress | None = None
) -> pd.DataFrame:
    """Calibrate every metric, with its default parameters save k, against `count` permutations of y's stimuli.

    x, y: one layer of each model, clamped by the caller; normalized here. All metrics see the same permutations.
    Returns a row per metric: metric and what `core.analyses.nulls.calibrate` returns; a metric that refuses the spaces has the
    score NaN and says why. Raises MetricError for spaces over other stimuli and too few permutations.
    """
    check_pair(x, y)
    found = []
    for done, metric in enumerate(METRICS, start=1):
        found.append(_calibrated(metric, x, y, k=k, count=count, seed=seed))
        if report:
            report(done, len(METRICS), "metrics calibrated")
    table = pd.concat(found, ignore_index=True)
    table.insert(0, "metric", list(METRICS))
    return table


def _calibrated(
    metric: str, x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, k: int, count: int, seed: int
) -> pd.DataFrame:
    engine, spec = make_engine(metric, **with_k(metric, k)), METRICS[metric].spec
    try:
        ready = [engine.prepare([space]) for space in (x, y)]
    except MetricError as refusal:
        return pd.DataFrame([{**dict.fromkeys(COLUMNS, np.nan), "reason": str(refusal)}])
    score = shuffled_scores(engine, ready[:1], ready[1:])
    as_they_are = np.arange(len(x))[None]
    observed, null = (null_scores(score, orders, choice=fixed_pair(0, 0), layers_x=[1], layers_y=[1])
                      for orders in (as_they_are, draw_orders(len(x), count=count, seed=seed)))  # fmt: skip
    return calibrate(observed[0], null, spec=spec)
