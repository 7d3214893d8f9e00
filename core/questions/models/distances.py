"""How far apart models are: the distances that maps and trees of models are drawn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from core.errors import InputError
from core.metrics.spec import MetricSpec
from core.study.layers import score_matrix


@dataclass(frozen=True)
class Distances:
    """Distances between models, by name.

    names: sorted, so that no answer depends on the order in which models were given. matrix:
    symmetric, 0 on the diagonal. floor: the score that took the place of every score not above 0,
    NaN where there was none; floored: where it did. left_out: the models that have no place among
    the others, each with the reason.
    """

    names: list[str]
    matrix: Float64[np.ndarray, "m m"]
    floor: float
    floored: Bool[np.ndarray, "m m"]
    left_out: dict[str, str]


def distances(pairs: pd.DataFrame, *, spec: MetricSpec) -> Distances:
    """Return −log(score) of every two models; a metric that is low where models are aligned is a
    distance itself.

    No logarithm has a score of 0 or less: such a pair is put as far apart as the least aligned pair
    above 0, the floor, since nothing in the scores says how much farther it is. A score above 1,
    which one variant of CKNNA can reach, counts as 1. Models without a score with some other are
    left out, the one that lacks most first, until all that stay have all scores. pairs: model_x,
    model_y, score, reason; see `core.study.comparing.pair_models`. Range [0, ∞); 0 is full
    alignment. Raises InputError where no score is above 0. Source: Huh et al. 2024, figure 2
    (without a floor).
    """
    names = sorted({*pairs["model_x"], *pairs["model_y"]})
    scores = score_matrix(pairs, names)
    kept, left_out = _complete(scores, names, pairs)
    scores, names = scores[np.ix_(kept, kept)], [names[place] for place in kept]
    apart = ~np.eye(len(names), dtype=bool)
    if not spec.higher_is_more_aligned:
        return Distances(
            names, np.where(apart, scores, 0.0), np.nan, np.zeros_like(apart), left_out
        )
    floored = apart & (scores <= 0)
    floor = _floor(scores[apart & ~floored]) if floored.any() else np.nan
    matrix = -np.log(np.where(floored, floor, np.where(apart, scores, 1.0)))
    return Distances(names, np.maximum(matrix, 0.0), floor, floored, left_out)


def nearest(apart: Distances, *, count: int = 3) -> pd.DataFrame:
    """Return each model's nearest models: model, rank from 1, neighbor, distance.

    Of equally near ones those whose distance is no floor come first, then the first by name.
    """
    rows = []
    for place, name in enumerate(apart.names):
        order = np.lexsort((apart.floored[place], apart.matrix[place]))
        others = [other for other in order if other != place][:count]
        rows += [
            (name, rank, apart.names[other], apart.matrix[place, other])
            for rank, other in enumerate(others, start=1)
        ]
    return pd.DataFrame(rows, columns=["model", "rank", "neighbor", "distance"])


def _complete(
    scores: Float64[np.ndarray, "m m"], names: list[str], pairs: pd.DataFrame
) -> tuple[list[int], dict[str, str]]:
    """Return the places of the models that stay, and why the others do not."""
    missing = np.isnan(scores) & ~np.eye(len(names), dtype=bool)
    kept, left_out = list(range(len(names))), {}
    while missing[np.ix_(kept, kept)].any():
        lacking = missing[np.ix_(kept, kept)].sum(axis=1)
        worst = kept.pop(int(np.argmax(lacking)))
        left_out[names[worst]] = (
            f"no score with {lacking.max()} of {len(kept)} other models:"
            f" {_reason(names[worst], pairs)}"
        )
    return kept, left_out


def _reason(name: str, pairs: pd.DataFrame) -> str:
    mine = pairs[((pairs["model_x"] == name) | (pairs["model_y"] == name)) & pairs["score"].isna()]
    return str(mine["reason"].iloc[0])


def _floor(scores: Float64[np.ndarray, "pairs"]) -> float:
    if not len(scores):
        raise InputError(
            "no two of these models are aligned above 0, so −log(alignment) gives no distances;"
            " choose another metric"
        )
    return float(scores.min())
