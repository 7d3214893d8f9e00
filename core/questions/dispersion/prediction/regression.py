"""What predicts a value per stimulus: ridge regression on held-out stimuli, and what it loses
without each predictor.

Ridge was chosen by measurement: of the demo store's dispersion it predicts as much as random
forests (R² 0.22 and 0.23) and more than gradient boosting (0.20), in a twentieth of the time and
with importances in closed form. What permutation importance misses: of predictors that go together
each can stand in for the other, so that all of them look unimportant. The rows of whole kinds,
whose predictors are permuted together, show what they do jointly, and a predictor's own test what
it tells by itself. Neither says what is a cause.

Coverage of the intervals in simulations: of R² 90 to 100 %; of importance 87 to 100 % of what the
same regression gives on average over other stimuli, but 78 to 79 % of what it would be with all
stimuli of the world, from which a penalty on few stimuli shrinks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import InputError
from core.pairs.prepared import one_core_each
from core.progress import Progress
from core.questions.dispersion.prediction.predictors import Predictor, read_predictor
from core.statistics.intervals import draw_halves
from core.statistics.nulls import adjust

FOLDS = 5
REPEATS = 4  # partitions into folds
HALVES = 40
LEAST_STIMULI = 50  # half of them still have five in each fold
STRENGTHS = np.logspace(
    -5, 2, 15
)  # penalties per stimulus; the best is chosen among each fold's training stimuli
TOGETHER = "all together"
COLUMNS = (
    "kind",
    "predictor",
    "covers",
    "importance",
    "low",
    "high",
    "spearman",
    "test",
    "p",
    "n",
    "reason",
    "p_adjusted",
    "r2",
    "r2_low",
    "r2_high",
)

Key = tuple[str, str]  # kind, predictor


class Group(NamedTuple):
    """Predictors that are permuted together, under one name."""

    kind: str
    name: str
    keys: Sequence[Key]


def predict(
    target: Float64[np.ndarray, "n"],
    predictors: Mapping[str, pd.DataFrame],
    *,
    seed: int = 0,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Rank predictors by what a regression loses when one is permuted.

    r2: 1 − Σ(y − ŷ)² / Σ(y − ȳ)², where ŷ is of a ridge regression that has not seen the stimulus,
    the mean over REPEATS partitions into FOLDS; at most 1, and 0 or less where nothing is
    predicted. importance: the loss of R² when a predictor's columns are permuted together among
    held-out stimuli, the mean over all permutations; 0 or less where the predictor is of no use,
    and up to twice what it predicts, since a permuted value also misleads. low, high: 95 %
    intervals, ± 1.96 standard deviations over HALVES random halves of the stimuli, on which all is
    fitted anew; their coverage is above.

    target: one finite number per stimulus. predictors: tables of n rows by kind (image, caption …);
    columns as `read_predictor` takes them. Returns a row per predictor, most important first, then
    a row per kind of several, permuted together: kind, predictor (TOGETHER), covers (how many),
    importance, low, high; spearman, test, p of the predictor alone; n: stimuli where it is known;
    reason: why it is left out (then its numbers are NaN); p_adjusted: for the false discovery rate
    over all; r2, r2_low, r2_high: of all together, NaN where all are left out. Raises InputError
    for fewer than LEAST_STIMULI stimuli, no predictor, a target that is constant or not finite and
    tables of other lengths. Source: Breiman 2001, section 10; Fisher et al. 2019, section 3.
    """
    _check(target, predictors)
    by_key = {
        (kind, str(name)): read_predictor(table[name], target)
        for kind, table in predictors.items()
        for name in table
    }
    groups = _group([key for key, predictor in by_key.items() if not predictor.reason])
    scores: list[list[float]] = _bounded(target, by_key, groups, seed=seed, report=report).tolist()
    left_out = [Group(*key, [key]) for key, predictor in by_key.items() if predictor.reason]
    (r2, low, high), *parts = *scores, *[[np.nan] * 3] * len(left_out)
    every = zip([*groups, *left_out], parts, strict=True)
    return _ranked([_row(group, by_key, *score) for group, score in every]).assign(
        r2=r2, r2_low=low, r2_high=np.minimum(high, 1.0)
    )


def _ranked(rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    """Return the rows with adjusted p-values, single predictors before kinds, most important
    first.
    """
    table = pd.DataFrame(rows, columns=list(COLUMNS[: len(rows[0])]))
    table = table.assign(p_adjusted=adjust(table["p"].to_numpy()), joint=table["covers"] > 1)
    ranked = table.sort_values(
        ["joint", "importance"], ascending=[True, False], kind="stable", ignore_index=True
    )
    return ranked.drop(columns="joint")


def _check(target: Float64[np.ndarray, "n"], predictors: Mapping[str, pd.DataFrame]) -> None:
    if not any(len(table.columns) for table in predictors.values()):
        raise InputError("expected at least one predictor; got none: add a factor or a statistic")
    if len(target) < LEAST_STIMULI:
        raise InputError(
            f"a regression over stimuli needs at least {LEAST_STIMULI} of them; got {len(target)}"
        )
    if not np.isfinite(target).all():
        raise InputError(
            f"a finite number per stimulus expected; {int((~np.isfinite(target)).sum())} of"
            f" {len(target)} are not"
        )
    if np.ptp(target) == 0:
        raise InputError(
            f"all {len(target)} stimuli have the same value, so there is nothing to predict; choose"
            " other spaces"
        )
    for kind, table in predictors.items():
        if len(table) != len(target):
            raise InputError(
                f"one row of predictors per stimulus expected; {kind} has {len(table)} rows for"
                f" {len(target)} stimuli"
            )


def _group(usable: Sequence[Key]) -> list[Group]:
    """Return what is permuted together: each predictor alone, then all of each kind that has
    several.
    """
    kinds = {kind: [key for key in usable if key[0] == kind] for kind, _ in usable}
    alone = [Group(*key, [key]) for key in usable]
    return alone + [Group(kind, TOGETHER, keys) for kind, keys in kinds.items() if len(keys) > 1]


def _bounded(
    target: Float64[np.ndarray, "n"],
    by_key: Mapping[Key, Predictor],
    groups: Sequence[Group],
    *,
    seed: int,
    report: Progress | None,
) -> Float64[np.ndarray, "scores 3"]:
    """Return R² and then every importance, each with its interval; NaN without a group."""
    if not groups:
        return np.full((1, 3), np.nan)
    used = list(dict.fromkeys(key for group in groups for key in group.keys))
    x = np.hstack([by_key[key].columns for key in used])
    owner = np.repeat(np.arange(len(used)), [by_key[key].columns.shape[1] for key in used])
    members = np.stack(
        [np.isin(owner, [used.index(key) for key in group.keys]) for group in groups], axis=1
    ).astype(np.float64)
    with one_core_each() as pool:
        again = pool.map(
            lambda repeat: _held_out(x, target, members, seed=seed + repeat), range(REPEATS)
        )
        drawn = draw_halves(len(target), count=HALVES, seed=seed)
        halves = []
        for scores in pool.map(
            lambda half: _held_out(x[half], target[half], members, seed=seed), drawn
        ):
            halves.append(scores)
            if report:
                report(len(halves), HALVES, "regressions on halves of the stimuli")
        score = np.mean(list(again), axis=0)
    margin = 1.96 * np.std(halves, axis=0, ddof=1)
    return np.stack([score, score - margin, score + margin], axis=1)


def _held_out(
    x: Float64[np.ndarray, "n width"],
    y: Float64[np.ndarray, "n"],
    members: Float64[np.ndarray, "width groups"],
    *,
    seed: int,
) -> Float64[np.ndarray, "scores"]:
    """Return R² over one partition into folds, then what it loses when each group of columns is
    permuted.

    With c a group's part of the predictions less its mean and r the errors, the squared errors grow
    by 2 Σ c (r + c) on average over all permutations of a fold's stimuli. NaN where y is constant.
    """
    from sklearn.linear_model import (
        RidgeCV,  # a second that pages without a regression must not pay
    )
    from sklearn.model_selection import KFold

    lost = np.zeros(1 + members.shape[1])
    spread = ((y - y.mean()) ** 2).sum()
    if spread == 0:
        return np.full_like(lost, np.nan)
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(x):
        model = RidgeCV(STRENGTHS * len(train), gcv_mode="svd").fit(
            x[train], y[train]
        )  # half the time of its own choice
        error = y[test] - model.predict(x[test])
        part = (x[test] * model.coef_) @ members
        part -= part.mean(axis=0)
        lost += np.append(error @ error, 2 * (part * (error[:, None] + part)).sum(axis=0)) / spread
    lost[0] = 1 - lost[0]
    return lost


def _row(
    group: Group, by_key: Mapping[Key, Predictor], importance: float, low: float, high: float
) -> tuple[object, ...]:
    """Return what COLUMNS begin with."""
    one = by_key[group.keys[0]]
    if len(group.keys) > 1:
        one = Predictor(one.columns, len(one.columns))
    return (
        group.kind,
        group.name,
        len(group.keys),
        importance,
        low,
        high,
        one.spearman,
        one.test,
        one.p,
        one.n,
        one.reason,
    )
