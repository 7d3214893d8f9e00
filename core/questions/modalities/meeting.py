"""How near two modalities come to each other, or one to reality: over all models, and at each size
that both have.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from core.statistics.correlations import LEAST_CLUSTERS
from core.statistics.intervals import CrossedMean, crossed_mean

ALL = "all"
COLUMNS = (
    "one",
    "other",
    "size",
    "models_one",
    "models_other",
    "mean",
    "low",
    "high",
    "chance",
    "untrained",
    "ceiling",
    "share",
    "p",
    "q",
    "p_untrained",
    "q_untrained",
    "reason",
)
ONE_REALITY = "no ceiling: reality is no training"
ONE_SEED = "no ceiling: no recipe of one side was trained with several seeds"
FEW = "a test takes {} families or objectives of each modality, whose sizes count once; here {}: {}"


@dataclass(frozen=True)
class Meeting:
    """Two sides and how their models align.

    one, other: rows of `core.study.trainings.describe_trainings`; of reality, its model alone.
    scores: a row per model of one, a column per model of the other. shuffled: likewise, the mean
    score of shuffled stimuli, NaN where it was not measured. untrained: score, size_one and
    size_other of every two untrained models of both sides. ceiling: see
    `core.study.noise.ceiling_between`. fixed: whether the other side is reality.
    """

    one: pd.DataFrame
    other: pd.DataFrame
    scores: pd.DataFrame
    shuffled: pd.DataFrame
    untrained: pd.DataFrame
    ceiling: float
    fixed: bool = False


def rows_of(meeting: Meeting) -> Iterator[dict[str, Any]]:
    """Yield what COLUMNS say but q and q_untrained: over all models that have a score, then for
    models of one size with models of the same.
    """
    yield _row(meeting, meeting.one, meeting.other, ALL)
    named = meeting.one[meeting.one["size"] != ""]
    for size in named.groupby("size")["parameters"].median().sort_values().index:
        one = named[named["size"] == size]
        other = meeting.other
        if not meeting.fixed:
            other = other[other["size"] == size]
        if len(other):
            yield _row(meeting, one, other, str(size))


def _row(
    meeting: Meeting, one: pd.DataFrame, other: pd.DataFrame, size: Hashable
) -> dict[str, Any]:
    scores = meeting.scores.loc[one["model"], other["model"]]
    scores = scores.dropna(how="all").dropna(axis=1, how="all")
    one, other = (
        side[side["model"].isin(kept)]
        for side, kept in ((one, scores.index), (other, scores.columns))
    )
    shuffled = meeting.shuffled.loc[one["model"], other["model"]].to_numpy(float)
    chance = float(pd.Series(shuffled.ravel()).mean())  # of those that were measured
    means = scores.groupby(_lines(one)).mean().T.groupby(_lines(other)).mean().T.to_numpy(float)
    fixed: Literal["", "columns"] = "columns" if meeting.fixed else ""
    crossed = crossed_mean(means, level=chance, fixed=fixed)
    few = _too_few(one, *(() if meeting.fixed else (other,)))
    if few:
        crossed = CrossedMean(crossed.value, reason=few)
    untrained, way = _untrained(meeting, size), meeting.ceiling - chance
    has_untrained = math.isfinite(untrained)
    return {
        "one": meeting.one["modality"].iloc[0],
        "other": meeting.other["modality"].iloc[0],
        "size": size,
        "models_one": len(one),
        "models_other": len(other),
        "mean": crossed.value,
        "low": crossed.low,
        "high": crossed.high,
        "chance": chance,
        "untrained": untrained,
        "ceiling": meeting.ceiling,
        "share": (crossed.value - chance) / way if way else np.nan,
        "p": crossed.p,
        "p_untrained": crossed_mean(means, level=untrained, fixed=fixed).p
        if has_untrained and not few
        else np.nan,
        "reason": "; ".join(filter(None, (crossed.reason, _why_no_ceiling(meeting)))),
    }


def _untrained(meeting: Meeting, size: Hashable) -> float:
    """Return the mean score of untrained models, of one size where one is named."""
    rows = meeting.untrained
    if size != ALL:
        rows = rows[rows["size_one"] == size]
        rows = rows if meeting.fixed else rows[rows["size_other"] == size]
    return float(rows["score"].mean())


def _why_no_ceiling(meeting: Meeting) -> str:
    if math.isfinite(meeting.ceiling):
        return ""
    return ONE_REALITY if meeting.fixed else ONE_SEED


def _too_few(*sides: pd.DataFrame) -> str:
    """Return of which side there are too few lines for a test, "" where of none."""
    for side in sides:
        if (count := side["line"].nunique()) < LEAST_CLUSTERS:
            kinds = ", ".join(map(str, side["line"].unique())) or "none"
            return FEW.format(LEAST_CLUSTERS, count, kinds)
    return ""


def _lines(side: pd.DataFrame) -> list[str]:
    """Return what of a side is drawn anew in another sample; reality is alone."""
    return side["line" if "line" in side else "model"].tolist()
