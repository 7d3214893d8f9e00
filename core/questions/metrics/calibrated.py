"""Every metric's score of one pair of layers beside what shuffled stimuli give, and its calibrated
score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.engines import make_engine
from core.pairs.layers import Space
from core.pairs.shuffled import shuffled_scores
from core.progress import Progress
from core.questions.metrics.agreement import COMPARED, with_k
from core.spaces.inputs import check_pair
from core.statistics.nulls import (
    COLUMNS,
    calibrate,
    draw_orders,
    fixed_pair,
    null_scores,
)

PARTS = (
    10  # of each metric's shuffles, between reports of progress; fewer than any null has shuffles
)


def calibrate_metrics(
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "m dy"],
    *,
    k: int,
    count: int,
    seed: int,
    metrics: Sequence[str] = COMPARED,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Calibrate each of these metrics, with its default parameters save k, against `count`
    permutations of y's stimuli.

    x, y: one layer of each model, clamped by the caller; normalized here. All metrics see the same
    permutations. Returns a row per metric: metric and what `core.statistics.nulls.calibrate`
    returns; a metric that refuses the spaces has the score NaN and says why. Raises MetricError for
    spaces over other stimuli and too few permutations.
    """
    check_pair(x, y)
    orders, done = draw_orders(len(x), count=count, seed=seed), 0

    def advance(shuffles: int) -> None:
        nonlocal done
        done += shuffles
        if report:
            report(done, count * len(metrics), "shuffles for all metrics")

    rows = [_calibrated(metric, x, y, k=k, orders=orders, advance=advance) for metric in metrics]
    table = pd.concat(rows, ignore_index=True)
    table.insert(0, "metric", list(metrics))
    return table


def _calibrated(
    metric: str,
    x: Space,
    y: Space,
    *,
    k: int,
    orders: Int64[np.ndarray, "P n"],
    advance: Callable[[int], None],
) -> pd.DataFrame:
    engine, spec = make_engine(metric, **with_k(metric, k)), METRICS[metric].spec
    try:
        ready = [engine.prepare([space]) for space in (x, y)]
    except MetricError as refusal:
        advance(len(orders))
        return pd.DataFrame([{**dict.fromkeys(COLUMNS, np.nan), "reason": str(refusal)}])
    score = shuffled_scores(engine, ready[:1], ready[1:])

    def scores(part: Int64[np.ndarray, "_ n"]) -> Float64[np.ndarray, "_ pairs"]:
        return null_scores(score, part, choice=fixed_pair(0, 0), layers_x=[1], layers_y=[1])

    null = []
    for part in np.array_split(orders, PARTS):
        null.append(scores(part))
        advance(len(part))
    return calibrate(scores(np.arange(len(x))[None])[0], np.concatenate(null), spec=spec)
