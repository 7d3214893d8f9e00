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
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float64, Int64

from core.errors import InputError
from core.statistics.adjusted_means import adjusted_means
from core.statistics.dealing import DRAWS, LEVEL, ROUNDING, DealtTrend, beyond_mean, deal, invert

FEWEST = 4  # recipes; of fewer a jackknife says nothing
SAME_LEVEL = "no two objectives or families have pairs on two levels"

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

    def where(self, kept: Bool[np.ndarray, " n"]) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.x[kept], self.y[kept], self.scores[kept], self.between[kept])

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
    """The mean score of the pairs on one level.

    adjusted: the mean, had each level the same share of pairs of every two lines: what the trend is
    fitted to; NaN where no two lines have pairs on this level and another. low, high: its 95 %
    interval over recipes.
    """

    level: float
    mean: float
    adjusted: float
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
    every, levels = Pairs.of(trainings), trainings.levels
    pairs = every.where(levels[every.x] == levels[every.y])
    steps, place = np.unique(levels[pairs.x], return_inverse=True)
    adjusted = adjusted_means(pairs.scores, place, pairs.between)
    without = _leave_out(pairs, place, trainings.recipes)
    return [
        _level_mean(float(level), pairs.where(place == step), trainings.recipes, *of_step)
        for step, (level, of_step) in enumerate(
            zip(steps, zip(adjusted, without.T, strict=True), strict=True)
        )
    ]


def _leave_out(
    pairs: Pairs, place: Int64[np.ndarray, " n"], recipes: Members
) -> Float64[np.ndarray, "r l"]:
    """Return the adjusted mean of each level with each recipe left out."""
    x, y = recipes[pairs.x], recipes[pairs.y]
    members = np.union1d(x, y)
    without = np.full((len(members), place.max(initial=-1) + 1), np.nan)
    for row, recipe in zip(without, members, strict=True):
        kept = (x != recipe) & (y != recipe)
        means = adjusted_means(pairs.scores[kept], place[kept], pairs.between[kept])
        row[: len(means)] = means
    return without


def _level_mean(
    level: float,
    pairs: Pairs,
    recipes: Members,
    adjusted: float,
    without: Float64[np.ndarray, " r"],
) -> LevelMean:
    among = np.union1d(pairs.x, pairs.y)
    count, low, high = len(np.unique(recipes[among])), np.nan, np.nan
    if count >= FEWEST:
        low, high = jackknife(float(adjusted), without, freedom=count - 1)
    mean = float(pairs.scores.mean())
    return LevelMean(level, mean, float(adjusted), low, high, len(among), count, len(pairs.scores))


def deal_levels(
    trainings: Trainings, *, draws: int, seed: int
) -> Iterator[Float64[np.ndarray, " m"]]:
    """Yield the levels of all trainings, dealt anew among the recipes of each line."""
    _, first, place = np.unique(trainings.recipes, return_index=True, return_inverse=True)
    for dealt in deal(trainings.levels[first], trainings.lines[first], draws=draws, seed=seed):
        yield dealt[place]


T = TypeVar("T", float, Float64[np.ndarray, " n"])


def jackknife(
    value: T, without: Float64[np.ndarray, "r ..."], *, freedom: int, level: float = LEVEL
) -> tuple[T, T]:
    """Return the jackknife's interval of a value, or of each of several, from those with one recipe
    left out each; NaN where one of these is. freedom: the degrees of freedom of Student's t.
    """
    from scipy.special import stdtrit  # scipy.stats takes a third of a second

    count = len(without)
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    reach = stdtrit(freedom, (1 + level) / 2) * error
    return value - reach, value + reach
