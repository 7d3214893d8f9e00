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
from core.metrics import METRICS
from core.metrics.spec import Metric
from core.progress import Progress
from core.spaces.preprocess import check_pair
from core.statistics.nulls import draw_orders

REPEATS = 20
REPEATS_GROWN = 10  # of each of four curves
SMALLEST_SAMPLE = 16  # stimuli from which curves over the sample size start
FIXED_K, FIXED_SHARE = "mutual k-NN, k fixed", "mutual k-NN, k/n fixed"

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
    _check_samples(sizes, len(x), repeats)
    rows = []
    for size in sizes:
        drawn, chosen = draw_orders(len(x), count=repeats, seed=seed)[:, :size], parameters(size)
        scores = [metric(x[sample], y[sample], **chosen) for sample in drawn]
        shuffled = np.random.default_rng((seed, size)).permuted(drawn, axis=1)
        chance = [
            metric(x[sample], y[other], **chosen)
            for sample, other in zip(drawn, shuffled, strict=True)
        ]
        means = {"score": np.mean(scores), "chance": np.mean(chance), "sd": np.std(scores, ddof=1)}
        rows.append({"n": size, **chosen, **means, "repeats": repeats})
    return pd.DataFrame(rows)


def _check_samples(sizes: Sequence[int], n: int, repeats: int) -> None:
    """Refuse samples of more than n stimuli, and too few of them to have a spread."""
    if sizes and max(sizes) > n:
        most = f"at most {n} stimuli expected, since there are no more"
        raise MetricError(f"subsamples of {most}; got {max(sizes)}")
    if repeats < 2:
        raise MetricError(
            f"at least 2 repeats expected, so that their spread is known; got {repeats}"
        )


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
            f"the share of stimuli that are neighbors must lie between 0 and 1; got {share}"
        )
    return lambda n: {"k": max(1, round(share * n))}


def grow_sample(
    x: Float[np.ndarray, "n dx"],
    y: Float[np.ndarray, "n dy"],
    *,
    k: int,
    seed: int,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score two layers over ever more stimuli, by mutual kNN at fixed k and at fixed k/n, by CKA
    and by unbiased CKA.

    x, y: one layer of each model, clamped and normalized by the caller. Returns a row per curve and
    size: curve, metric, k (NaN for CKA) and the other columns of `size_curve`. The share is that of
    k among all n stimuli, so that the two curves of mutual kNN meet at n.
    """
    sizes, share = growing(len(x)), k / len(x)
    shared = [
        size for size in sizes if share * size >= 1 and round(share * size) < size
    ]  # else no neighbor, or all of them
    curves: Mapping[str, tuple[str, Parameters, list[int]]] = {  # metric, parameters, sizes
        FIXED_K: ("mutual_knn", fixed_k(k), [size for size in sizes if size > k]),
        FIXED_SHARE: ("mutual_knn", fixed_share(share), shared),
        "CKA": ("cka", lambda _: {}, sizes),
        "unbiased CKA": ("unbiased_cka", lambda _: {}, sizes),
    }
    tables = []
    for done, (curve, (name, parameters, few)) in enumerate(curves.items(), start=1):
        table = size_curve(
            METRICS[name],
            x,
            y,
            sizes=few,
            parameters=parameters,
            seed=seed,
            repeats=REPEATS_GROWN,
        )
        tables.append(table.assign(curve=curve, metric=name))
        if report:
            report(done, len(curves), "curves over the number of stimuli")
    return pd.concat(tables, ignore_index=True)


def growing(n: int) -> list[int]:
    """Return n and its halves, quarters … down to SMALLEST_SAMPLE, rising."""
    halvings = range(max(0, int(np.log2(n / SMALLEST_SAMPLE))) + 1)
    return sorted(n >> halving for halving in halvings)
