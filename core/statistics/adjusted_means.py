"""Means of groups that are made of different kinds, with the kinds held fixed."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int64

from core.statistics.dealing import beyond_mean


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
