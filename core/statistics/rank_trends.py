"""Does alignment of two sides rise with rank: one test over both, ranks exchanged within groups.

Two sides are compared, such as vision and language, a row and a column of scores for each setup.
Setups of a group differ in rank alone, such as one architecture in several sizes; what groups
differ in counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import InputError
from core.statistics.dealing import LEVEL, ROUNDING, beyond_mean

DRAWS, BOOTSTRAP = 9999, 999
LEAST_GROUPS = 2  # of two ranks, on one side
THIRDS = 2 / 3  # from the middle of the least third of the ranks to that of the most
MOST_UNDEFINED = 0.2  # share of bootstrap draws without a value beyond which there is no interval
FEW = f"it takes {LEAST_GROUPS} families or objectives with models of two ranks each, on one side"

Scores = Float64[np.ndarray, "x y"]
Values = Float64[np.ndarray, " n"]
Members = Int64[np.ndarray, " n"]
Places = Int64[np.ndarray, " _"]  # of some of the setups


@dataclass(frozen=True)
class Setups:
    """The setups of one side: rank, 0 the least and 1 the most, and group, numbers from 0 on."""

    ranks: Values
    groups: Members


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
    groups: Members

    @classmethod
    def of(cls, side: Setups, means: Values) -> _Part:
        there = np.isfinite(means) & np.isfinite(side.ranks)
        groups: Members = np.unique(side.groups[there], return_inverse=True)[1].astype(np.int64)
        return cls(side.ranks[there], means[there], groups)

    def groups_of_two_ranks(self) -> int:
        return sum(
            len(np.unique(self.ranks[self.groups == one])) > 1 for one in np.unique(self.groups)
        )


def rank_trend(
    scores: Scores,
    x: Setups,
    y: Setups,
    *,
    toward: int = 1,
    draws: int = DRAWS,
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
        _slope(_drawn(scores, x, y, [_draw_setups(side, rng) for side in (x, y)]))
        for _ in range(BOOTSTRAP)
    ]
    between = [
        _rho(_drawn(scores, x, y, [_draw_groups(side, rng) for side in (x, y)]))
        for _ in range(BOOTSTRAP)
    ]
    low, high = _interval(within)
    return RankTrend(
        THIRDS * _slope(parts),
        THIRDS * low,
        THIRDS * high,
        p,
        count,
        exact,
        _rho(parts),
        *_interval(between),
    )


def permutation_p(
    parts: Sequence[_Part], *, toward: int = 1, draws: int = DRAWS, seed: int = 0
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


def _parts(scores: Scores, x: Setups, y: Setups) -> tuple[_Part, _Part]:
    there = np.isfinite(scores)
    filled = np.where(there, scores, 0.0)
    with np.errstate(invalid="ignore"):  # a setup without any score has no mean
        return (
            _Part.of(x, filled.sum(1) / there.sum(1)),
            _Part.of(y, filled.sum(0) / there.sum(0)),
        )


def _slope(parts: Iterable[_Part]) -> float:
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
    r: Values, m: Values, groups: Members, draws: int, seed: int
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


def _drawn(scores: Scores, x: Setups, y: Setups, rows: Sequence[Places]) -> tuple[_Part, _Part]:
    first, second = rows
    return _parts(
        scores[np.ix_(first, second)],
        Setups(x.ranks[first], x.groups[first]),
        Setups(y.ranks[second], y.groups[second]),
    )


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the percentiles of bootstrap values; NaN if too many are undefined."""
    known = np.array(values)[np.isfinite(values)]
    if len(known) < (1 - MOST_UNDEFINED) * len(values):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
