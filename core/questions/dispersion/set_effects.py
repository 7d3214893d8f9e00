"""How alignment depends on the set of stimuli: scores on chosen sets beside random ones, with
intervals.

A set's interval comes of random three quarters of it, with the same k: a draw with replacement
would hold copies, and a copy is the nearest neighbor of its stimulus in every space. Three quarters
vary around the whole by 1/√3 of what the whole varies around the world, so their deviations are
scaled by √3 (Shao, Wu 1989: the jackknife that leaves out many). The interval says how far the
score would be from itself for other stimuli from the same part of the ranking. In simulations of
CKNNA and mutual kNN it is 1.1 to 1.5 times as wide as it had to be, since what two neighbors do
jointly is counted twice; of a ratio 0.9 to 1.05 times, with a coverage of 92 to 96 %. (Of halves it
is 1.5 to 1.9 times with half of k; with all of k that of a ratio is too narrow.) It takes as given
the ranking, which the models at hand define, the layers, chosen on all stimuli, and the models, and
it is that of one model: of four without any effect one or more has a ratio whose interval leaves
out 1 in 15 to 22 % of simulations. The p-value asks something else: how often a random set of this
size scores as far from the mean of random sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.metrics.spec import MetricSpec
from core.pairs.prepared import one_core_each
from core.pairs.subsets import Rows, SetScores
from core.progress import Progress
from core.statistics.intervals import LEVEL, half_interval
from core.statistics.nulls import draw_orders

ALL = ""  # the mean over the models of y
PART = 0.75  # of a set, rounded down
SCALE = np.sqrt(PART / (1 - PART))  # of the deviations of parts; see above
NO_SCORE = "the metric has no value on this set"
NO_RATIO = "a ratio needs positive scores of both sets and of their parts"


class SetScore(NamedTuple):
    """The scores of every pair of spaces on one set and on random parts of it; the last column is
    the mean over y.
    """

    whole: Float64[np.ndarray, "X Y1"]
    parts: Float64[np.ndarray, "draws X Y1"]

    def of(self, rows: slice) -> SetScore:
        """Return the scores of some of x's spaces."""
        return SetScore(self.whole[rows], self.parts[:, rows])


def score_all(
    score: SetScores,
    sets: Sequence[Int64[np.ndarray, " _"]],
    *,
    draws: int,
    seed: int,
    report: Progress | None = None,
) -> list[SetScore]:
    """Score sets, each with `draws` random parts of three quarters of it."""
    jobs = [job for rows in sets for job in (rows, *_draw_parts(rows, draws, seed))]
    scored = []
    with one_core_each() as pool:
        for done, scores in enumerate(pool.map(score, jobs), start=1):
            scored.append(np.concatenate([scores, scores.mean(axis=1, keepdims=True)], axis=1))
            if report:
                report(done, len(jobs), "sets of stimuli")
    each = np.split(np.array(scored), len(sets))
    return [SetScore(scores[0], scores[1:]) for scores in each]


def _draw_parts(rows: Rows, draws: int, seed: int) -> list[Int64[np.ndarray, " _"]]:
    return [
        rows[order < int(PART * len(rows))]
        for order in draw_orders(len(rows), count=draws, seed=seed)
    ]


def effect_table(
    x: Sequence[str],
    y: Sequence[str],
    sets: Mapping[str, SetScore],
    random: Mapping[str, Sequence[SetScore]],
    *,
    spec: MetricSpec,
    ratio: tuple[str, str] | None = None,
) -> pd.DataFrame:
    """Return a row for each pair of spaces and each set, the mean over y as a pair of its own (y is
    then ALL).

    Columns vision, language, set, score, low and high (95 %), p, reason: why something is NaN.
    sets: chosen sets by name; p is two-sided against the random sets, NaN where there are none.
    random: at most one name; its score is the mean over the draws, its interval their 2.5 to 97.5 %
    quantiles. ratio: adds a set `a/b` whose score is that of a over that of b, with the interval of
    its logarithm from parts of both.
    """
    rows = []
    for a, first in enumerate(x):
        for b, second in enumerate((*y, ALL)):
            drawn = {
                name: np.array([each.whole[a, b] for each in draws])
                for name, draws in random.items()
            }
            null = next(iter(drawn.values()), np.array([]))
            chosen = {name: (one.whole[a, b], one.parts[:, a, b]) for name, one in sets.items()}
            lines = [
                (name, score, *_interval(score, parts, spec), _tail(score, null))
                for name, (score, parts) in chosen.items()
            ]
            lines += [
                (name, scores.mean(), *_quantiles(scores), np.nan) for name, scores in drawn.items()
            ]
            if ratio:
                lines.append(("/".join(ratio), *_ratio(*(chosen[name] for name in ratio)), np.nan))
            rows += [(first, second, *line) for line in lines]
    table = pd.DataFrame(rows, columns=["vision", "language", "set", "score", "low", "high", "p"])
    missing = np.where(table["set"].str.contains("/"), NO_RATIO, NO_SCORE)
    return table.assign(reason=np.where(table["score"].isna(), missing, ""))


def _interval(
    score: float, parts: Float64[np.ndarray, " draws"], spec: MetricSpec
) -> Sequence[float]:
    """Return low and high; scaled, three quarters vary as halves do."""
    return (
        half_interval(score, SCALE * parts, spec=spec).tolist()
        if len(parts) > 1
        else (np.nan, np.nan)
    )


def _quantiles(scores: Float64[np.ndarray, " draws"]) -> Sequence[float]:
    """Return low and high, NaN of one draw, which does not tell how draws differ."""
    if len(scores) < 2:
        return np.nan, np.nan
    interval: Sequence[float] = np.quantile(scores, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return interval


def _tail(score: float, null: Float64[np.ndarray, " draws"]) -> float:
    """Return the two-sided p-value of a score among draws, min(1, 2 · (1 + #{as far on its side}) /
    (draws + 1)).
    """
    if not null.size or np.isnan(score) or np.isnan(null).any():
        return np.nan
    above, below = np.count_nonzero(null >= score), np.count_nonzero(null <= score)
    return min(1.0, 2 * (1 + min(above, below)) / (len(null) + 1))


def _ratio(
    over: tuple[float, Float64[np.ndarray, " draws"]],
    under: tuple[float, Float64[np.ndarray, " draws"]],
) -> tuple[float, float, float]:
    """Return a ratio and its interval: the logarithm of parts' ratios varies around its mean as
    that of the whole does.
    """
    if not (
        np.array([over[0], under[0], *over[1], *under[1]]) > 0
    ).all():  # NaN is not above 0 either
        return np.nan, np.nan, np.nan
    ratio, parts = over[0] / under[0], np.log(over[1] / under[1])
    low, high = (
        ratio * np.exp(_quantiles(SCALE * (parts - parts.mean())))
        if len(parts)
        else (np.nan, np.nan)
    )
    return ratio, float(low), float(high)
