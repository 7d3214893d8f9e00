"""Simpler explanations of an alignment: categories, nuisances, few stimuli, chance of ranks.

Arrays in, numbers out; `core/questions/controls.py` asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float64, Int, Int64

from core.errors import MetricError
from core.metrics.knn import count_shared
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows
from core.statistics.nulls import FEWEST
from core.statistics.trends import orders_within

LEVEL, POWER = 1.959964, 0.841621  # normal quantiles of 97.5% and 80%
AT_ONCE = 2**24  # random numbers that are held

Groups = Int64[np.ndarray, " n"]
Values = Float64[np.ndarray, " n"]
Space = Float[np.ndarray, "n _"]


def group(values: pd.Series) -> Groups:
    """Number the categories of a factor's values; missing values are a category of their own."""
    return pd.factorize(values, use_na_sentinel=False)[0].astype(np.int64)


def count_movable(groups: Groups) -> int:
    """Return how many stimuli share their category with another, so that they can be exchanged."""
    sizes = np.bincount(groups)
    return int(sizes[sizes > 1].sum())


def check_groups(groups: Groups, name: str) -> None:
    """Refuse categories within which fewer than half of the stimuli could be exchanged."""
    moved, n = count_movable(groups), len(groups)
    if moved < n / 2:
        raise MetricError(
            f"only {moved:,} of {n:,} stimuli share their {name} with another, so fewer than half"
            " could be permuted; choose a column with fewer values"
        )


def draw_orders_within(groups: Groups, *, count: int, seed: int) -> Int64[np.ndarray, "count n"]:
    """Draw `count` permutations that exchange stimuli of one category only."""
    return np.stack(list(orders_within(groups, draws=count, seed=seed)))


def shared_by_categories(groups: Groups, *, k: int) -> float:
    """Return the mean mutual k-NN of two spaces that have nothing but these categories in common.

    Of the k neighbors of a stimulus in a category of m, a = min(k, m − 1) are of it, the same ones
    by chance: a² / (m − 1) in common; the others come from the n − m outside: (k − a)² / (n − m).
    For equal categories with more than k stimuli it is k / (n/C − 1).
    """
    sizes, n = np.bincount(groups)[groups], len(groups)
    inside = np.minimum(k, sizes - 1)
    common = inside**2 / np.maximum(sizes - 1, 1) + (k - inside) ** 2 / np.maximum(n - sizes, 1)
    return float(common.mean() / k)


@dataclass(frozen=True)
class Partial:
    """raw: correlation of the similarities. partial: what is left once controls are regressed out.
    low, high: its 95% interval over stimuli, by the jackknife. null: partial correlations with y's
    stimuli shuffled. p: one-sided. explained: R² of y's similarities on the controls.
    """

    raw: float
    partial: float
    low: float
    high: float
    null: Float64[np.ndarray, " draws"]
    p: float
    explained: float


def partial_alignment(
    x: Space, y: Space, controls: Sequence[Space], orders: Int64[np.ndarray, "draws n"]
) -> Partial:
    """Return the correlation of two spaces' similarities of all pairs of stimuli, and what is left
    of it after a linear regression on the controls' similarities and their squares.

    Similarities are products of the rows, which the caller normalizes. The null shuffles the
    stimuli of y's residuals and regresses again (Freedman, Lane 1983). With residuals r:
    partial = ⟨rˣ, rʸ⟩ / (‖rˣ‖ ‖rʸ‖), from −1 to 1; higher is more aligned. The jackknife leaves the
    pairs of one stimulus out of these sums, the regression as it is.
    """
    if len(orders) < FEWEST:
        raise MetricError(f"expected at least {FEWEST} permutations; got {len(orders)}")
    pairs = np.triu_indices(len(x), 1)
    first, second = _similarities(x)[pairs], _similarities(y)[pairs]
    linear = [_similarities(one)[pairs] for one in controls]
    basis = _basis([np.ones_like(first), *linear, *(each**2 for each in linear)])
    left_x, left_y = (_left(one, basis) for one in (first, second))
    for left, whole in ((left_x, first), (left_y, second)):
        if np.linalg.norm(left) <= 1e-9 * np.linalg.norm(whole):
            raise MetricError("the controls explain all similarities of a space")
    left_x /= np.linalg.norm(left_x)
    square = np.zeros((len(x), len(x)))
    square[pairs] = left_y
    square += square.T

    def correlate(order: Int64[np.ndarray, " n"]) -> float:
        moved = square[order[pairs[0]], order[pairs[1]]]
        rest = moved @ moved - ((basis.T @ moved) ** 2).sum()
        return float(left_x @ moved / math.sqrt(rest))

    observed = correlate(np.arange(len(x)))
    null = np.array([correlate(order) for order in orders])
    explained = 1 - float(left_y @ left_y) / float(((second - second.mean()) ** 2).sum())
    raw = float(np.corrcoef(first, second)[0, 1])
    p = (1 + int((null >= observed).sum())) / (len(null) + 1)
    half = LEVEL * _jackknife(left_x, left_y, pairs, len(x))
    return Partial(raw, observed, observed - half, observed + half, null, p, explained)


def _jackknife(
    x: Float64[np.ndarray, " pairs"],
    y: Float64[np.ndarray, " pairs"],
    pairs: tuple[np.ndarray, ...],
    n: int,
) -> float:
    """Return the standard error of the correlation of two residuals over stimuli."""

    def without_each(terms: Float64[np.ndarray, " pairs"]) -> Values:
        own = sum(np.bincount(side, weights=terms, minlength=n) for side in pairs)
        rest: Values = terms.sum() - own
        return rest

    each = without_each(x * y) / np.sqrt(without_each(x**2) * without_each(y**2))
    return float(np.sqrt((n - 1) / n * ((each - each.mean()) ** 2).sum()))


def _similarities(space: Space) -> Float64[np.ndarray, "n n"]:
    return space.astype(np.float64) @ space.astype(np.float64).T


def _basis(columns: Sequence[Values]) -> Float64[np.ndarray, "pairs c"]:
    """Return an orthonormal basis of what the columns span."""
    basis, rest = np.linalg.qr(np.stack(columns, axis=1))
    diagonal = np.abs(np.diag(rest))  # one per pair at most
    own = diagonal > 1e-9 * np.linalg.norm(rest[:, : len(diagonal)], axis=0)
    return basis[:, own]


def _left(
    values: Float64[np.ndarray, " pairs"], basis: Float64[np.ndarray, "pairs c"]
) -> Float64[np.ndarray, " pairs"]:
    return values - basis @ (basis.T @ values)


@dataclass(frozen=True, eq=False)
class Regression:
    """A linear regression of spaces on columns of numbers. basis: orthonormal, of what the columns
    span. free: the stimuli that it does not fit exactly.
    """

    basis: Float64[np.ndarray, "n c"]
    free: Bool[np.ndarray, " n"]

    @classmethod
    def on(cls, columns: Sequence[Values], *, k: int) -> Regression:
        """Raises MetricError if fewer than k + 2 stimuli are left to compare."""
        basis = _basis(columns)
        free = (basis**2).sum(axis=1) < 1 - 1e-6
        if free.sum() <= k + 1:
            raise MetricError(f"the controls determine all but {free.sum()} of {len(free)} stimuli")
        return cls(basis, free)

    def leave(self, space: Space) -> Space:
        """Return the residuals."""
        return space - self.basis @ (self.basis.T @ space)

    def neighbors(self, rest: Space, *, k: int) -> Int[np.ndarray, "m k"]:
        """Return the nearest neighbors of the free stimuli by residuals."""
        return nearest(normalize_rows(rest[self.free]), k=k)


def indicators(factors: Sequence[Groups]) -> list[Values]:
    """Return a column of zeros and ones for each category of each factor."""
    return [column for groups in factors for column in np.eye(groups.max() + 1)[groups].T]


def components(space: Space, *, most: int) -> list[Values]:
    """Return a constant column and the scores of the first principal components."""
    centered = space.astype(np.float64) - space.mean(axis=0)
    values, vectors = np.linalg.eigh(centered @ centered.T)
    kept = np.flatnonzero(values > 1e-9 * values[-1])[-most:]
    return [np.ones(len(space)), *vectors[:, kept].T]


@dataclass(frozen=True)
class Residual:
    """score: mutual k-NN of what factors leave of two spaces. null: the same with y's residuals
    shuffled. p: one-sided. n: stimuli whose categories do not determine them.
    """

    score: float
    null: Float64[np.ndarray, " draws"]
    p: float
    n: int


def residual_alignment(
    x: Space, y: Space, factors: Sequence[Groups], orders: Int64[np.ndarray, "draws n"], *, k: int
) -> Residual:
    """Return the mutual k-NN of two spaces after a regression on all categories of all factors.

    Each factor adds a vector per category, so conjunctions of factors are not regressed out. The
    null shuffles the rows of y's residuals and regresses again (Freedman, Lane 1983): residuals of
    one category depend on each other. Stimuli that the regression fits exactly are left out.
    """
    regression = Regression.on(indicators(factors), k=k)
    rest_x, rest_y = regression.leave(x), regression.leave(y)
    near = regression.neighbors(rest_x, k=k)

    def share(rest: Space) -> float:
        return float(count_shared(near, regression.neighbors(rest, k=k)).mean() / k)

    score = share(rest_y)
    null = np.array([share(regression.leave(rest_y[order])) for order in orders])
    p = (1 + int((null >= score - 1e-12).sum())) / (len(null) + 1)
    return Residual(score, null, p, int(regression.free.sum()))


def gallery_scores(
    x: Space,
    y: Space,
    *,
    order: Int64[np.ndarray, " n"],
    queries: int,
    sizes: Sequence[int],
    k: int,
) -> Float64[np.ndarray, "sizes queries"]:
    """Return each query's share of common neighbors, |Aᵢ ∩ Bᵢ| / k, among ever more stimuli.

    order: of the stimuli; the first `queries` are the queries, and the first m of them the gallery
    of size m. Rows are normalized by the caller. Memory is that of queries × n similarities per
    space. Raises MetricError for a size that does not hold the queries and k others.
    """
    if min(sizes) < max(queries, k + 1) or max(sizes) > len(order):
        raise MetricError(
            f"galleries of {max(queries, k + 1):,} to {len(order):,} stimuli expected; got {sizes}"
        )
    products = []
    for space in (x, y):
        asked = space[order[:queries]].astype(np.float64)
        similar = np.empty((queries, max(sizes)), np.float32)
        for start in range(0, max(sizes), 8192):
            part = order[start : min(start + 8192, max(sizes))]
            similar[:, start : start + len(part)] = asked @ space[part].astype(np.float64).T
        similar[np.arange(queries), np.arange(queries)] = -np.inf
        products.append(similar)
    scores = []
    for size in sizes:
        near = [
            np.argpartition(-one[:, :size], k - 1, axis=1)[:, :k].astype(np.int32)
            for one in products
        ]
        scores.append(count_shared(*near) / k)
    return np.stack(scores)


def _portions(draws: int, n: int) -> list[int]:
    """Return how many draws of n numbers each are made at once."""
    most = max(1, AT_ONCE // n)
    return [min(most, draws - done) for done in range(0, draws, most)]


@dataclass(frozen=True)
class Difference:
    """How far two models lie apart. low, high: 95% interval. p: two-sided, by exchanging the two
    models stimulus by stimulus. needed: stimuli with which a test of 5% finds this difference with
    a power of 80%.
    """

    value: float
    low: float
    high: float
    p: float
    needed: float


def compare_paired(
    a: Values, b: Values, *, draws: int, seed: int, errors: tuple[Values, Values] | None = None
) -> Difference:
    """Compare the mean of two models' terms over the same stimuli.

    errors: each stimulus's influence on the two means, if terms are not independent; the spread of
    their difference then makes the interval, the test and the number of stimuli.
    """
    value = float(np.mean(a - b))
    spread = a - b if errors is None else errors[0] - errors[1]
    centered = spread - spread.mean()
    n, variance = len(a), float(centered.var(ddof=1))
    half = LEVEL * math.sqrt(variance / n)
    rng, terms = np.random.default_rng(seed), (centered + value)[:, None]
    signed = [rng.choice((-1.0, 1.0), (count, n)) @ terms for count in _portions(draws, n)]
    null = np.abs(np.concatenate(signed)) / n
    p = (1 + int((null >= abs(value) - 1e-12).sum())) / (draws + 1)
    needed = math.inf
    if value:
        needed = float(np.ceil((LEVEL + POWER) ** 2 * variance / value**2))
    return Difference(value, value - half, value + half, p, needed)


def rank_intervals(
    means: Float64[np.ndarray, " m"],
    influences: Float64[np.ndarray, "m n"],
    *,
    draws: int,
    seed: int,
) -> tuple[Int64[np.ndarray, " m"], Int64[np.ndarray, " m"], Bool[np.ndarray, "m m"]]:
    """Return the lowest and highest rank of each model, 1 for the largest mean, and which pairs
    differ.

    The differences of all pairs have a joint 95% interval, the largest studentized one of `draws`
    multiplier draws; a model ranks below those that are surely larger, and above those that are
    surely smaller, so the intervals hold all ranks in at least 95% of samples.
    Source: Mogstad, Romano, Shaikh, Wilhelm 2024.

    influences: of each stimulus on each mean.
    """
    m, n = influences.shape
    centered = influences - influences.mean(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((count, n)) @ centered.T for count in _portions(draws, n)]
    moved = np.concatenate(parts) / n  # draws, models
    error = np.stack([(centered - one).std(axis=1, ddof=1) for one in centered]) / math.sqrt(n)
    error = np.maximum(error, np.finfo(np.float64).tiny)
    largest = np.zeros(draws)
    for model in range(m):
        studentized = np.abs((moved - moved[:, [model]]) / error[model])
        largest = np.maximum(largest, studentized.max(axis=1))
    behind = means[None] - means[:, None] > np.quantile(largest, 0.95) * error
    return 1 + behind.sum(axis=1), m - behind.sum(axis=0), behind | behind.T
