"""Colors laid out in three dimensions by dissimilarity, one layout fitted to another, and the
agreement of two sets of dissimilarities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from jaxtyping import Float, Float64, Integer
from scipy.spatial import distance

from core.errors import MetricError
from core.machine.memory import check_memory
from core.machine.processes import count_threads
from core.progress import tell_each
from core.statistics.intervals import TAILS
from core.statistics.layouts import classical
from core.statistics.nulls import draw_orders

STARTS = 1000  # as published
ITERATIONS, TOLERANCE = 300, 1e-7  # of every start
POLISH, POLISHED = 100_000, 1e-16  # of the best one
DIMS = 3
_BATCH = 50  # starts between two reports


def lay_out(
    dissimilarities: Float[np.ndarray, "n n"],
    *,
    starts: int = STARTS,
    seed: int = 0,
) -> tuple[Float64[np.ndarray, "n 3"], float]:
    """Return the points of the best of `starts` random starts (uniform in the unit cube, seeded)
    and classical scaling, polished, and their `stress`.

    dissimilarities: symmetric, 0 or more, 0 on the diagonal, finite; raises MetricError for others.
    Source: de Leeuw 1977 (majorization); Kruskal 1964 (stress); Torgerson 1952 (the start).
    """
    target, n = dissimilarities.astype(np.float64), len(dissimilarities)
    if n <= DIMS:
        raise MetricError(f"a layout has more than {DIMS} colors; got {n}")
    if not (np.isfinite(target).all() and (target >= 0).all() and target.any()):
        raise MetricError("dissimilarities are finite, 0 or more and not all 0; got others")
    if not np.allclose(target, target.T) or target.diagonal().any():
        raise MetricError("dissimilarities are symmetric with 0 on the diagonal; got others")
    what = f"{starts:,} starts of a layout of {n:,} colors"
    check_memory(5 * 8 * starts * n * DIMS, what, "ask for fewer")
    drawn = np.random.default_rng(seed).random((starts, n, DIMS))
    tried = np.concatenate([classical(target, dims=DIMS)[None], drawn])
    batches = tell_each(range(0, len(tried), _BATCH), "batches of starts of the layout")
    layouts = [smacof(target, tried[first : first + _BATCH]) for first in batches]
    points, stresses = (np.concatenate(part) for part in zip(*layouts, strict=True))
    best = points[int(stresses.argmin())][None]
    (polished,), _ = smacof(target, best, iterations=POLISH, tolerance=POLISHED)
    return polished - polished.mean(axis=0), stress(target, polished)


def smacof(
    dissimilarities: Float[np.ndarray, "n n"],
    starts: Float[np.ndarray, "S n 3"],
    *,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> tuple[Float64[np.ndarray, "S n 3"], Float64[np.ndarray, "S"]]:
    """Improve every start by Guttman transforms; return the points and their raw stresses Σ (dᵢⱼ −
    δᵢⱼ)², i < j.

    A start ends where a transform gains at most `tolerance` · Σ δᵢⱼ², or after `iterations`. Each
    is worked on by one thread, so that the number of threads changes nothing.
    """
    from core.questions.color.loops import majorize

    target = np.ascontiguousarray(dissimilarities, np.float64)
    points, stresses = np.empty(starts.shape), np.empty(len(starts))
    least = tolerance * float(np.square(target).sum()) / 2
    threads = min(count_threads(), len(starts))
    parts = (np.array_split(array, threads) for array in (starts, points, stresses))
    with ThreadPoolExecutor(threads) as pool:
        done = [
            pool.submit(majorize, target, a, iterations, least, b, c)
            for a, b, c in zip(*parts, strict=True)
        ]
        for each in done:
            each.result()
    return points, stresses


def stress(dissimilarities: Float[np.ndarray, "n n"], points: Float[np.ndarray, "n dims"]) -> float:
    """Return Kruskal's stress-1 of a layout, √(Σ (dᵢⱼ − δᵢⱼ)² / Σ dᵢⱼ²) over i < j: 0 or more,
    lower is better.
    """
    apart = distance.pdist(points)
    return float(
        np.linalg.norm(apart - distance.squareform(dissimilarities, checks=False))
        / np.linalg.norm(apart)
    )


def superpose(
    points: Float[np.ndarray, "n 3"], onto: Float[np.ndarray, "n 3"]
) -> Float64[np.ndarray, "n 3"]:
    """Turn, scale and move points so that Σ ‖onto − points‖² is least, as they are and mirrored;
    the better of the two is returned.

    Raises MetricError if either are all in one place. Source: Kabsch 1976, 1978; Umeyama 1991,
    equations 39 to 43; Huh et al. 2024, appendix D.
    """
    if min(np.ptp(points, axis=0).max(), np.ptp(onto, axis=0).max()) == 0:
        raise MetricError("expected points in different places; got points that are all in one")
    tried = [_turned(mirror * points, onto.astype(np.float64)) for mirror in (1.0, -1.0)]
    return min(tried, key=lambda one: float(np.square(onto - one).sum()))


def _turned(
    points: Float64[np.ndarray, "n 3"], goal: Float64[np.ndarray, "n 3"]
) -> Float64[np.ndarray, "n 3"]:
    around, wanted = points - points.mean(axis=0), goal - goal.mean(axis=0)
    left, sizes, right = np.linalg.svd(wanted.T @ around)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(left) * np.linalg.det(right))])
    scale = float((sizes * signs).sum() / np.square(around).sum())
    turned: np.ndarray = scale * around @ ((left * signs) @ right).T + goal.mean(axis=0)
    return turned


MANY = 4000  # values: all pairs of more would take gigabytes
FEWEST = 5  # colors; of fewer, shuffling gives hardly any other order

Square = Float64[np.ndarray, "n n"]
Rows = Integer[np.ndarray, " _"]
Ranks = Float64[np.ndarray, " pairs"]


def rank_agreement(
    x: Square, y: Square, *, permutations: int, draws: int = 0, seed: int = 0
) -> dict[str, float]:
    """Return Kendall's τ-b of the dissimilarities of all pairs of colors, with its chance, p, low
    and high.

    chance, p: see `permuted`. low, high: 95% interval for other colors, from `draws` of them with
    replacement: τ plus the quantiles of the draws around their mean; a color and its copy are no
    pair. NaN without draws, or if τ has no value. Raises MetricError for fewer than FEWEST colors,
    if all colors of a side are equally dissimilar. Source: Kriegeskorte et al. 2008 (RSA and its
    permutation test); Abdou et al. 2021 (τ over color terms).
    """
    n = len(x)
    if n < FEWEST:
        raise MetricError(
            f"at least {FEWEST} colors expected, since fewer have hardly any other order; got {n}"
        )
    first, second = np.triu_indices(n, 1)
    if min(np.ptp(side[first, second]) for side in (x, y)) == 0:
        raise MetricError(
            "all colors are equally dissimilar in one of the sources, so that nothing correlates"
            " with it"
        )
    ranks_x, ranks_y = (_ranks(side, first, second) for side in (x, y))

    def tau(own: Rows, other: Rows) -> float:
        pairs = own[first] != own[second]
        i, j = first[pairs], second[pairs]
        return _kendall(ranks_x[own[i], own[j]], ranks_y[other[i], other[j]])

    same = np.arange(n)
    found = permuted(lambda order: tau(same, order), n, permutations=permutations, seed=seed)
    low = high = math.nan
    if draws:
        check_memory(8 * draws * n, f"{draws:,} draws of {n:,} colors", "ask for fewer")
        drawn = np.random.default_rng(seed).integers(n, size=(draws, n))
        taus = np.array([tau(take, take) for take in tell_each(drawn, "draws of colors")])
        ends = np.quantile(taus - taus.mean(), TAILS)
        low, high = np.clip(found["value"] + ends, -1, 1).tolist()
    return {**found, "low": low, "high": high}


def permuted(
    score: Callable[[Rows], float],
    n: int,
    *,
    permutations: int,
    seed: int = 0,
    higher_is_more_similar: bool = True,
) -> dict[str, float]:
    """Return a score of colors in their order (value), its mean over orders (chance), and the share
    of orders that are at least as similar (p): (1 + #) / (permutations + 1), one-sided.
    """
    value, toward = score(np.arange(n)), 1 if higher_is_more_similar else -1
    orders = draw_orders(n, count=permutations, seed=seed)
    null = np.array([score(order) for order in tell_each(orders, "permutations")])
    if not len(null) or np.isnan(value) or np.isnan(null).any():
        return {"value": value, "chance": math.nan, "p": math.nan}
    p = (1 + np.count_nonzero(toward * null >= toward * value)) / (len(null) + 1)
    return {"value": value, "chance": float(null.mean()), "p": float(p)}


def _ranks(matrix: Square, first: Rows, second: Rows) -> Square:
    """Return the ranks of all pairs as a matrix: they stay if colors change places."""
    from scipy.stats import rankdata

    ranks = np.zeros_like(matrix)
    ranks[first, second] = ranks[second, first] = rankdata(matrix[first, second])
    return ranks


def _kendall(x: Ranks, y: Ranks) -> float:
    """Return τ-b of ranks; of a few, scipy's function spends most of its time on a p-value."""
    if len(x) > MANY:
        from scipy.stats import kendalltau

        return float(kendalltau(x, y).statistic)
    first, second = _pairs(len(x))
    a, b = (np.sign((ranks[first] - ranks[second]).astype(np.float32)) for ranks in (x, y))
    ordered = float(a @ a) * float(b @ b)  # how many are in x, and in y; exact below 2²⁴ pairs
    return float(a @ b) / math.sqrt(ordered) if ordered else math.nan


@cache
def _pairs(count: int) -> tuple[Rows, Rows]:
    return np.triu_indices(count, 1)
