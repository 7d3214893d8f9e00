"""Do trainings come together as a level rises: means of pairs within each level, their trend, and
its p and interval by dealing whole recipes.

A recipe is one way to train, in all its seeds. Two seeds of a recipe, and a model and what was
fine-tuned from it, are alike for that reason alone: such pairs never count. A line is a set of
recipes that differ in their level alone, such as CLIP in three sizes. Levels are dealt anew among
the recipes of a line, so that nothing in which lines differ counts as a trend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from core.errors import InputError
from core.statistics.dealing import DRAWS, LEVEL, ROUNDING, DealtTrend, beyond_mean, deal, invert

FEWEST = 4  # recipes; of fewer a jackknife says nothing
SAME_LEVEL = "no two lines of trainings have pairs on two levels"

Members = Int64[np.ndarray, " m"]
Scores = Float64[np.ndarray, "m m"]


@dataclass(frozen=True)
class Trainings:
    """What is compared: m trainings with the level, the recipe and the line of each.

    scores: symmetric, NaN where two are not compared. levels: 0 the lowest, 1 the highest.
    recipes, lines: numbers from 0 on; a recipe lies in one line and on one level. kin: pairs that
    are alike for their descent, beside those of one recipe.
    """

    scores: Scores
    levels: Float64[np.ndarray, " m"]
    recipes: Members
    lines: Members
    kin: Bool[np.ndarray, "m m"]

    def __post_init__(self) -> None:
        for recipe in np.unique(self.recipes):
            of_it = self.recipes == recipe
            if len(np.unique(self.levels[of_it])) > 1 or len(np.unique(self.lines[of_it])) > 1:
                raise InputError(f"expected recipe {recipe} on one level of one line")


@dataclass(frozen=True)
class Pairs:
    """The pairs that count, each once: compared, of two recipes, and no kin.

    x, y: the two trainings. scores: theirs. between: which two lines they are of, as a number.
    """

    x: Int64[np.ndarray, " n"]
    y: Int64[np.ndarray, " n"]
    scores: Float64[np.ndarray, " n"]
    between: Int64[np.ndarray, " n"]

    @classmethod
    def of(cls, trainings: Trainings) -> Pairs:
        counts = np.isfinite(trainings.scores) & ~trainings.kin
        counts &= trainings.recipes[:, None] != trainings.recipes[None, :]
        x, y = np.nonzero(np.triu(counts, 1))
        lines = np.sort(np.stack([trainings.lines[x], trainings.lines[y]]), axis=0)
        between = lines[0] * (trainings.lines.max(initial=0) + 1) + lines[1]
        return cls(x, y, trainings.scores[x, y], between)

    def rise(self, levels: Float64[np.ndarray, " m"], values: Float64[np.ndarray, " n"]) -> float:
        """Return the slope of the pairs' values over level among the pairs on one level, each set
        of pairs between two lines with a mean of its own; NaN where none spans two levels.
        """
        inside = levels[self.x] == levels[self.y]
        between = self.between[inside]
        level = beyond_mean(levels[self.x[inside]], between)
        spread = level @ level
        if spread <= ROUNDING:
            return np.nan
        return float(level @ beyond_mean(values[inside], between) / spread)


@dataclass(frozen=True)
class LevelMean:
    """The mean score of the pairs on one level, and its 95 % interval over recipes."""

    level: float
    mean: float
    low: float
    high: float
    trainings: int
    recipes: int
    pairs: int


def level_trend(trainings: Trainings, *, draws: int = DRAWS, seed: int = 0) -> DealtTrend:
    """Return how the scores of pairs on one level rise with it.

    rise: the least-squares slope of score over level, each set of pairs between two lines with a
    mean of its own. p = (1 + #{|rise of a dealing| ≥ |rise|})/(1 + draws): each dealing gives the
    levels of a line's recipes to its recipes at random, and pairs that are then on one level count.
    Interval: every rise δ that the same test does not reject, once δ times the mean level of its
    two trainings is taken from each score; so p ≤ 0.05 says that 0 lies outside. Source: Anderson,
    ter Braak 2003 (dealing within strata); Garthwaite 1996 (intervals from permutations).
    """
    if draws < 1:
        raise InputError(f"expected at least 1 draw; got {draws}")
    pairs, levels = Pairs.of(trainings), trainings.levels
    inside = levels[pairs.x] == levels[pairs.y]
    members = np.unique(trainings.recipes[np.concatenate([pairs.x[inside], pairs.y[inside]])])
    count, used = len(members), int(inside.sum())
    rise = pairs.rise(levels, pairs.scores)
    if not np.isfinite(rise):
        return DealtTrend(recipes=count, pairs=used, reason=SAME_LEVEL)
    middle = (levels[pairs.x] + levels[pairs.y]) / 2
    dealt = [
        (pairs.rise(one, pairs.scores), pairs.rise(one, middle))
        for one in deal_levels(trainings, draws=draws, seed=seed)
    ]
    low, high, p = invert(rise, np.array(dealt))
    return DealtTrend(rise, low, high, p, count, used)


def level_means(trainings: Trainings) -> list[LevelMean]:
    """Return the mean of the pairs on each level that has some, the lowest first."""
    pairs, levels = Pairs.of(trainings), trainings.levels
    means = []
    for level in np.unique(levels):
        on = (levels[pairs.x] == level) & (levels[pairs.y] == level)
        if on.any():
            x, y, scores = pairs.x[on], pairs.y[on], pairs.scores[on]
            means.append(_mean(float(level), trainings.recipes, x, y, scores))
    return means


def deal_levels(
    trainings: Trainings, *, draws: int, seed: int
) -> Iterator[Float64[np.ndarray, " m"]]:
    """Yield the levels of all trainings, dealt anew among the recipes of each line."""
    _, first, place = np.unique(trainings.recipes, return_index=True, return_inverse=True)
    for dealt in deal(trainings.levels[first], trainings.lines[first], draws=draws, seed=seed):
        yield dealt[place]


def _mean(
    level: float,
    recipes: Members,
    x: Int64[np.ndarray, " n"],
    y: Int64[np.ndarray, " n"],
    scores: Float64[np.ndarray, " n"],
) -> LevelMean:
    of = np.unique(recipes[np.concatenate([x, y])])
    trainings, mean = len(np.unique(np.concatenate([x, y]))), float(scores.mean())
    low, high = np.nan, np.nan
    if len(of) >= FEWEST:
        left = [scores[(recipes[x] != recipe) & (recipes[y] != recipe)] for recipe in of]
        low, high = jackknife(mean, [one.mean() if len(one) else np.nan for one in left])
    return LevelMean(level, mean, low, high, trainings, len(of), len(scores))


def jackknife(value: float, without: list[float]) -> tuple[float, float]:
    """Return the jackknife's interval of a value from those with one recipe left out; NaN where one
    of these is.
    """
    from scipy.stats import t  # a third of a second

    count, left = len(without), np.array(without)
    error = float(np.sqrt((count - 1) / count * ((left - left.mean()) ** 2).sum()))
    reach = float(t.ppf((1 + LEVEL) / 2, count - 1)) * error
    return value - reach, value + reach
