"""How well two spaces are translated with no pairs given: over sets of stimuli, beside chance."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from core.errors import MetricError
from core.machine.memory import check_memory
from core.metrics.knn import mutual_knn
from core.questions.translation.chance import chance_interval, chance_of
from core.questions.translation.matching import (
    METHODS,
    Kernel,
    agreement,
    import_transport,
    kernel_of,
    match,
    partner_rank,
)
from core.questions.translation.question import Matching
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import mean_interval
from core.statistics.nulls import draw_orders

MATRICES = 12  # of a number for every two stimuli, while two spaces are matched
DIMS, FEW = 16, 8  # dimensions and stimuli of what a machine is timed with
COLUMNS = (
    "method",
    "n",
    "draws",
    "found",
    "top1",
    "low",
    "high",
    "rank",
    "rank_low",
    "rank_high",
    "agreement",
    "agreement_true",
    "alignment",
    "chance",
    "chance_low",
    "chance_high",
    "p",
)
Space = Float[np.ndarray, "n _"]
Pair = tuple[Space, Space]
Row = dict[str, Any]


def methods_of(matching: Matching) -> Sequence[str]:
    """Return the methods that are meant; raises InputError where one is not installed."""
    methods = tuple(METHODS) if matching.method == "both" else (matching.method,)
    if "gw" in methods:
        import_transport()
    return methods


def check_sizes(sizes: Sequence[int], stimuli: int, k: int) -> None:
    """Refuse more stimuli than there are, and so few that they have no k neighbors; raises
    MetricError, and DeviceError for more than fit into the memory.
    """
    for size in sizes:
        if size > stimuli:
            raise MetricError(f"{size} stimuli cannot be matched, there are {stimuli}; name fewer")
        if size <= k:
            raise MetricError(
                f"{size} stimuli have fewer than k = {k} neighbors each; match more or lower --k"
            )
        check_memory(MATRICES * 8 * size**2, f"matchings of {size:,} stimuli", "match fewer")


def draw_sets(
    stimuli: int, size: int, *, draws: int, seed: int
) -> Iterator[Int64[np.ndarray, " size"]]:
    """Yield sets of stimuli that have none in common, as many as are wanted and there are."""
    order = draw_orders(stimuli, count=1, seed=seed)[0]
    for draw in range(min(draws, stimuli // size)):
        yield order[draw * size : (draw + 1) * size]


def measure_pairs(pairs: Sequence[Pair], matching: Matching) -> list[Row]:
    """Return a row per method with COLUMNS, over pairs of spaces of one number of stimuli n, whose
    rows are partners.

    found: how many partners, of n times the draws. top1: their share, low and high its 95 %
    interval over draws (Student's, NaN below five). rank: see `partner_rank`. agreement: CKA of the
    spaces as matched, agreement_true: with the true partners: where this is higher, a better
    matching was there and not found. alignment: mutual k-NN. chance: 1/n, with the exact interval
    of random matchings; p: one-sided.
    """
    kernels = [(kernel_of(x), kernel_of(y)) for x, y in pairs]
    n, draws = len(pairs[0][0]), len(pairs)
    truth = np.arange(n)
    shared = {
        "n": n,
        "draws": draws,
        "agreement_true": float(np.mean([agreement(a, b, truth) for a, b in kernels])),
        "alignment": float(np.mean([_aligned(x, y, matching.k) for x, y in pairs])),
        "chance": 1 / n,
    }
    low, high = chance_interval(n, draws)
    rows = []
    for method in methods_of(matching):
        matched = [
            match(a, b, method, starts=matching.starts, seed=matching.seed + draw)
            for draw, (a, b) in enumerate(kernels)
        ]
        own = {"method": method, "chance_low": low, "chance_high": high}
        rows.append({**own, **shared, **_measured(kernels, matched)})
    return rows


def _measured(
    kernels: Sequence[tuple[Kernel, Kernel]], matched: Sequence[Int64[np.ndarray, " n"]]
) -> Row:
    n = len(matched[0])
    truth = np.arange(n)
    hits = np.array([np.count_nonzero(each == truth) for each in matched])
    ranks = np.array(
        [partner_rank(a, b, each, truth) for (a, b), each in zip(kernels, matched, strict=True)]
    )
    agreed = [agreement(a, b, each) for (a, b), each in zip(kernels, matched, strict=True)]
    low, high = _interval(hits / n)
    rank_low, rank_high = _interval(ranks)
    return {
        "found": int(hits.sum()),
        "top1": float(hits.mean() / n),
        "low": low,
        "high": high,
        "rank": float(ranks.mean()),
        "rank_low": rank_low,
        "rank_high": rank_high,
        "agreement": float(np.mean(agreed)),
        "p": chance_of(int(hits.sum()), n, len(matched)),
    }


def _interval(shares: Float64[np.ndarray, " draws"]) -> tuple[float, float]:
    """Return the interval of the mean of shares over draws, within 0 … 1."""
    low, high = np.clip(mean_interval(shares), 0, 1)
    return float(low), float(high)


def _aligned(x: Space, y: Space, k: int) -> float:
    return mutual_knn(*(normalize_rows(each.astype(np.float32)) for each in (x, y)), k=k)


@cache
def seconds_for(size: int, matching: Matching) -> float:
    """Return about how many seconds it takes to measure one pair of spaces over all draws, at the
    pace that this machine has now.
    """
    spent = {}
    for n in (min(size, FEW), size):  # the first imports what it needs
        latent, *noise = np.random.default_rng(0).normal(size=(3, n, DIMS))
        began = time.perf_counter()
        measure_pairs(
            [(latent + noise[0], latent + noise[1])], replace(matching, k=min(matching.k, n - 1))
        )
        spent[n] = time.perf_counter() - began
    return spent[size] * matching.draws
