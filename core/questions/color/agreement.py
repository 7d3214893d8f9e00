"""How alike two arrangements of the same colors are, what shuffled colors would give, and how far
other colors might change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from jaxtyping import Float64, Integer

from core.errors import MetricError
from core.machine.memory import check_memory
from core.progress import tell_each
from core.questions.color.layout import disparity
from core.questions.color.parts import DRAWS, PERMUTATIONS, K
from core.statistics.intervals import LEVEL
from core.statistics.nulls import draw_orders

MANY = 4000  # values: all pairs of more would take gigabytes
FEWEST = 5  # colors; of fewer, shuffling gives hardly any other order
DISSIMILARITIES, LAYOUTS = "dissimilarities", "layouts"
COLUMNS = ("of", "measure", "value", "chance", "p", "low", "high")

Square = Float64[np.ndarray, "n n"]
Rows = Integer[np.ndarray, " _"]
Score = Callable[
    [Rows, Rows], float
]  # rows of x and rows of y that are taken for the same colors → value


@dataclass(frozen=True)
class Arrangement:
    """Colors by how unlike they are, and where a layout of that puts them."""

    dissimilarities: Float64[np.ndarray, "n n"]
    layout: Float64[np.ndarray, "n d"]


@dataclass(frozen=True)
class Measure:
    """One way to compare, its range, and which end of it is more alike."""

    score: Score
    range: tuple[float, float]
    higher: bool


def agree(
    x: Arrangement,
    y: Arrangement,
    *,
    k: int = K,
    permutations: int = PERMUTATIONS,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare two arrangements of the same colors, a row per measure.

    of: "dissimilarities" or "layouts". measure: of both, "kendall" (τ-b) and "spearman" of all
    pairs of colors, and "neighbors", the mean share of a color's k nearest that are its nearest in
    both (of equally near ones, the first); of layouts "disparity". Higher is more alike, of
    disparity lower. chance: mean over `permutations` orders of y's colors, p the share of them that
    is at least as alike: (1 + #) / (permutations + 1), one-sided. low, high: 95% interval for
    other colors, from `draws` of them with replacement: the value plus the quantiles of the draws
    around their mean, cut off at the measure's range. A color and its copy are no pair. NaN where
    nothing is drawn, and where the value or some draw has none. Raises MetricError for fewer than
    FEWEST colors, for k outside 1 … n − 1, and where all colors are equally unlike. Source:
    Kriegeskorte et al. 2008 (RSA and its permutation test); Abdou et al. 2021 (τ over color terms).
    """
    n = len(x.dissimilarities)
    _check(x, y, k)
    orders = draw_orders(n, count=permutations, seed=seed)
    drawn = _draw_colors(n, draws=draws, seed=seed)
    rows = []
    for of, name, measure in measures(x, y, k=k):
        same, toward = np.arange(n), 1 if measure.higher else -1
        value = measure.score(same, same)
        shuffled = tell_each(orders, "permutations")
        null = np.array([measure.score(same, order) for order in shuffled])
        p = _share_beyond(toward * value, toward * null)
        taken = tell_each(drawn, "draws of colors")
        scores = np.array([measure.score(take, take) for take in taken])
        low, high = _interval(value, scores, measure.range)
        rows.append((of, name, value, null.mean() if permutations else np.nan, p, low, high))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _draw_colors(n: int, *, draws: int, seed: int) -> Integer[np.ndarray, "draws n"]:
    """Draw n colors with replacement, so many times."""
    check_memory(8 * draws * n, f"{draws:,} draws of {n:,} colors", "ask for fewer")
    return np.random.default_rng(seed).integers(n, size=(draws, n))


def _share_beyond(value: float, null: Float64[np.ndarray, " orders"]) -> float:
    """Return p; NaN where the value or one of the null has none, and where nothing was shuffled."""
    if not len(null) or np.isnan(value) or np.isnan(null).any():
        return np.nan
    return float((1 + np.count_nonzero(null >= value)) / (len(null) + 1))


def measures(x: Arrangement, y: Arrangement, *, k: int) -> list[tuple[str, str, Measure]]:
    """Return every measure of two arrangements with what it is of and its name."""
    points = (x.layout, y.layout)
    entries = []
    for of, (a, b) in (
        (DISSIMILARITIES, (x.dissimilarities, y.dissimilarities)),
        (LAYOUTS, tuple(map(_distances, points))),
    ):
        entries += [
            (of, "kendall", Measure(_correlating(a, b, _kendall), (-1.0, 1.0), True)),
            (of, "spearman", Measure(_correlating(a, b, _spearman), (-1.0, 1.0), True)),
            (of, "neighbors", Measure(_sharing(a, b, k), (0.0, 1.0), True)),
        ]
    turned = Measure(
        lambda own, other: disparity(points[0][own], points[1][other]), (0.0, 1.0), False
    )
    return [*entries, (LAYOUTS, "disparity", turned)]


def shared_neighbors(x: Square, y: Square, *, k: int = K) -> Float64[np.ndarray, " n"]:
    """Return the share of each color's k nearest colors in x that are its k nearest in y; of
    equally near ones, the first.
    """
    shares: np.ndarray = (
        (_nearest(x, k)[:, :, None] == _nearest(y, k)[:, None, :]).any(axis=2).mean(axis=1)
    )
    return shares


def _correlating(
    x: Square, y: Square, correlate: Callable[[np.ndarray, np.ndarray], float]
) -> Score:
    """Correlate by the ranks of all pairs, which stay when colors change places; where copies leave
    pairs out they rank again.
    """
    first, second = np.triu_indices(len(x), 1)
    ranks_x, ranks_y = (_ranks(matrix, first, second) for matrix in (x, y))

    def score(own: Rows, other: Rows) -> float:
        pairs = own[first] != own[second]  # a color drawn twice is no pair
        i, j = first[pairs], second[pairs]
        values = ranks_x[own[i], own[j]], ranks_y[other[i], other[j]]
        return correlate(*values) if pairs.all() else correlate(*map(_ranked, values))

    return score


def _ranks(matrix: Square, first: Rows, second: Rows) -> Square:
    ranks = np.zeros_like(matrix)
    ranks[first, second] = ranks[second, first] = _ranked(matrix[first, second])
    return ranks


def _ranked(values: Float64[np.ndarray, " pairs"]) -> Float64[np.ndarray, " pairs"]:
    from scipy.stats import rankdata

    return rankdata(values)


def _sharing(x: Square, y: Square, k: int) -> Score:
    near, shares = _nearest(x, k), shared_neighbors(x, y, k=k)

    def score(own: Rows, other: Rows) -> float:
        if own is other or np.array_equal(
            own, other
        ):  # each color with itself: neighbors stay those among all colors
            return float(shares[own].mean())
        turned = _nearest(y[np.ix_(other, other)], k)
        return float((near[:, :, None] == turned[:, None, :]).any(axis=2).mean())

    return score


def _nearest(apart: Square, k: int) -> Integer[np.ndarray, "n k"]:
    others = apart.copy()
    np.fill_diagonal(others, np.inf)
    return np.argsort(others, axis=1, kind="stable")[:, :k]


def _kendall(x: Float64[np.ndarray, " pairs"], y: Float64[np.ndarray, " pairs"]) -> float:
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


def _spearman(x: Float64[np.ndarray, " pairs"], y: Float64[np.ndarray, " pairs"]) -> float:
    """Correlate ranks."""
    a, b = x - x.mean(), y - y.mean()
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / lengths) if lengths else float("nan")


def _distances(points: Float64[np.ndarray, "n d"]) -> Square:
    from scipy.spatial import distance

    return distance.squareform(distance.pdist(points))


def _interval(
    value: float, draws: Float64[np.ndarray, " draws"], ends: tuple[float, float]
) -> tuple[float, float]:
    if not len(draws):
        return np.nan, np.nan
    low, high = np.clip(
        value + np.quantile(draws - draws.mean(), ((1 - LEVEL) / 2, (1 + LEVEL) / 2)), *ends
    )
    return float(low), float(high)


def _check(x: Arrangement, y: Arrangement, k: int) -> None:
    n, other = len(x.dissimilarities), len(y.dissimilarities)
    if n != other:
        raise MetricError(
            f"expected two arrangements of the same colors; got {n} and {other} colors"
        )
    if n < FEWEST:
        raise MetricError(
            f"at least {FEWEST} colors expected, since fewer have hardly any other order; got {n}"
        )
    if not 1 <= k < n:
        raise MetricError(f"k must lie in 1 … {n - 1} for {n} colors; got {k}")
    pairs = np.triu_indices(n, 1)
    for side in (x, y):
        if np.ptp(side.dissimilarities[pairs]) == 0:
            raise MetricError(
                "all colors are equally unlike in one of the arrangements, so that nothing"
                " correlates with it"
            )
