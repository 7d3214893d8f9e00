"""Do trainings converge as a level rises, and does alignment rise with rank? Trends within groups,
tested by permutation.

A recipe is one way to train, in all its seeds. Two seeds of a recipe, and a model and what was
fine-tuned from it, are alike for that reason alone: such pairs never count. A line is a set of
recipes that differ in their level alone, such as CLIP in three sizes. Levels are permuted among
the recipes of a line, so that nothing in which lines differ counts as a trend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float64, Int64

from core.errors import InputError
from core.progress import tell_each

LEVEL = 0.95
DRAWS = 999
ROUNDING = 1e-12


@dataclass(frozen=True)
class DealtTrend:
    """How much a value rises from the lowest level to the highest, or per unit of another.

    rise: in units of the value. low, high: its 95 % interval. p: two-sided. recipes, pairs: how
    many of either counted. NaN where `reason` says why.
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
        """Return whether it differs from 0."""
        return bool(self.p <= 1 - LEVEL + ROUNDING)


def deal(
    values: Float64[np.ndarray, " r"], lines: Int64[np.ndarray, " r"], *, draws: int, seed: int
) -> Iterator[Float64[np.ndarray, " r"]]:
    """Yield the values of r recipes, dealt anew among those of each line, `draws` times."""
    rng = np.random.default_rng(seed)
    together = np.argsort(lines, kind="stable")
    for _ in tell_each(range(draws), "dealings"):
        dealt = np.empty(len(values))
        dealt[np.lexsort((rng.random(len(values)), lines))] = values[together]
        yield dealt


def exchange(
    clusters: Int64[np.ndarray, " n"], *, draws: int, seed: int
) -> Int64[np.ndarray, "draws n"]:
    """Return random orders of n models that a null allows whose clusters are alike inside: models
    change places within their cluster, and clusters of one size as wholes.

    Where each is a cluster of its own, these are all orders. Source: Winkler et al. 2015
    (multi-level block permutation).
    """
    rng, sizes = np.random.default_rng(seed), np.bincount(clusters)
    orders = np.empty((draws, len(clusters)), dtype=np.int64)
    for size in np.unique(sizes[sizes > 0]):
        alike = np.flatnonzero(sizes == size)
        places = np.stack([np.flatnonzero(clusters == one) for one in alike])
        whole = rng.permuted(np.tile(np.arange(len(alike)), (draws, 1)), axis=1)
        orders[:, places] = rng.permuted(places[whole], axis=2)
    return orders


def beyond_mean(
    values: Float64[np.ndarray, " n"], groups: Int64[np.ndarray, " n"]
) -> Float64[np.ndarray, " n"]:
    """Return what each value has beyond the mean of its group; groups: numbers from 0 on."""
    means = np.bincount(groups, values) / np.maximum(np.bincount(groups), 1)
    beyond: np.ndarray = values - means[groups]
    return beyond


def invert(rise: float, dealt: Float64[np.ndarray, "draws 2"]) -> tuple[float, float, float]:
    """Return the interval of the rises that are not rejected, and the p of none.

    dealt: a and b of each dealing, its rise with the scores and with the levels. Where the true
    rise is δ, it counts against a rejection if |a − δb| ≥ |rise − δ|: for δ between
    (rise − a)/(1 − b) and (rise + a)/(1 + b), and always where it changes nothing (|b| = 1).
    """
    a, b = dealt.T
    moves = np.abs(b) < 1 - ROUNDING  # not so where it is NaN
    against = np.count_nonzero(~(np.abs(a) < abs(rise) * (1 - ROUNDING)))
    p = (1 + against) / (1 + len(dealt))
    a, b, always = a[moves], b[moves], np.count_nonzero(~moves)
    ends = np.stack([(rise - a) / (1 - b), (rise + a) / (1 + b)])
    place = int((1 - LEVEL) * (1 + len(dealt)) + ROUNDING) - 1 - always
    if not 0 <= place < len(a):  # there are too few ways to deal: nothing is rejected
        return np.nan, np.nan, p
    return float(np.sort(ends.min(0))[place]), float(-np.sort(-ends.max(0))[place]), p


def recipe_trend(
    values: Float64[np.ndarray, " r"],
    over: Float64[np.ndarray, " r"],
    lines: Int64[np.ndarray, " r"],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> DealtTrend:
    """Return how a value of each recipe rises with another, within lines.

    rise: the least-squares slope, each line with a mean of its own. p, low, high: as of
    `core.statistics.trends.level_trend`, `over` being dealt. Recipes with a NaN are left out.
    """
    if draws < 1:
        raise InputError(f"expected at least 1 draw; got {draws}")
    present = np.isfinite(values) & np.isfinite(over)
    values, over, lines = values[present], over[present], lines[present]
    rise = _slope(values, over, lines)
    if not np.isfinite(rise):
        return DealtTrend(recipes=len(values), reason="no line has recipes that differ")
    dealt = [
        (_slope(values, one, lines), _slope(over, one, lines))
        for one in deal(over, lines, draws=draws, seed=seed)
    ]
    low, high, p = invert(rise, np.array(dealt))
    return DealtTrend(rise, low, high, p, len(values))


def _slope(
    values: Float64[np.ndarray, " r"],
    over: Float64[np.ndarray, " r"],
    lines: Int64[np.ndarray, " r"],
) -> float:
    across = beyond_mean(over, lines)
    spread = across @ across
    return float(across @ beyond_mean(values, lines) / spread) if spread > ROUNDING else np.nan


def adjusted_means(
    values: Float64[np.ndarray, " n"],
    groups: Int64[np.ndarray, " n"],
    kinds: Int64[np.ndarray, " n"],
) -> Float64[np.ndarray, " g"]:
    """Return the mean of each group, had each the same share of every kind.

    The least-squares fit value = effect of the group + effect of the kind, with the mean of the
    values kept: adjusted means differ by what groups differ in within kinds. groups, kinds: numbers
    from 0 on. NaN for groups that share no kind with the others, directly or by way of a third; the
    set of groups with most values counts. Source: Searle, Speed, Milliken 1980 (least-squares
    means).
    """
    count = groups.max(initial=-1) + 1
    means = np.full(count, np.nan)
    joined = _joined(groups, kinds)
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


def _joined(
    groups: Int64[np.ndarray, " n"], kinds: Int64[np.ndarray, " n"]
) -> Bool[np.ndarray, " g"]:
    """Return which groups are in the largest set that shared kinds join."""
    counts = np.zeros((groups.max(initial=-1) + 1, kinds.max(initial=-1) + 1))
    np.add.at(counts, (groups, kinds), 1)
    reached = (counts @ counts.T) > 0
    for _ in range(len(counts)):
        reached = reached @ reached
    sizes = reached @ counts.sum(axis=1)
    largest: np.ndarray = reached[sizes.argmax()] if len(sizes) else np.zeros(0, bool)
    return largest


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
    dealt among the recipes of each line as in `core.statistics.trends.level_trend`; dealings
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
    low, high = _contrast_interval(value, pairs, trainings)
    return Contrast(value, low, high, (1 + against) / (1 + draws))


def _contrast_interval(value: float, pairs: Pairs, trainings: Trainings) -> tuple[float, float]:
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


RANK_DRAWS, BOOTSTRAP = 9999, 999
LEAST_GROUPS = 2  # of two ranks, on one side
THIRDS = 2 / 3  # from the middle of the least third of the ranks to that of the most
MOST_UNDEFINED = 0.2  # share of bootstrap draws without a value beyond which there is no interval
FEW = f"it takes {LEAST_GROUPS} families or objectives with models of two ranks each, on one side"

Grid = Float64[np.ndarray, "x y"]
Values = Float64[np.ndarray, " n"]
Groups = Int64[np.ndarray, " n"]
Places = Int64[np.ndarray, " _"]  # of some of the setups


@dataclass(frozen=True)
class Setups:
    """The setups of one side: rank, 0 the least and 1 the most, and group, numbers from 0 on."""

    ranks: Values
    groups: Groups


@dataclass(frozen=True)
class RankTrend:
    """How alignment with the other side rises with rank.

    change: from the least third of the ranks to the most, in units of the score. low, high: its
    95% interval over setups. p: one-sided, for a rise of alignment. draws: how many permutations,
    all that there are if `exact`. rho: Spearman's correlation of rank and score within the sides;
    rho_low, rho_high: its 95% interval over groups. NaN if `reason` says why.
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


@dataclass(frozen=True)
class _Part:
    """The setups of a side that have a rank and a score, with their mean scores."""

    ranks: Values
    means: Values
    groups: Groups

    @classmethod
    def of(cls, side: Setups, means: Values) -> _Part:
        there = np.isfinite(means) & np.isfinite(side.ranks)
        groups: Groups = np.unique(side.groups[there], return_inverse=True)[1].astype(np.int64)
        return cls(side.ranks[there], means[there], groups)

    def groups_of_two_ranks(self) -> int:
        return sum(
            len(np.unique(self.ranks[self.groups == one])) > 1 for one in np.unique(self.groups)
        )


def rank_trend(
    scores: Grid,
    x: Setups,
    y: Setups,
    *,
    toward: int = 1,
    draws: int = RANK_DRAWS,
    seed: int = 0,
) -> RankTrend:
    """Return how the scores between two sides rise with the ranks of both.

    Each setup has its mean score m over the other side; `permutation_p` tests these. change: the
    slope Σ (r − r̄)(m − m̄) / Σ (r − r̄)² over all setups of both sides, with the means of their
    groups, times 2/3. Its interval is the percentile bootstrap over the setups of each group; that
    of ρ, over the groups of each side.

    scores: a row per setup of x, a column per setup of y; NaN if missing. toward: 1 if higher
    scores mean more aligned, −1 if lower ones do; change and ρ keep the score's sign. Raises
    InputError for fewer than 19 draws. Source: Efron, Tibshirani 1993 (bootstrap).
    """
    parts = _parts(scores, x, y)
    if max(part.groups_of_two_ranks() for part in parts) < LEAST_GROUPS:
        return RankTrend(reason=FEW)
    p, count, exact = permutation_p(parts, toward=toward, draws=draws, seed=seed)
    rng = np.random.default_rng(seed)
    within = [
        _rank_slope(_drawn(scores, x, y, [_draw_setups(side, rng) for side in (x, y)]))
        for _ in range(BOOTSTRAP)
    ]
    between = [
        _rho(_drawn(scores, x, y, [_draw_groups(side, rng) for side in (x, y)]))
        for _ in range(BOOTSTRAP)
    ]
    low, high = _percentiles(within)
    return RankTrend(
        THIRDS * _rank_slope(parts),
        THIRDS * low,
        THIRDS * high,
        p,
        count,
        exact,
        _rho(parts),
        *_percentiles(between),
    )


def permutation_p(
    parts: Sequence[_Part], *, toward: int = 1, draws: int = RANK_DRAWS, seed: int = 0
) -> tuple[float, int, bool]:
    """Return the one-sided p of a rise, how many permutations it is of, and whether these are all.

    The statistic is T = Σ (r − r̄)(m − m̄); ranks are exchanged within groups. p = #{T' ≥ T}/N over
    all N permutations if they are at most `draws`, else (1 + #{T' ≥ T})/(1 + draws). Source:
    Edgington, Onghena 2007 (permutation within strata).
    """
    if draws < 19:
        raise InputError(f"expected at least 19 permutations, so that p can be 0.05; got {draws}")
    first = parts[0].groups.max(initial=-1) + 1
    groups = np.concatenate([parts[0].groups, parts[1].groups + first])
    r = beyond_mean(np.concatenate([part.ranks for part in parts]), groups)
    m = beyond_mean(toward * np.concatenate([part.means for part in parts]), groups)
    members = [np.flatnonzero(groups == one) for one in range(groups.max() + 1)]
    count = prod(factorial(len(one)) for one in members)
    exact = count <= draws
    found = _all_orders(r, m, members) if exact else _some_orders(r, m, groups, draws, seed)
    as_high = int(np.count_nonzero(found >= r @ m - ROUNDING))
    return (as_high / count, count, True) if exact else ((1 + as_high) / (1 + draws), draws, False)


def _parts(scores: Grid, x: Setups, y: Setups) -> tuple[_Part, _Part]:
    there = np.isfinite(scores)
    filled = np.where(there, scores, 0.0)
    with np.errstate(invalid="ignore"):  # a setup without any score has no mean
        return (
            _Part.of(x, filled.sum(1) / there.sum(1)),
            _Part.of(y, filled.sum(0) / there.sum(0)),
        )


def _rank_slope(parts: Iterable[_Part]) -> float:
    total = spread = 0.0
    for part in parts:
        ranks = beyond_mean(part.ranks, part.groups)
        total += float(ranks @ beyond_mean(part.means, part.groups))
        spread += float(ranks @ ranks)
    return total / spread if spread > ROUNDING else np.nan


def _rho(parts: Sequence[_Part]) -> float:
    x, y = (
        np.concatenate([_relative_ranks(getattr(part, of)) for part in parts])
        for of in ("ranks", "means")
    )
    spread = float(x @ x) * float(y @ y)
    return float(x @ y) / spread**0.5 if spread > ROUNDING else np.nan


def _relative_ranks(values: Values) -> Values:
    """Return ranks about their mean as shares of their number, so that large sides count no more
    per setup.
    """
    from scipy.stats import rankdata  # a third of a second

    ranks = rankdata(values)
    relative: Values = (ranks - ranks.mean()) / len(ranks) if len(ranks) else ranks
    return relative


def _all_orders(r: Values, m: Values, members: Sequence[Places]) -> Float64[np.ndarray, " draws"]:
    each = [[float(r[list(order)] @ m[one]) for order in permutations(one)] for one in members]
    return np.array([sum(parts) for parts in product(*each)])


def _some_orders(
    r: Values, m: Values, groups: Groups, draws: int, seed: int
) -> Float64[np.ndarray, " draws"]:
    rng, together = np.random.default_rng(seed), np.argsort(groups, kind="stable")
    found = np.empty(draws)
    for place in range(draws):
        found[place] = r[together] @ m[np.lexsort((rng.random(len(r)), groups))]
    return found


def _draw_setups(side: Setups, rng: np.random.Generator) -> Places:
    """Draw as many setups of each group as it has."""
    members = [np.flatnonzero(side.groups == one) for one in np.unique(side.groups)]
    return np.concatenate([rng.choice(one, len(one)) for one in members])


def _draw_groups(side: Setups, rng: np.random.Generator) -> Places:
    """Draw as many groups as there are, each with all of its setups."""
    names = np.unique(side.groups)
    drawn = rng.choice(names, len(names))
    return np.concatenate([np.flatnonzero(side.groups == one) for one in drawn])


def _drawn(scores: Grid, x: Setups, y: Setups, rows: Sequence[Places]) -> tuple[_Part, _Part]:
    first, second = rows
    return _parts(
        scores[np.ix_(first, second)],
        Setups(x.ranks[first], x.groups[first]),
        Setups(y.ranks[second], y.groups[second]),
    )


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the percentiles of bootstrap values; NaN if too many are undefined."""
    known = np.array(values)[np.isfinite(values)]
    if len(known) < (1 - MOST_UNDEFINED) * len(values):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
