"""How alike trainings of two levels are: the mean of the pairs between each two, and whether those
on the lowest level are less alike than they are like those on the highest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from core.errors import InputError
from core.statistics.adjusted_means import adjusted_means
from core.statistics.dealing import DRAWS, ROUNDING, beyond_mean
from core.statistics.level_trends import FEWEST, Pairs, Trainings, deal_levels, jackknife

WEAKEST, STRONGEST = 0.0, 1.0
TOO_FEW = (
    "no two objectives or families have pairs both within the lowest level and from it to the"
    " highest"
)


@dataclass(frozen=True)
class GridMean:
    """The mean score of the pairs of one training on level `low` and one on level `high`.

    adjusted: the mean, had each two levels the same share of pairs of every two lines; NaN where
    these share no two lines with other levels.
    """

    low: float
    high: float
    mean: float
    adjusted: float
    recipes: int
    pairs: int


@dataclass(frozen=True)
class Contrast:
    """A difference of two means, its 95 % interval over recipes, and its p, two-sided; NaN where
    `reason` says why.
    """

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    reason: str = ""


def grid_means(trainings: Trainings) -> list[GridMean]:
    """Return the mean score between each two levels, and within each, the lowest first."""
    pairs, levels = Pairs.of(trainings), trainings.levels
    ends = np.sort(np.stack([levels[pairs.x], levels[pairs.y]]), axis=0)
    cells, place = np.unique(ends, axis=1, return_inverse=True)
    adjusted = adjusted_means(pairs.scores, place, pairs.between)
    means = []
    for cell, (low, high) in enumerate(cells.T):
        on = pairs.where(place == cell)
        count = len(np.unique(trainings.recipes[np.union1d(on.x, on.y)]))
        numbers = float(on.scores.mean()), float(adjusted[cell])
        means.append(GridMean(float(low), float(high), *numbers, count, len(on.scores)))
    return means


def weak_contrast(trainings: Trainings, *, draws: int = DRAWS, seed: int = 0) -> Contrast:
    """Return how much less alike trainings on the lowest level are than they are like those on the
    highest.

    value = mean(low, low) − mean(low, high) over pairs of the same two lines (least squares, each
    two lines with a mean of their own): below 0 where each weak training is weak in its own way,
    near 0 where the weak have nothing in common but what they share with the strong, above 0 where
    they go wrong together. p = (1 + #{|value of a dealing| ≥ |value|})/(1 + draws), levels
    dealt among the recipes of each line as in `core.statistics.level_trends.level_trend`; dealings
    without such pairs count against it. Interval: jackknife over recipes.
    """
    if draws < 1:
        raise InputError(f"expected at least 1 draw; got {draws}")
    pairs, levels = Pairs.of(trainings), trainings.levels
    every = np.ones(len(pairs.x), dtype=bool)
    value = _contrast(pairs, levels, every)
    if not np.isfinite(value):
        return Contrast(reason=TOO_FEW)
    dealt = [_contrast(pairs, one, every) for one in deal_levels(trainings, draws=draws, seed=seed)]
    against = np.count_nonzero(~(np.abs(dealt) < abs(value) * (1 - ROUNDING)))
    low, high = _interval(value, pairs, trainings)
    return Contrast(value, low, high, (1 + against) / (1 + draws))


def _interval(value: float, pairs: Pairs, trainings: Trainings) -> tuple[float, float]:
    levels, recipes = trainings.levels, trainings.recipes
    used = _between(pairs, levels, WEAKEST, WEAKEST) | _between(pairs, levels, WEAKEST, STRONGEST)
    counted = np.unique(recipes[np.concatenate([pairs.x[used], pairs.y[used]])])
    if len(counted) < FEWEST:
        return np.nan, np.nan
    x, y = recipes[pairs.x], recipes[pairs.y]
    without = [_contrast(pairs, levels, (x != one) & (y != one)) for one in counted]
    return jackknife(value, np.array(without), freedom=len(without) - 1)


def _contrast(
    pairs: Pairs, levels: Float64[np.ndarray, " m"], kept: Bool[np.ndarray, " n"]
) -> float:
    weak = kept & _between(pairs, levels, WEAKEST, WEAKEST)
    used = weak | (kept & _between(pairs, levels, WEAKEST, STRONGEST))
    between = pairs.between[used]
    is_weak = beyond_mean(weak[used].astype(float), between)
    spread = is_weak @ is_weak
    if spread <= ROUNDING:
        return np.nan
    return float(is_weak @ beyond_mean(pairs.scores[used], between) / spread)


def _between(
    pairs: Pairs, levels: Float64[np.ndarray, " m"], low: float, high: float
) -> Bool[np.ndarray, " n"]:
    """Return which pairs are of one training on either level."""
    x, y = levels[pairs.x], levels[pairs.y]
    between: np.ndarray = ((x == low) & (y == high)) | ((x == high) & (y == low))
    return between
