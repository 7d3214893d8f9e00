"""How a metric's score and its chance change with the number of stimuli, although nothing else
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.errors import MetricError
from core.metrics.spec import Metric
from core.spaces.inputs import check_pair
from core.statistics.nulls import draw_orders

REPEATS = 20

Parameters = Callable[[int], Mapping[str, Any]]


def size_curve(
    metric: Metric,
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "m dy"],
    *,
    sizes: Sequence[int],
    parameters: Parameters,
    seed: int,
    repeats: int = REPEATS,
) -> pd.DataFrame:
    """Score random subsamples of the stimuli, and the same subsamples with those of y shuffled,
    which is chance.

    x, y: one layer of each model, clamped and normalized by the caller. parameters: those of the
    metric, given the number of stimuli: `fixed_k`, `fixed_share`, or any function of it. Each
    repeat grows one sample, so that its sizes share their stimuli. Near the whole, sd shrinks to 0,
    since all subsamples are almost the same; an interval for the whole is another question
    (`core.statistics.intervals`). Returns a row for each size: n, the parameters, score and chance
    (means over repeats), sd (of the score over repeats), repeats. Raises MetricError for a size
    above n, fewer than two repeats, and what the metric refuses.
    """
    check_pair(x, y)
    if sizes and max(sizes) > len(x):
        raise MetricError(
            f"subsamples of at most {len(x)} stimuli expected, since there are no more; given"
            f" {max(sizes)}"
        )
    if repeats < 2:
        raise MetricError(
            f"at least 2 repeats expected, so that their spread is known; given {repeats}"
        )
    rows = []
    for size in sizes:
        drawn = draw_orders(len(x), count=repeats, seed=seed)[:, :size]
        chosen = parameters(size)
        scores = [metric(x[sample], y[sample], **chosen) for sample in drawn]
        shuffled = np.random.default_rng((seed, size)).permuted(drawn, axis=1)
        chance = [
            metric(x[sample], y[other], **chosen)
            for sample, other in zip(drawn, shuffled, strict=True)
        ]
        means = {"score": np.mean(scores), "chance": np.mean(chance), "sd": np.std(scores, ddof=1)}
        rows.append({"n": size, **chosen, **means, "repeats": repeats})
    return pd.DataFrame(rows)


def fixed_k(k: int) -> Parameters:
    """Compare k neighbors whatever the number of stimuli; chance then falls as 1/n, and mutual kNN
    with it.
    """
    return lambda _: {"k": k}


def fixed_share(share: float) -> Parameters:
    """Compare the nearest share of all stimuli, k = share · n rounded, at least 1; chance then
    stays.

    Raises MetricError for a share outside (0, 1).
    """
    if not 0 < share < 1:
        raise MetricError(
            f"the share of stimuli that are neighbors must lie between 0 and 1; given {share}"
        )
    return lambda n: {"k": max(1, round(share * n))}
