"""How far the mean of a neighbor metric would be from itself, had as many other stimuli been drawn
from the same world: as stimuli and as each other's candidates.

What is covered is the metric's expectation at this number of stimuli and this k. Two halves of the
stimuli share none, so how far they lie apart tells the variance of a half without bias; with half
of k their neighborhoods reach as far as those of the whole. Per stimulus that variance has two
parts: what differs between places of the world, a, which the whole has too, and what comes of
counting few neighbors, b / k, of which the whole has half. The jackknife tells them apart. It
leaves out one stimulus at a time, and counts what several do together once for each of them (Efron,
Stein 1981), so it is too large, but in what comes of counting alone: a + c / k. By as much as it is
larger in halves than in the whole, it is larger in the whole than a.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float64, Int32, Int64

from core.errors import MetricError
from core.progress import tell_each
from core.statistics.intervals import LEVEL, draw_halves, student_interval

Lists = Int32[np.ndarray, "n _"]
Share = Callable[[Int64[np.ndarray, " counts"], int], Float64[np.ndarray, " counts"]]


def halved(k: int) -> int:
    """Return how many neighbors are counted in a half: as large a share of it, rounded up, so that
    one stays one.
    """
    return (k + 1) // 2


def depth_for_halves(k: int, n: int) -> int:
    """Return how many neighbors lists of n stimuli must hold, so that within any half those are
    among them that an interval at k asks for: in one list of 10¹¹ they are not.
    """
    half = halved(k)
    return min(n - 1, math.ceil(2 * half + 9 * math.sqrt(half) + 38))


def neighbor_interval(
    x: Int32[np.ndarray, "n kx"],
    y: Int32[np.ndarray, "n ky"],
    *,
    k: int,
    share: Share,
    count: int,
    seed: int,
    level: float = LEVEL,
) -> Float64[np.ndarray, "2"]:
    """Return the interval (low, high) of a neighbor metric: its mean over stimuli ± t times the
    standard error.

    The variance per stimulus is a + b / k, where halves with k′ of k neighbors show V = a + b / k′;
    a = (r J − J′) / (r − 1), with r = k / k′ and J, J′ the jackknife of the whole and of halves,
    but no less than 0 and no more than V. t has `count` degrees of freedom, but no more than
    ⌊n / 2⌋ − 1: all halves are of one sample. That is a convention. In simulations of ten worlds
    (`tests/benchmarks/coverage.py`, `count` = 100) the 95 % interval of mutual k-NN held the mean
    in 91 to 99 % of 100 draws at n = 256 (two standard errors of each share are 4 points), in 92
    to 100 % of 60 at 1,024. Jaccard k-NN was not simulated.

    x, y: neighbors of one layer each, most similar first, `depth_for_halves` of them. share: what a
    stimulus adds to the mean, from how many of its k neighbors are common, such as
    `core.metrics.knn.mutual_share`. count: pairs of halves. Raises MetricError for a level outside
    (0, 1), no halves, a k that halves do not allow, a layer without neighbors and lists that are
    too short.
    """
    own, influences = find_influences(x, y, k=k, share=share)
    both = np.stack([lists[:, : min(x.shape[1], y.shape[1])] for lists in (x, y)])
    apart, spread = measure_halves(both, k=halved(k), share=share, count=count, seed=seed)
    fewer = k / halved(k)
    lasting = 0.0
    if fewer > 1:
        lasting = (fewer * influences.var(ddof=1) - spread) / (fewer - 1)
    variance = (apart + (fewer - 1) * min(max(lasting, 0.0), apart)) / fewer
    error = math.sqrt(variance / len(own))
    freedom = min(count, len(own) // 2 - 1)
    return student_interval(float(own.mean()), error, freedom=freedom, level=level)


def measure_halves(
    lists: Int32[np.ndarray, "2 n depth"], *, k: int, share: Share, count: int, seed: int
) -> tuple[float, float]:
    """Return the variance of a half's mean and the jackknife's estimate of it, both per stimulus,
    the means over so many pairs of halves.
    """
    apart, spread = [], []
    halves = draw_halves(lists.shape[1], count=count, seed=seed)
    for half in tell_each(halves, "halves of the stimuli"):
        parts = [
            find_influences(*within(lists, rows, k=k + 1), k=k, share=share)
            for rows in (half, ~half)
        ]
        (one, other), sizes = ((own.mean() for own, _ in parts), [len(own) for own, _ in parts])
        apart.append((one - other) ** 2 * math.prod(sizes) / sum(sizes))
        spread += [influences.var(ddof=1) for _, influences in parts]
    return float(np.mean(apart)), float(np.mean(spread))


def find_influences(
    x: Int32[np.ndarray, "n kx"], y: Int32[np.ndarray, "n ky"], *, k: int, share: Share
) -> tuple[Float64[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    """Return each stimulus's own term, and its influence: that, and what the terms of others lose
    without it.

    x, y: neighbors of one layer each, most similar first, at least k + 1 of them. Raises
    MetricError for fewer, and for a layer that has none.
    """
    from core.pairs.loops.leaving import add_influences  # half a second of numba

    kept = min(x.shape[1], y.shape[1])
    if not 1 <= k < kept:
        raise MetricError(
            f"k must lie in 1 … {kept - 1}, one less than the neighbors kept for each stimulus;"
            f" got {k}"
        )
    if x[0, 0] < 0 or y[0, 0] < 0:
        raise MetricError(
            "this layer has no neighbors: it is constant or has zeros only; choose another layer"
        )
    own, influences = np.zeros((2, len(x)))
    shares = share(np.arange(k + 1), k)
    add_influences(x, y, k, shares, own, influences)
    return own, influences


def within(
    lists: Int32[np.ndarray, "2 n depth"], rows: Bool[np.ndarray, "n"], *, k: int
) -> Int32[np.ndarray, "2 m k"]:
    """Return the k nearest of each stimulus of a set among the others of it, counted within the
    set, in both spaces.

    Raises MetricError where a list holds fewer of the set.
    """
    from core.pairs.loops.walks import first_within  # half a second of numba

    place = np.where(rows, np.cumsum(rows) - 1, -1).astype(np.int32)
    nearest, ranks = np.full((2, rows.sum(), 2, k), -1, dtype=np.int32)
    first_within(lists, np.flatnonzero(rows), place, nearest, ranks)
    if nearest[:, :, -1].min() < 0:
        raise MetricError(
            f"half of the stimuli hold fewer than {k} of some stimulus's {lists.shape[2]}"
            " neighbors; keep more of them, or choose a smaller k"
        )
    by_space: np.ndarray = nearest.transpose(1, 0, 2)
    return by_space
