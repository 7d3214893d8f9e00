"""Every metric's score of one pair of layers beside what shuffled stimuli give, and its calibrated
score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.spec import AnyEngine
from core.pairs.lists import shuffled_scores
from core.pairs.prepared import Space
from core.progress import Progress
from core.spaces.preprocess import check_pair
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
    engines: Mapping[str, AnyEngine],
    *,
    count: int,
    seed: int,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Calibrate each metric against `count` permutations of y's stimuli.

    x, y: one layer of each model, clamped by the caller; normalized here. engines: by metric, as
    `core.questions.metrics.agreement.make_engines` makes them; all see the same permutations.
    Returns a row per metric: metric and what `core.statistics.nulls.calibrate` returns; a metric
    that refuses the spaces has the score NaN and says why. Raises MetricError for spaces over other
    stimuli and too few permutations.
    """
    check_pair(x, y)
    orders, done = draw_orders(len(x), count=count, seed=seed), 0

    def advance(shuffles: int) -> None:
        nonlocal done
        done += shuffles
        if report:
            report(done, count * len(engines), "shuffles for all metrics")

    rows = [
        _calibrated(metric, engine, (x, y), orders, advance) for metric, engine in engines.items()
    ]
    table = pd.concat(rows, ignore_index=True)
    table.insert(0, "metric", list(engines))
    return table


def _calibrated(
    metric: str,
    engine: AnyEngine,
    pair: tuple[Space, Space],
    orders: Int64[np.ndarray, "P n"],
    advance: Callable[[int], None],
) -> pd.DataFrame:
    try:
        ready = [engine.prepare([space]) for space in pair]
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
    return calibrate(
        scores(np.arange(len(pair[0]))[None])[0], np.concatenate(null), spec=METRICS[metric].spec
    )
