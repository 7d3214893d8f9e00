"""Do trainings converge as a level rises, and does alignment rise with rank? Trends within groups,
tested by permutation.

A recipe is one way to train, in all its seeds. Two seeds of a recipe, and a model and what was
fine-tuned from it, are alike for that reason alone: such pairs never count. A line is a set of
recipes that differ in their level alone, such as CLIP in three sizes. Levels are permuted among the
recipes of a line, so that nothing in which lines differ counts as a trend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from math import factorial, prod
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float64, Int64

from core.errors import InputError
from core.progress import tell_each

LEVEL = 0.95
DRAWS, RANK_DRAWS, BOOTSTRAP = 999, 9999, 999
ROUNDING = 1e-12
FEWEST = 4  # recipes; of fewer a jackknife says nothing
LEAST_GROUPS = 2  # of two ranks, on one side
THIRDS = 2 / 3  # from the middle of the least third of the ranks to that of the most
MOST_UNDEFINED = 0.2  # share of bootstrap draws without a value beyond which there is no interval
WEAKEST, STRONGEST = 0.0, 1.0  # levels
SAME_LEVEL = "no two objectives or families have pairs on two levels"
NO_CONTRAST = (
    "no two objectives or families have pairs both within the lowest level and from it to the"
    " highest"
)
FEW = f"it takes {LEAST_GROUPS} families or objectives with models of two ranks each, on one side"

Values = Float64[np.ndarray, " n"]
Numbers = Int64[np.ndarray, " n"]  # such as groups, from 0 on
Mask = Bool[np.ndarray, " n"]
Levels = Float64[np.ndarray, " m"]
Places = Int64[np.ndarray, " _"]
T = TypeVar("T", float, Values)


@dataclass(frozen=True)
class DealtTrend:
    """How much a value rises from the lowest level to the highest, or per unit of another, in units
    of the value, its 95% interval and two-sided p; recipes, pairs: how many of either counted. NaN
    if `reason` says why.
    """

    rise: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    recipes: int = 0
    pairs: int = 0
    reason: str = ""

    @property
    def sure(self) -> bool:
        return bool(self.p <= 1 - LEVEL + ROUNDING)


def orders_within(groups: Numbers, *, draws: int, seed: int) -> Iterator[Numbers]:
    """Yield random orders of n places that exchange only places of one group."""
    rng, together = np.random.default_rng(seed), np.argsort(groups, kind="stable")
    for _ in tell_each(range(draws), "permutations"):
        order = np.empty_like(together)
        order[np.lexsort((rng.random(len(groups)), groups))] = together
        yield order


def exchange(clusters: Numbers, *, draws: int, seed: int) -> Int64[np.ndarray, "draws n"]:
    """Return random orders of n models that a null allows whose clusters are alike inside: models
    change places within their cluster, and clusters of one size as wholes. Source: Winkler et al.
    2015 (multi-level block permutation).
    """
    rng, sizes = np.random.default_rng(seed), np.bincount(clusters)
    orders = np.empty((draws, len(clusters)), dtype=np.int64)
    for size in np.unique(sizes[sizes > 0]):
        alike = np.flatnonzero(sizes == size)
        places = np.stack([np.flatnonzero(clusters == one) for one in alike])
        whole = rng.permuted(np.tile(np.arange(len(alike)), (draws, 1)), axis=1)
        orders[:, places] = rng.permuted(places[whole], axis=2)
    return orders


def beyond_mean(values: Values, groups: Numbers) -> Values:
    means = np.bincount(groups, values) / np.maximum(np.bincount(groups), 1)
    beyond: np.ndarray = values - means[groups]
    return beyond


def slope_within(values: Values, over: Values, groups: Numbers) -> float:
    """Return the least-squares slope, each group with a mean of its own; NaN if `over` is constant
    within all of them.
    """
    across = beyond_mean(over, groups)
    spread = across @ across
    return float(across @ beyond_mean(values, groups) / spread) if spread > ROUNDING else np.nan


def invert(rise: float, dealt: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the interval of the rises that are not rejected, and the p of none.

    dealt: a and b of each permutation, its rise with the scores and with the levels. If the true
    rise is δ, it counts against a rejection if |a − δb| ≥ |rise − δ|: for δ between (rise − a)/(1 −
    b) and (rise + a)/(1 + b), and always if it changes nothing (|b| = 1). Source: Garthwaite 1996
    (intervals from permutations).
    """
    a, b = np.array(dealt).T
    moves = np.abs(b) < 1 - ROUNDING  # not so where it is NaN
    against = np.count_nonzero(~(np.abs(a) < abs(rise) * (1 - ROUNDING)))
    p = (1 + against) / (1 + len(dealt))
    a, b, always = a[moves], b[moves], np.count_nonzero(~moves)
    ends = np.stack([(rise - a) / (1 - b), (rise + a) / (1 + b)])
    place = int((1 - LEVEL) * (1 + len(dealt)) + ROUNDING) - 1 - always
    if not 0 <= place < len(a):  # there are too few permutations: nothing is rejected
        return np.nan, np.nan, p
    return float(np.sort(ends.min(0))[place]), float(-np.sort(-ends.max(0))[place]), p


def jackknife(
    value: T, without: Float64[np.ndarray, "r ..."], *, freedom: int, level: float = LEVEL
) -> tuple[T, T]:
    """Return the jackknife's interval of a value, or of each of several, from those with one recipe
    left out each; NaN if one of these is. freedom: of Student's t.
    """
    from scipy.special import stdtrit  # scipy.stats takes a third of a second

    count = len(without)
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    reach = stdtrit(freedom, (1 + level) / 2) * error
    return value - reach, value + reach


def recipe_trend(
    values: Values, over: Values, lines: Numbers, *, draws: int = DRAWS, seed: int = 0
) -> DealtTrend:
    """Return how a value of each recipe rises with another: `slope_within` lines, tested as by
    `level_trend`, `over` being permuted. Recipes with a NaN are left out.
    """
    _check_draws(draws, 1)
    present = np.isfinite(values) & np.isfinite(over)
    values, over, lines = values[present], over[present], lines[present]
    rise = slope_within(values, over, lines)
    if not np.isfinite(rise):
        return DealtTrend(recipes=len(values), reason="no line has recipes that differ")
    dealt = [
        (slope_within(values, over[order], lines), slope_within(over, over[order], lines))
        for order in orders_within(lines, draws=draws, seed=seed)
    ]
    return DealtTrend(rise, *invert(rise, dealt), recipes=len(values))


def _check_draws(draws: int, least: int) -> None:
    if draws < least:
        raise InputError(f"the permutations must be at least {least}; got {draws}")


def adjusted_means(values: Values, groups: Numbers, kinds: Numbers) -> Float64[np.ndarray, " g"]:
    """Return the mean of each group, had each the same share of every kind.

    The least-squares fit value = effect of the group + effect of the kind, with the mean of the
    values kept. NaN for groups that share no kind with the others, directly or by way of a third;
    the set of groups with most values counts. Source: Searle, Speed, Milliken 1980 (least-squares
    means).
    """
    count = groups.max(initial=-1) + 1
    means = np.full(count, np.nan)
    counts = np.zeros((count, kinds.max(initial=-1) + 1))
    np.add.at(counts, (groups, kinds), 1)
    reached = (counts @ counts.T) > 0
    for _ in range(count):
        reached = reached @ reached
    sizes = reached @ counts.sum(axis=1)
    joined = reached[sizes.argmax()] if count else np.zeros(0, bool)
    if np.count_nonzero(joined) < 2:
        return means
    inside = joined[groups]
    values, groups, kinds = values[inside], groups[inside], kinds[inside]
    members = np.flatnonzero(joined)
    design = (groups[:, None] == members).astype(float)
    within = np.column_stack([beyond_mean(column, kinds) for column in design.T])
    effects = np.linalg.lstsq(within, beyond_mean(values, kinds), rcond=None)[0]
    means[members] = effects + (values - design @ effects).mean()
    return means


@dataclass(frozen=True)
class Trainings:
    """What is compared: m trainings with the level, the recipe and the line of each.

    scores: symmetric, NaN if two are not compared. levels: 0 the lowest, 1 the highest. recipes,
    lines: numbers from 0 on; a recipe lies in one line and on one level. kin: pairs that are alike
    for their descent.
    """

    scores: Float64[np.ndarray, "m m"]
    levels: Levels
    recipes: Int64[np.ndarray, " m"]
    lines: Int64[np.ndarray, " m"]
    kin: Bool[np.ndarray, "m m"]

    def __post_init__(self) -> None:
        for recipe in np.unique(self.recipes):
            of_it = self.recipes == recipe
            if len(np.unique(self.levels[of_it])) > 1 or len(np.unique(self.lines[of_it])) > 1:
                raise InputError(f"expected recipe {recipe} on one level of one line")

    def permuted_levels(self, *, draws: int, seed: int) -> Iterator[Levels]:
        _, first, place = np.unique(self.recipes, return_index=True, return_inverse=True)
        for order in orders_within(self.lines[first], draws=draws, seed=seed):
            yield self.levels[first][order][place]


@dataclass(frozen=True)
class Pairs:
    """The pairs that count, each once: compared, of two recipes, and no kin. x, y: the two
    trainings. between: which two lines they are of, as a number.
    """

    x: Numbers
    y: Numbers
    scores: Values
    between: Numbers

    @classmethod
    def of(cls, trainings: Trainings) -> Pairs:
        counts = np.isfinite(trainings.scores) & ~trainings.kin
        counts &= trainings.recipes[:, None] != trainings.recipes[None, :]
        x, y = np.nonzero(np.triu(counts, 1))
        lines = np.sort(np.stack([trainings.lines[x], trainings.lines[y]]), axis=0)
        between = lines[0] * (trainings.lines.max(initial=0) + 1) + lines[1]
        return cls(x, y, trainings.scores[x, y], between)

    def where(self, kept: Mask) -> Pairs:
        return Pairs(self.x[kept], self.y[kept], self.scores[kept], self.between[kept])

    def are_between(self, levels: Levels, low: float, high: float) -> Mask:
        x, y = levels[self.x], levels[self.y]
        between: np.ndarray = ((x == low) & (y == high)) | ((x == high) & (y == low))
        return between

    def rise(self, levels: Levels, values: Values) -> float:
        """Return the slope of the pairs' values over level among the pairs on one level, each set
        of pairs between two lines with a mean of its own; NaN if none spans two levels.
        """
        inside = levels[self.x] == levels[self.y]
        return slope_within(values[inside], levels[self.x[inside]], self.between[inside])


@dataclass(frozen=True)
class LevelMean:
    """The mean score of the pairs on one level, with its 95% interval over recipes. adjusted: the
    mean, had each level the same share of pairs of every two lines: what the trend is fitted to;
    NaN if no two lines have pairs on this level and another.
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
    mean of its own. p = (1 + #{|rise of a permutation| ≥ |rise|})/(1 + draws): each permutation
    gives the levels of a line's recipes to its recipes at random, and pairs that are then on one
    level count. Interval: every rise δ that the same test does not reject, once δ times the mean
    level of its two trainings is taken from each score; so p ≤ 0.05 says that 0 lies outside.
    Source: Anderson, ter Braak 2003 (permutation within strata); Garthwaite 1996.
    """
    _check_draws(draws, 1)
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
        for one in trainings.permuted_levels(draws=draws, seed=seed)
    ]
    return DealtTrend(rise, *invert(rise, dealt), count, used)


def level_means(trainings: Trainings) -> list[LevelMean]:
    """Return the mean of the pairs on each level, the lowest first; intervals by the jackknife."""
    every, levels = Pairs.of(trainings), trainings.levels
    pairs = every.where(levels[every.x] == levels[every.y])
    steps, place = np.unique(levels[pairs.x], return_inverse=True)
    x, y = trainings.recipes[pairs.x], trainings.recipes[pairs.y]
    members = np.union1d(x, y)
    without = np.full((len(members), len(steps)), np.nan)
    for row, recipe in zip(without, members, strict=True):
        kept = (x != recipe) & (y != recipe)
        found = adjusted_means(pairs.scores[kept], place[kept], pairs.between[kept])
        row[: len(found)] = found
    means = []
    for step, adjusted in enumerate(adjusted_means(pairs.scores, place, pairs.between).tolist()):
        on = pairs.where(place == step)
        among = np.union1d(on.x, on.y)
        count, low, high = len(np.unique(trainings.recipes[among])), np.nan, np.nan
        if count >= FEWEST:
            low, high = jackknife(adjusted, without[:, step], freedom=count - 1)
        sizes = len(among), count, len(on.scores)
        mean = float(on.scores.mean())
        means.append(LevelMean(float(steps[step]), mean, adjusted, low, high, *sizes))
    return means


@dataclass(frozen=True)
class GridMean:
    """The mean score of the pairs of one training on level `low` and one on level `high`. adjusted:
    the mean, had each two levels the same share of pairs of every two lines; NaN if these share no
    two lines with other levels.
    """

    low: float
    high: float
    mean: float
    adjusted: float
    recipes: int
    pairs: int


@dataclass(frozen=True)
class Contrast:
    """A difference of two means, its 95% interval over recipes, and its two-sided p; NaN if
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
    two lines with a mean of their own): below 0 if each weak training is weak in its own way, near
    0 if the weak have nothing in common but what they share with the strong, above 0 if they go
    wrong together. p: levels permuted as in `level_trend`; permutations without such pairs count
    against it. Interval: jackknife over recipes.
    """
    _check_draws(draws, 1)
    pairs, levels, recipes = Pairs.of(trainings), trainings.levels, trainings.recipes

    def contrast(levels: Levels, kept: Mask | bool = True) -> float:
        weak = kept & pairs.are_between(levels, WEAKEST, WEAKEST)
        used = weak | (kept & pairs.are_between(levels, WEAKEST, STRONGEST))
        return slope_within(pairs.scores[used], weak[used].astype(float), pairs.between[used])

    value = contrast(levels)
    if not np.isfinite(value):
        return Contrast(reason=NO_CONTRAST)
    dealt = [contrast(one) for one in trainings.permuted_levels(draws=draws, seed=seed)]
    against = np.count_nonzero(~(np.abs(dealt) < abs(value) * (1 - ROUNDING)))
    used = pairs.are_between(levels, WEAKEST, WEAKEST)
    used = used | pairs.are_between(levels, WEAKEST, STRONGEST)
    x, y = recipes[pairs.x], recipes[pairs.y]
    counted, low, high = np.union1d(x[used], y[used]), np.nan, np.nan
    if len(counted) >= FEWEST:
        without = np.array([contrast(levels, (x != one) & (y != one)) for one in counted])
        low, high = jackknife(value, without, freedom=len(without) - 1)
    return Contrast(value, low, high, (1 + against) / (1 + draws))


@dataclass(frozen=True)
class Setups:
    """Some of the setups of one side, such as vision: rank, 0 the least and 1 the most, and group.
    Setups of a group differ in rank alone, such as one architecture in several sizes; what groups
    differ in counts for nothing.
    """

    ranks: Values
    groups: Numbers

    def at(self, rows: Places) -> Setups:
        return Setups(self.ranks[rows], self.groups[rows])


@dataclass(frozen=True)
class RankTrend:
    """How alignment with the other side rises with rank.

    change: from the least third of the ranks to the most, in units of the score, with its 95%
    interval over setups. p: one-sided, for a rise of alignment. draws: how many permutations, all
    that there are if `exact`. rho: Spearman's correlation of rank and score within the sides, with
    its 95% interval over groups. NaN if `reason` says why.
    """

    change: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    draws: int = 0
    exact: bool = False
    rho: float = np.nan
    rho_low: float = np.nan
    rho_high: float = np.nan
    reason: str = ""


Side = tuple[Values, Values, Numbers]  # ranks, mean scores and groups of setups that have both


def rank_trend(
    scores: Float64[np.ndarray, "x y"],
    x: Setups,
    y: Setups,
    *,
    toward: int = 1,
    draws: int = RANK_DRAWS,
    seed: int = 0,
) -> RankTrend:
    """Return how the scores between two sides rise with the ranks r of both.

    Each setup has its mean score m over the other side. change: the slope Σ (r − r̄)(m − m̄) / Σ (r
    − r̄)² over all setups of both sides, with the means of their groups, times 2/3. Its interval is
    the percentile bootstrap over the setups of each group; that of ρ, over the groups of each side.
    p: of T = Σ (r − r̄)(m − m̄), ranks exchanged within groups: #{T' ≥ T}/N over all N permutations
    if they are at most `draws`, else (1 + #{T' ≥ T})/(1 + draws).

    scores: a row per setup of x, a column per setup of y; NaN if missing. toward: 1 if higher
    scores mean more aligned, −1 if lower ones do; change and ρ keep the score's sign. Raises
    InputError for fewer than 19 draws. Source: Edgington, Onghena 2007 (permutation within strata);
    Efron, Tibshirani 1993 (bootstrap).
    """
    sides = _sides(scores, x, y)
    of_two_ranks = [
        sum(len(np.unique(ranks[groups == one])) > 1 for one in np.unique(groups))
        for ranks, _, groups in sides
    ]
    if max(of_two_ranks) < LEAST_GROUPS:
        return RankTrend(reason=FEW)
    p, count, exact = _rank_p(sides, toward=toward, draws=draws, seed=seed)
    rng = np.random.default_rng(seed)

    def draw_setups(side: Setups) -> Places:
        members = [np.flatnonzero(side.groups == one) for one in np.unique(side.groups)]
        return np.concatenate([rng.choice(one, len(one)) for one in members])

    def draw_groups(side: Setups) -> Places:
        names = np.unique(side.groups)
        drawn = rng.choice(names, len(names))
        return np.concatenate([np.flatnonzero(side.groups == one) for one in drawn])

    def drawn(rows: Places, columns: Places) -> tuple[Side, Side]:
        return _sides(scores[np.ix_(rows, columns)], x.at(rows), y.at(columns))

    within = [_slope(drawn(draw_setups(x), draw_setups(y))) for _ in range(BOOTSTRAP)]
    between = [_rho(drawn(draw_groups(x), draw_groups(y))) for _ in range(BOOTSTRAP)]
    change, low, high = (THIRDS * one for one in (_slope(sides), *_percentiles(within)))
    return RankTrend(change, low, high, p, count, exact, _rho(sides), *_percentiles(between))


@dataclass(frozen=True)
class Curve:
    """A rank trend under each of many specifications, and one test over all.

    rho: by specification, with its 95% interval and one-sided p. median: of ρ. joint: one-sided p
    of the median. NaN if `reason` says why.
    """

    rho: Values = field(default_factory=lambda: np.empty(0))
    low: Values = field(default_factory=lambda: np.empty(0))
    high: Values = field(default_factory=lambda: np.empty(0))
    p: Values = field(default_factory=lambda: np.empty(0))
    median: float = np.nan
    joint: float = np.nan
    reason: str = ""


def specification_curve(
    scores: Float64[np.ndarray, "s x y"],
    x: Setups,
    y: Setups,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Curve:
    """Correlate the ranks of setups with their mean scores under each of s specifications.

    ρ is that of `rank_trend`: Spearman's, within the two sides. Each p is of ρ, ranks exchanged
    within groups: (1 + #{ρ' ≥ ρ})/(1 + draws); `joint` is the same of the median over all
    specifications, which all see the same exchanges. Intervals are the percentile bootstrap over
    the groups of each side. A setup without a score under some specification that has any counts
    under none; a specification without scores has NaN.

    scores: higher is more aligned. Source: Simonsohn, Simmons, Nelson 2020.
    """
    _check_draws(draws, 19)
    some = np.isfinite(scores).any(axis=(1, 2))
    filled, there = np.where(np.isfinite(scores), scores, 0.0), np.isfinite(scores)
    with np.errstate(invalid="ignore"):
        means = [filled.sum(axis) / there.sum(axis) for axis in (2, 1)]
    sides = []
    for of, values in zip((x, y), means, strict=True):
        known = np.isfinite(of.ranks) & np.isfinite(values[some]).all(axis=0)
        sides.append((of.ranks[known], values[:, known], of.groups[known]))
    of_two_ranks = [
        sum(len(np.unique(ranks[groups == one])) > 1 for one in np.unique(groups))
        for ranks, _, groups in sides
    ]
    if not some.any() or max(of_two_ranks) < LEAST_GROUPS:
        return Curve(reason=FEW)

    def correlate(drawn: Sequence[Places]) -> Values:
        return _correlations(
            [
                (ranks[at], values[some][:, at])
                for (ranks, values, _), at in zip(sides, drawn, strict=True)
            ]
        )

    whole = [np.arange(len(ranks)) for ranks, _, _ in sides]
    rho = correlate(whole)
    offset = sides[0][2].max(initial=-1) + 1
    groups = np.concatenate([sides[0][2], sides[1][2] + offset])
    ranks = np.concatenate([_relative(ranks) for ranks, _, _ in sides])
    values = np.concatenate([_relative(values[some]) for _, values, _ in sides], axis=1)
    orders = np.stack(list(orders_within(groups, draws=draws, seed=seed)))
    size = np.sqrt((values**2).sum(1, keepdims=True) * (ranks**2).sum())
    exchanged = (values @ ranks[orders].T) / size
    rng = np.random.default_rng(seed)

    def draw_groups(of: Numbers) -> Places:
        names = np.unique(of)  # none of a side without ranks
        drawn = rng.choice(names, len(names)) if len(names) else names
        return np.concatenate(
            [np.empty(0, np.int64), *(np.flatnonzero(of == one) for one in drawn)]
        )

    drawn = np.stack([correlate([draw_groups(of) for _, _, of in sides]) for _ in range(BOOTSTRAP)])
    ends = [_percentiles(list(column)) for column in drawn.T]
    median = float(np.median(rho))
    beyond = (exchanged >= rho[:, None] - ROUNDING).sum(1)
    joint = (1 + int((np.median(exchanged, axis=0) >= median - ROUNDING).sum())) / (1 + draws)

    def everywhere(known: Values) -> Values:
        found = np.full(len(scores), np.nan)
        found[some] = known
        return found

    low, high = np.transpose(ends)
    p = (1 + beyond) / (1 + draws)
    rho, low, high, p = map(everywhere, (rho, low, high, p))
    return Curve(rho, low, high, p, median, joint)


def _relative(values: np.ndarray) -> np.ndarray:
    """Return ranks along the last axis as shares of their number, beyond their mean."""
    from scipy.stats import rankdata  # a third of a second

    n = values.shape[-1]
    return np.asarray((rankdata(values, axis=-1) - (n + 1) / 2) / max(n, 1))


def _correlations(sides: Sequence[tuple[Values, Float64[np.ndarray, "s n"]]]) -> Values:
    """Return ρ of ranks and each row of values over both sides; NaN without spread."""
    x = np.concatenate([_relative(ranks) for ranks, _ in sides])
    y = np.concatenate([_relative(values) for _, values in sides], axis=1)
    spread = np.sqrt((x @ x) * (y * y).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > ROUNDING, y @ x / spread, np.nan)


def _sides(scores: Float64[np.ndarray, "x y"], x: Setups, y: Setups) -> tuple[Side, Side]:
    there = np.isfinite(scores)
    filled = np.where(there, scores, 0.0)
    with np.errstate(invalid="ignore"):  # a setup without any score has no mean
        means = filled.sum(1) / there.sum(1), filled.sum(0) / there.sum(0)

    def side(of: Setups, means: Float64[np.ndarray, "every"]) -> Side:
        known = np.isfinite(means) & np.isfinite(of.ranks)
        groups: Numbers = np.unique(of.groups[known], return_inverse=True)[1].astype(np.int64)
        return of.ranks[known], means[known], groups

    return side(x, means[0]), side(y, means[1])


def _rank_p(
    sides: tuple[Side, Side], *, toward: int, draws: int, seed: int
) -> tuple[float, int, bool]:
    """Return p, of how many permutations, and whether these are all."""
    _check_draws(draws, 19)  # so that p can be 0.05
    (ranks_x, means_x, groups_x), (ranks_y, means_y, groups_y) = sides
    groups = np.concatenate([groups_x, groups_y + groups_x.max(initial=-1) + 1])
    r = beyond_mean(np.concatenate([ranks_x, ranks_y]), groups)
    m = beyond_mean(toward * np.concatenate([means_x, means_y]), groups)
    members = [np.flatnonzero(groups == one) for one in range(groups.max() + 1)]
    count = prod(factorial(len(one)) for one in members)
    if exact := count <= draws:
        each = [[float(r[list(order)] @ m[one]) for order in permutations(one)] for one in members]
        found = [sum(parts) for parts in product(*each)]
    else:
        found = [float(r[order] @ m) for order in orders_within(groups, draws=draws, seed=seed)]
    as_high = int(np.count_nonzero(np.array(found) >= r @ m - ROUNDING))
    return (as_high / count, count, True) if exact else ((1 + as_high) / (1 + draws), draws, False)


def _slope(sides: Iterable[Side]) -> float:
    total = spread = 0.0
    for ranks, means, groups in sides:
        r = beyond_mean(ranks, groups)
        total += float(r @ beyond_mean(means, groups))
        spread += float(r @ r)
    return total / spread if spread > ROUNDING else np.nan


def _rho(sides: Sequence[Side]) -> float:
    """Correlate ranks as shares of their number, so that large sides count no more per setup."""
    return float(_correlations([(ranks, means[None]) for ranks, means, _ in sides])[0])


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95% interval of bootstrap values; NaN if too many are undefined."""
    known = np.array(values)[np.isfinite(values)]
    if len(known) < (1 - MOST_UNDEFINED) * len(values):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
