"""What alignment unrelated spaces would reach, and which of many p-values are discoveries.

The null shuffles the stimuli of y. One permutation serves all layers and all models of a study,
and the choice of layers is made again for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.machine.memory import check_memory
from core.metrics.spec import MetricSpec

ALPHA = 0.05
FEWEST = 19  # permutations with which p can be ALPHA
COLUMNS = ("score", "null_mean", "null_sd", "threshold", "p", "calibrated", "reason")
BATCH_BYTES = 64 * 2**20  # of one batch of scores, all layer pairs of a study

Scores = Float64[np.ndarray, "P Lx Ly"]
Choice = Callable[[Scores], Float64[np.ndarray, "P"]]


def draw_orders(n: int, *, count: int, seed: int) -> Int64[np.ndarray, "count n"]:
    """Draw `count` permutations of 0 … n − 1, uniform and independent; with the same seed the first
    ones are always the same. Raises DeviceError for more than fit into the memory.
    """
    check_memory(
        2 * 8 * count * n,  # the orders, and what they are drawn from
        f"{count:,} orders of {n:,} each",
        "ask for fewer",
    )
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n), (count, 1)), axis=1)


def draw_sample(n: int, most: int, *, seed: int) -> Int64[np.ndarray, " m"]:
    """Draw `most` of n, all if there are fewer; with one seed the smaller sample lies within the
    larger.
    """
    return np.sort(draw_orders(n, count=1, seed=seed)[0, :most])


def best_pair(spec: MetricSpec) -> Choice:
    """Choose the most aligned pair of layers each time; NaN is passed over unless all are."""
    most = np.fmax if spec.higher_is_more_aligned else np.fmin
    return lambda scores: most.reduce(scores, axis=(1, 2))


def fixed_pair(layer_x: int, layer_y: int) -> Choice:
    return lambda scores: scores[:, layer_x, layer_y]


def null_scores(
    score: Callable[[Int64[np.ndarray, "P n"]], Scores],
    orders: Int64[np.ndarray, "P n"],
    *,
    choice: Choice,
    layers_x: Sequence[int],
    layers_y: Sequence[int],
) -> Float64[np.ndarray, "P pairs"]:
    """Score every pair of models under every permutation, one score for all their layers: a column
    for each pair, every model of y with the first of x, then with the second, and so on.

    score: gives the scores of all layers of x's models, stacked, with all of y's, for a batch of
    orders of y's stimuli, such as `core.pairs.lists.shuffled_scores`. choice: `best_pair` or
    `fixed_pair`. layers_x, layers_y: how many layers each model has.
    """
    if not (layers_x and layers_y and len(orders)):
        sizes = f"{len(layers_x)} and {len(layers_y)} models, {len(orders)} permutations"
        raise MetricError(
            f"expected at least one model on each side and one permutation; got {sizes}"
        )
    ends_x, ends_y = np.cumsum(layers_x)[:-1], np.cumsum(layers_y)[:-1]
    batch = max(1, BATCH_BYTES // (8 * sum(layers_x) * sum(layers_y)))
    found = []
    for start in range(0, len(orders), batch):
        rows = np.split(score(orders[start : start + batch]), ends_x, axis=1)
        pairs = [choice(pair) for row in rows for pair in np.split(row, ends_y, axis=2)]
        found.append(np.stack(pairs, axis=1))
    return np.concatenate(found)


def calibrate(
    observed: Float64[np.ndarray, "pairs"],
    null: Float64[np.ndarray, "K pairs"],
    *,
    spec: MetricSpec,
) -> pd.DataFrame:
    """Compare observed scores with their nulls.

    threshold τ: the ⌈0.95 (K + 1)⌉-th of the null and the observed score s together, counted from
    the least aligned. p: (1 + #{null at least as aligned as s}) / (K + 1), one-sided. calibrated:
    clip((s − τ) / (s_max − τ), 0, 1), with s_max the aligned end of the metric's range; higher is
    more aligned for every metric. Unrelated spaces get 0 with a probability of at least 0.95.
    Returns COLUMNS for each pair; NaN if `reason` says why. Source: Gröger, Wen, Brbić 2026.
    """
    check_count(len(null))
    rank = len(null) + 1 - (len(null) + 1) // 20
    rows = [
        _calibrated(float(score), shuffled, spec, rank)
        for score, shuffled in zip(observed, null.T, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def check_count(count: int) -> None:
    if count < FEWEST:
        raise MetricError(f"a 95% threshold needs at least {FEWEST} permutations; got {count}")


def _calibrated(
    score: float, null: Float64[np.ndarray, "K"], spec: MetricSpec, rank: int
) -> tuple[float | str, ...]:
    undefined = np.count_nonzero(np.isnan(null))
    if math.isnan(score) or undefined:
        reason = (
            f"{spec.title} is undefined for {undefined} of {len(null)} permutations"
            if undefined
            else "there is no score"
        )
        return score, *[math.nan] * 5, reason
    toward = 1 if spec.higher_is_more_aligned else -1  # times a score: more is more aligned
    threshold = toward * float(np.sort(toward * np.append(null, score))[rank - 1])
    p = (1 + np.count_nonzero(toward * null >= toward * score)) / (len(null) + 1)
    left = toward * (spec.range[spec.higher_is_more_aligned] - threshold)
    if left <= 0:
        calibrated, reason = math.nan, "shuffled spaces are fully aligned, too"
    elif math.isinf(left):
        calibrated, reason = math.nan, f"{spec.title} has no best value"
    else:
        calibrated, reason = min(max(toward * (score - threshold) / left, 0.0), 1.0), ""
    return score, float(null.mean()), float(null.std(ddof=1)), threshold, p, calibrated, reason


def adjust(p: Float64[np.ndarray, "m"]) -> Float64[np.ndarray, "m"]:
    """Adjust p-values for the false discovery rate: q₍ᵢ₎ = minⱼ≥ᵢ p₍ⱼ₎ · m / j, over p₍₁₎ ≤ … ≤
    p₍ₘ₎.

    NaN is no test, and is not counted in m. Source: Benjamini, Hochberg 1995.
    """
    from scipy.stats import false_discovery_control  # a third of a second

    tested, q = ~np.isnan(p), np.full(p.shape, np.nan)
    if tested.any():
        q[tested] = false_discovery_control(p[tested])
    return q
