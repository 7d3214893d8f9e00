"""Are strong models alike, and weak ones each weak in its own way? Models binned by competence,
aligned within their bins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import InputError
from core.statistics.intervals import pair_error
from core.statistics.nulls import draw_orders

ALL, SAME, DIFFERENT = "all", "same", "different"  # pairs of models: of one group, of two groups
MOST = 1000  # bins
COLUMNS = ("pairs_of", "bin", "low", "high", "models", "pairs", "mean", "se", "se_pairs", "reason")


def assign_bins(skill: pd.Series, *, count: int = 5, equal: bool = False) -> pd.DataFrame:
    """Return the bin of each model: bin (0 … count − 1, the weakest first), low, high (of its bin),
    by model.

    skill: a value per model; models without one are left out. Bins are `count` equal parts of 0 …
    1, each with its lower end; the last has both. equal: as many models in each bin as ties allow
    instead, since models of one value share a bin; low and high are then the least and the largest
    value in it. Raises InputError for fewer than one bin or more than MOST, and for equal parts of
    values outside 0 … 1.
    """
    measured = skill.dropna()
    if not 1 <= count <= MOST:
        raise InputError(f"expected 1 to {MOST} bins; got {count}")
    parts = _places(measured.to_numpy(float), count=count, equal=equal)
    if equal:
        ends = measured.groupby(parts)
        return pd.DataFrame(
            {"bin": parts, "low": ends.transform("min"), "high": ends.transform("max")},
            index=measured.index,
        )
    if len(measured) and not (measured.min() >= 0 and measured.max() <= 1):
        raise InputError(
            "equal parts of 0 … 1 expected values in it; got"
            f" {measured.min():g} … {measured.max():g}: ask for bins of equal size"
        )
    edges = np.arange(count + 1) / count
    return pd.DataFrame(
        {"bin": parts, "low": edges[parts], "high": edges[parts + 1]}, index=measured.index
    )


def bin_pairs(
    pairs: pd.DataFrame, skill: pd.Series, group: pd.Series, bins: pd.DataFrame
) -> pd.DataFrame:
    """Return the pairs of models within one bin: model_x, model_y, score, skill (the mean of both),
    bin, same (one group).

    pairs: model_x, model_y, score; those without a score are left out. skill, group: by model.
    bins: from `assign_bins`. same is <NA> if a group is unknown (NaN or empty): such a pair
    counts neither to those of one group nor to those of two.
    """
    place = bins["bin"]
    inside = pairs[
        pairs["score"].notna() & (pairs["model_x"].map(place) == pairs["model_y"].map(place))
    ]
    x, y = inside["model_x"], inside["model_y"]
    middle = (x.map(skill).astype(float) + y.map(skill).astype(float)) / 2
    points = inside[["model_x", "model_y", "score"]].assign(
        skill=middle, bin=x.map(place).astype(int), same=_same(inside, group)
    )
    return points.reset_index(drop=True)


def summarize_bins(points: pd.DataFrame, bins: pd.DataFrame) -> pd.DataFrame:
    """Return the mean alignment within each bin: over all its pairs, those of one group, and those
    of two.

    Pairs share models, so counting pairs is not enough: se is the jackknife over models of
    `core.statistics.intervals.pair_error`. se_pairs, sd/√pairs, takes pairs for independent and is
    too small.
    points: from `bin_pairs`. bins: from `assign_bins`. Returns pairs_of (all, same or different),
    bin, low, high, models (in the bin), pairs, mean, se, se_pairs, reason, NaN if it says why.
    Source: Huh et al. 2024, figure 2.
    """
    placed = bins.groupby("bin").agg(
        low=("low", "first"), high=("high", "first"), models=("bin", "size")
    )
    rows = [
        (kind, *about, *_mean(chosen[chosen["bin"] == about[0]]))
        for kind, chosen in (
            (ALL, points),
            (SAME, points[points["same"]]),
            (DIFFERENT, points[~points["same"]]),
        )
        for about in placed.itertuples()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def bin_trends(
    pairs: pd.DataFrame,
    skill: pd.Series,
    group: pd.Series,
    *,
    count: int = 5,
    equal: bool = False,
    permutations: int = 999,
    seed: int = 0,
) -> pd.DataFrame:
    """Test whether pairs within a bin are the more aligned the more competent they are: pairs_of,
    slope, p, groups, reason.

    slope: of the least-squares line through the points of `bin_pairs`, in alignment per unit of
    skill. The null: competence has nothing to do with alignment, though models of one group may be
    alike in both. So `deal_skill` exchanges competence, and models are binned again; pairs keep
    their scores and their groups. p = (1 + #{|slope of null| ≥ |slope|})/(1 + permutations),
    two-sided. Groups that are alike among each other, and what is alike within a group for another
    reason than the group, are still taken for independent. groups: how many there are; a model of
    unknown group is one of its own. Raises InputError for fewer than 1 permutation and as
    `assign_bins`.
    """
    if permutations < 1:
        raise InputError(f"expected at least 1 permutation; got {permutations}")
    bins = assign_bins(skill, count=count, equal=equal)
    names = {name: number for number, name in enumerate(bins.index)}
    scored = pairs[
        pairs["score"].notna() & pairs["model_x"].isin(names) & pairs["model_y"].isin(names)
    ]
    x, y = (scored[side].map(names).to_numpy(int) for side in ("model_x", "model_y"))
    same = _same(scored, group)
    alike, unlike = ((same == one).fillna(False).to_numpy(bool) for one in (True, False))
    kinds = {ALL: np.full(len(same), True), SAME: alike, DIFFERENT: unlike}
    scores, values = scored["score"].to_numpy(float), skill[bins.index].to_numpy(float)
    numbers, known = pd.factorize(group.reindex(bins.index).mask(lambda names: names == ""))
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = len(known) + np.arange(len(alone))
    dealt = [values, *deal_skill(values, numbers, count=permutations, seed=seed)]
    slopes = []
    for one in dealt:
        places, middle = _places(one, count=count, equal=equal), (one[x] + one[y]) / 2
        inside = places[x] == places[y]
        slopes.append([_slope(middle[of & inside], scores[of & inside]) for of in kinds.values()])
    rows = []
    for kind, (observed, *null) in zip(kinds, np.transpose(slopes), strict=True):
        # a permutation without a slope counts against it; rounding is no difference
        extreme = int(np.count_nonzero(~(np.abs(null) < abs(observed) * (1 - 1e-12))))
        p, why = (1 + extreme) / (1 + permutations), ""
        if np.isnan(observed):
            p, why = math.nan, "these pairs do not differ in competence, or there are none"
        rows.append({"pairs_of": kind, "slope": observed, "p": p, "reason": why})
    return pd.DataFrame(rows).assign(groups=len(np.unique(numbers)))


def deal_skill(
    skill: Float64[np.ndarray, " m"], groups: Int64[np.ndarray, " m"], *, count: int, seed: int
) -> Float64[np.ndarray, "count m"]:
    """Exchange skill, `count` times, so that models of one group stay as alike as they are.

    The means of groups are dealt among the groups, and what its models have beyond the mean among
    the models of each group; the sum is cut off at the range of skill. With one group, or with each
    model its own, that deals the values among the models. groups: a number from 0 on for each
    model, none left out. Source: Anderson, ter Braak 2003 (permutation of whole units in nested
    designs).
    """
    means = np.bincount(groups, skill) / np.bincount(groups)
    rng = np.random.default_rng(seed)
    # group by group, at random within each
    order = np.argsort(groups + rng.random((count, len(skill))), axis=1)
    own = np.empty(order.shape)
    own[:, np.argsort(groups, kind="stable")] = (skill - means[groups])[order]
    dealt = means[draw_orders(len(means), count=count, seed=seed)][:, groups] + own
    ends = skill.min(initial=np.inf), skill.max(initial=-np.inf)
    # rounding moves no value over the edge of a bin
    clipped: np.ndarray = np.clip(dealt.round(12), *ends)
    return clipped


def _places(
    values: Float64[np.ndarray, " m"], *, count: int, equal: bool
) -> Int64[np.ndarray, " m"]:
    """Return the bin of each value; see `assign_bins`."""
    if not equal:
        places: np.ndarray = np.digitize(values, np.arange(1, count) / count)
        return places
    from scipy.stats import rankdata

    return ((rankdata(values) - 0.5) * count // max(len(values), 1)).astype(int)


def _same(pairs: pd.DataFrame, group: pd.Series) -> pd.Series:
    """Return which pairs are of one group; <NA> if a group is unknown."""
    x, y = (pairs[side].map(group.mask(group == "")) for side in ("model_x", "model_y"))
    return (x == y).astype("boolean").mask(x.isna() | y.isna())


def _mean(points: pd.DataFrame) -> tuple[Any, ...]:
    scores = points["score"].to_numpy(float)
    numbers, models = pd.factorize(points[["model_x", "model_y"]].to_numpy().ravel())
    if not len(scores):
        return 0, np.nan, np.nan, np.nan, "no two models of this bin make such a pair"
    x, y = numbers.reshape(-1, 2).T
    error = pair_error(scores, x, y, models=len(models))
    naive = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
    why = "one model is in all of these pairs, so the spread of their mean is unknown"
    return len(scores), scores.mean(), error, naive, "" if np.isfinite(error) else why


def _slope(x: Float64[np.ndarray, " n"], y: Float64[np.ndarray, " n"]) -> float:
    if not len(x) or np.ptp(x) == 0:
        return np.nan
    centered = x - x.mean()
    return float(centered @ y / (centered @ centered))
