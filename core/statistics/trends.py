"""Trends within groups, tested by permutation: of pairs of trainings over levels, and of setups
over ranks.

A recipe is one way to train, in all its seeds; a line is a set of recipes that differ in their
level alone, such as CLIP in three sizes. Pairs of one recipe, or of a model and its fine-tuned
copy, never count. Levels are exchanged within lines, so what lines differ in is no trend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
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
SAME_LEVEL = "needs two objectives or families with pairs on two levels"
NO_CONTRAST = (
    "needs two objectives or families with pairs both within the lowest level and from it to the"
    " highest"
)
FEW = f"needs {LEAST_GROUPS} families or objectives with models of two ranks each, on one side"

Values = Float64[np.ndarray, " n"]
Numbers = Int64[np.ndarray, " n"]  # such as groups, from 0 on
Mask = Bool[np.ndarray, " n"]
Levels = Float64[np.ndarray, " m"]
Places = Int64[np.ndarray, " _"]
T = TypeVar("T", float, Values)


@dataclass(frozen=True)
class DealtTrend:
    """How much a value rises from the lowest level to the highest, or per unit of another, with its
    95% interval and two-sided p; recipes, pairs: how many counted. NaN if `reason` says why.
    """

    rise: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    recipes: int = 0
    pairs: int = 0
    reason: str = ""


def orders_within(groups: Numbers, *, draws: int, seed: int) -> Iterator[Numbers]:
    """Yield random orders of n places that exchange only places of one group."""
    rng, together = np.random.default_rng(seed), np.argsort(groups, kind="stable")
    for _ in tell_each(range(draws), "permutations"):
        order = np.empty_like(together)
        order[np.lexsort((rng.random(len(groups)), groups))] = together
        yield order


def exchange(clusters: Numbers, *, draws: int, seed: int) -> Int64[np.ndarray, "draws n"]:
    """Return random orders of n models: models change places within their cluster, and clusters of
    one size as wholes. Source: Winkler et al. 2015 (multi-level block permutation).
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
    b) and (rise + a)/(1 + b), and always if |b| = 1. Source: Garthwaite 1996.
    """
    a, b = np.array(dealt).T
    moves = np.abs(b) < 1 - ROUNDING  # not so where it is NaN
    against = np.count_nonzero(~(np.abs(a) < abs(rise) * (1 - ROUNDING)))
    p = (1 + against) / (1 + len(dealt))
    a, b, always = a[moves], b[moves], np.count_nonzero(~moves)
    ends = np.stack([(rise - a) / (1 - b), (rise + a) / (1 + b)])
    place = int((1 - LEVEL) * (1 + len(dealt)) + ROUNDING) - 1 - always
    if not 0 <= place < len(a):  # too few permutations: nothing is rejected
        return np.nan, np.nan, p
    return float(np.sort(ends.min(0))[place]), float(-np.sort(-ends.max(0))[place]), p


def jackknife(value: T, without: Float64[np.ndarray, "r ..."], *, freedom: int) -> tuple[T, T]:
    """Return the jackknife's 95% interval of a value, or of each of several, from those with one
    recipe left out each; NaN if one of these is. freedom: of Student's t.
    """
    from scipy.special import stdtrit  # scipy.stats takes a third of a second

    count = len(without)
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    reach = stdtrit(freedom, (1 + LEVEL) / 2) * error
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
    """Return the least-squares mean of each group, had each the same share of every kind: value =
    effect of the group + effect of the kind, the mean of the values kept.

    NaN for groups that share no kind with the others, directly or by way of a third; the set of
    groups with most values counts. Source: Searle, Speed, Milliken 1980.
    """
    from scipy.sparse.csgraph import connected_components

    counts = np.zeros((groups.max(initial=-1) + 1, kinds.max(initial=-1) + 1))
    np.add.at(counts, (groups, kinds), 1)
    means = np.full(len(counts), np.nan)
    if not len(values):
        return means
    _, parts = connected_components(counts @ counts.T > 0)
    joined = parts == np.bincount(parts, counts.sum(axis=1)).argmax()
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
        _check_draws(draws, 1)
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
        """Return the slope of the pairs' values over level among the pairs on one level, each two
        lines with a mean of their own; NaN if none spans two levels.
        """
        inside = levels[self.x] == levels[self.y]
        return slope_within(values[inside], levels[self.x[inside]], self.between[inside])


def level_trend(trainings: Trainings, *, draws: int = DRAWS, seed: int = 0) -> DealtTrend:
    """Return how the scores of pairs on one level rise with it.

    rise: the least-squares slope of score over level, each two lines with a mean of their own. p =
    (1 + #{|rise of a permutation| ≥ |rise|})/(1 + draws): each permutation exchanges the levels of
    a line's recipes, and pairs that are then on one level count. Interval: every rise δ that this
    test does not reject, once δ times the mean level of its two trainings is taken from each score;
    so p ≤ 0.05 says that 0 lies outside. Source: Anderson, ter Braak 2003; Garthwaite 1996.
    """
    pairs, levels = Pairs.of(trainings), trainings.levels
    orders = list(trainings.permuted_levels(draws=draws, seed=seed))
    inside = levels[pairs.x] == levels[pairs.y]
    members = np.unique(trainings.recipes[np.concatenate([pairs.x[inside], pairs.y[inside]])])
    count, used = len(members), int(inside.sum())
    rise = pairs.rise(levels, pairs.scores)
    if not np.isfinite(rise):
        return DealtTrend(recipes=count, pairs=used, reason=SAME_LEVEL)
    middle = (levels[pairs.x] + levels[pairs.y]) / 2
    dealt = [(pairs.rise(one, pairs.scores), pairs.rise(one, middle)) for one in orders]
    return DealtTrend(rise, *invert(rise, dealt), count, used)


def grid_means(trainings: Trainings, *, same: bool = False) -> pd.DataFrame:
    """Return the mean score of the pairs within and between levels, the lowest first: one, other
    (the two levels), mean, adjusted (`adjusted_means` over the pairs of lines), trainings, recipes,
    pairs.

    same: pairs on one level alone, also with low and high, the jackknife's 95% interval of adjusted
    over recipes.
    """
    pairs, levels = Pairs.of(trainings), trainings.levels
    pairs = pairs.where(levels[pairs.x] == levels[pairs.y]) if same else pairs
    ends = np.sort(np.stack([levels[pairs.x], levels[pairs.y]]), axis=0)
    cells, place = np.unique(ends, axis=1, return_inverse=True)
    x, y = trainings.recipes[pairs.x], trainings.recipes[pairs.y]
    members = np.union1d(x, y)[: None if same else 0]
    without = np.full((len(members), cells.shape[1]), np.nan)
    for place_of, recipe in enumerate(members):
        kept = (x != recipe) & (y != recipe)
        found = adjusted_means(pairs.scores[kept], place[kept], pairs.between[kept])
        without[place_of, : len(found)] = found
    rows = []
    for cell, adjusted in enumerate(adjusted_means(pairs.scores, place, pairs.between).tolist()):
        on = pairs.where(place == cell)
        among = np.union1d(on.x, on.y)
        recipes, low, high = len(np.unique(trainings.recipes[among])), np.nan, np.nan
        if same and recipes >= FEWEST:
            low, high = jackknife(adjusted, without[:, cell], freedom=recipes - 1)
        row = {"one": cells[0, cell], "other": cells[1, cell], "mean": on.scores.mean()}
        row |= {"adjusted": adjusted, "low": low, "high": high}
        rows.append(row | {"trainings": len(among), "recipes": recipes, "pairs": len(on.scores)})
    return pd.DataFrame(rows)


def weak_contrast(trainings: Trainings, *, draws: int = DRAWS, seed: int = 0) -> DealtTrend:
    """Return how much less alike trainings on the lowest level are than they are like those on the
    highest.

    rise = mean(low, low) − mean(low, high) over pairs of the same two lines (least squares): below
    0 if each weak training is weak in its own way, near 0 if the weak share with each other what
    they share with the strong. p: levels permuted as in `level_trend`; permutations without such
    pairs count against it. Interval: jackknife over recipes.
    """
    pairs, levels, recipes = Pairs.of(trainings), trainings.levels, trainings.recipes
    orders = list(trainings.permuted_levels(draws=draws, seed=seed))

    def contrast(levels: Levels, kept: Mask | bool = True) -> float:
        weak = kept & pairs.are_between(levels, WEAKEST, WEAKEST)
        used = weak | (kept & pairs.are_between(levels, WEAKEST, STRONGEST))
        return slope_within(pairs.scores[used], weak[used].astype(float), pairs.between[used])

    value = contrast(levels)
    if not np.isfinite(value):
        return DealtTrend(reason=NO_CONTRAST)
    dealt = [contrast(one) for one in orders]
    against = np.count_nonzero(~(np.abs(dealt) < abs(value) * (1 - ROUNDING)))
    used = pairs.are_between(levels, WEAKEST, WEAKEST)
    used = used | pairs.are_between(levels, WEAKEST, STRONGEST)
    x, y = recipes[pairs.x], recipes[pairs.y]
    counted, low, high = np.union1d(x[used], y[used]), np.nan, np.nan
    if len(counted) >= FEWEST:
        without = np.array([contrast(levels, (x != one) & (y != one)) for one in counted])
        low, high = jackknife(value, without, freedom=len(without) - 1)
    return DealtTrend(value, low, high, (1 + against) / (1 + draws), len(counted), int(used.sum()))


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


class Side(NamedTuple):
    """Ranks, mean scores with the other side by specification, and groups of setups with both."""

    ranks: Values
    means: Float64[np.ndarray, "s n"]
    groups: Numbers

    def at(self, rows: Places) -> Side:
        return Side(self.ranks[rows], self.means[:, rows], self.groups[rows])

    @property
    def is_testable(self) -> bool:
        """Return whether enough groups have setups of two ranks."""
        ranks = [self.ranks[self.groups == one] for one in np.unique(self.groups)]
        return sum(len(np.unique(one)) > 1 for one in ranks) >= LEAST_GROUPS


def _sides(scores: Float64[np.ndarray, "s x y"], x: Setups, y: Setups) -> tuple[Side, Side]:
    """Return both sides without setups that lack a rank, or a score under some specification that
    has any.
    """
    there = np.isfinite(scores)
    some, filled = there.any(axis=(1, 2)), np.where(there, scores, 0.0)
    with np.errstate(invalid="ignore"):  # a setup without any score has no mean
        means = filled.sum(2) / there.sum(2), filled.sum(1) / there.sum(1)

    def side(of: Setups, means: Float64[np.ndarray, "s every"]) -> Side:
        known = np.isfinite(of.ranks) & np.isfinite(means).all(axis=0)
        groups: Numbers = np.unique(of.groups[known], return_inverse=True)[1].astype(np.int64)
        return Side(of.ranks[known], means[:, known], groups)

    return side(x, means[0][some]), side(y, means[1][some])


def _draw_groups(groups: Numbers, rng: np.random.Generator) -> Places:
    """Draw groups with replacement and return the places of their members."""
    names = np.unique(groups)
    drawn = rng.choice(names, len(names)) if len(names) else names
    return np.concatenate(
        [np.empty(0, np.int64), *(np.flatnonzero(groups == one) for one in drawn)]
    )


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
    sides = _sides(scores[None], x, y)
    if not any(side.is_testable for side in sides):
        return RankTrend(reason=FEW)
    p, count, exact = _rank_p(sides, toward=toward, draws=draws, seed=seed)
    rng = np.random.default_rng(seed)

    def draw_setups(side: Setups) -> Places:
        members = [np.flatnonzero(side.groups == one) for one in np.unique(side.groups)]
        return np.concatenate([rng.choice(one, len(one)) for one in members])

    def drawn(rows: Places, columns: Places) -> tuple[Side, Side]:
        return _sides(scores[None, rows[:, None], columns], x.at(rows), y.at(columns))

    within = [_slope(drawn(draw_setups(x), draw_setups(y))) for _ in range(BOOTSTRAP)]
    between = [
        _correlations(drawn(_draw_groups(x.groups, rng), _draw_groups(y.groups, rng)))
        for _ in range(BOOTSTRAP)
    ]
    change, low, high = (THIRDS * one for one in (_slope(sides), *_percentiles(within)))
    rhos = [float(one[0]) if len(one) else np.nan for one in between]
    rho = float(_correlations(sides)[0])
    return RankTrend(change, low, high, p, count, exact, rho, *_percentiles(rhos))


@dataclass(frozen=True)
class Curve:
    """A rank trend under each of many specifications, and one test over all.

    rho: by specification, with its 95% interval and one-sided p. median: of ρ. joint: one-sided p
    of the median. NaN if `reason` says why.
    """

    rho: Values
    low: Values
    high: Values
    p: Values
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
    some, sides = np.isfinite(scores).any(axis=(1, 2)), _sides(scores, x, y)
    rho, low, high, p = np.full((4, len(scores)), np.nan)
    if not some.any() or not any(side.is_testable for side in sides):
        return Curve(rho, low, high, p, reason=FEW)
    rho[some] = found = _correlations(sides)
    orders = np.stack(list(orders_within(_joined_groups(sides), draws=draws, seed=seed)))
    ranks = np.concatenate([_relative(side.ranks) for side in sides])
    values = np.concatenate([_relative(side.means) for side in sides], axis=1)
    size = np.sqrt((values**2).sum(1, keepdims=True) * (ranks**2).sum())
    exchanged = (values @ ranks[orders].T) / size
    p[some] = (1 + (exchanged >= found[:, None] - ROUNDING).sum(1)) / (1 + draws)
    median = float(np.median(found))
    beyond = int((np.median(exchanged, axis=0) >= median - ROUNDING).sum())
    rng = np.random.default_rng(seed)
    drawn = np.stack(
        [
            _correlations([side.at(_draw_groups(side.groups, rng)) for side in sides])
            for _ in range(BOOTSTRAP)
        ]
    )
    low[some], high[some] = np.transpose([_percentiles(column) for column in drawn.T])
    return Curve(rho, low, high, p, median, (1 + beyond) / (1 + draws))


def _joined_groups(sides: Sequence[Side]) -> Numbers:
    """Return the groups of both sides, numbered apart."""
    one, other = (side.groups for side in sides)
    return np.concatenate([one, other + one.max(initial=-1) + 1])


def _relative(values: np.ndarray) -> np.ndarray:
    """Return ranks along the last axis as shares of their number, beyond their mean."""
    from scipy.stats import rankdata  # a third of a second

    n = values.shape[-1]
    return np.asarray((rankdata(values, axis=-1) - (n + 1) / 2) / max(n, 1))


def _correlations(sides: Sequence[Side]) -> Values:
    """Return ρ of ranks and means over both sides, by specification, as shares of their number, so
    that large sides count no more per setup; NaN without spread.
    """
    x = np.concatenate([_relative(side.ranks) for side in sides])
    y = np.concatenate([_relative(side.means) for side in sides], axis=1)
    spread = np.sqrt((x @ x) * (y * y).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > ROUNDING, y @ x / spread, np.nan)


def _rank_p(
    sides: tuple[Side, Side], *, toward: int, draws: int, seed: int
) -> tuple[float, int, bool]:
    """Return p, of how many permutations, and whether these are all."""
    _check_draws(draws, 19)  # so that p can be 0.05
    groups = _joined_groups(sides)
    r = beyond_mean(np.concatenate([side.ranks for side in sides]), groups)
    m = beyond_mean(toward * np.concatenate([side.means[0] for side in sides]), groups)
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
    for side in sides:
        if len(side.means):
            r = beyond_mean(side.ranks, side.groups)
            total += float(r @ beyond_mean(side.means[0], side.groups))
            spread += float(r @ r)
    return total / spread if spread > ROUNDING else np.nan


def _percentiles(values: Sequence[float] | Values) -> tuple[float, float]:
    """Return the 95% interval of bootstrap values; NaN if too many are undefined."""
    known = np.asarray(values)[np.isfinite(values)]
    if len(known) < (1 - MOST_UNDEFINED) * len(values):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
