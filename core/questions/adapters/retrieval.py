"""Retrieval across encoders: how far up the list of another encoder is the same stimulus?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from core.errors import InputError
from core.spaces.preprocess import check_space, normalize_rows

DEPTHS = (1, 5, 10)


class Ranks(NamedTuple):
    """The place of each query's own stimulus: how many others are more similar, and how many
    stimuli, itself too, equally so.
    """

    above: Int64[np.ndarray, "n"]
    tied: Int64[np.ndarray, "n"]

    @property
    def places(self) -> Float64[np.ndarray, "n"]:
        """Return at which place each query's own stimulus comes, counted from 1; equally similar
        ones share their mean place.
        """
        return self.above + (self.tied + 1) / 2


def rank_own(queries: Float[np.ndarray, "n dq"], candidates: Float[np.ndarray, "n df"]) -> Ranks:
    """Rank each query's own stimulus among all candidates, by cosine.

    queries, candidates: row i of both is stimulus i. Raises MetricError for a degenerate side,
    FeatureError for a vector of zeros, InputError where widths differ.
    """
    similar = _cosines(queries, candidates)
    own = np.diag(similar)[:, None]
    return Ranks((similar > own).sum(axis=1), (similar == own).sum(axis=1))


def recall(ranks: Ranks, k: int) -> float:
    """Return the share of queries whose own stimulus is among the first k.

    Ties are broken at random, on average: of t equally similar stimuli with a above them the own
    one is in with probability min(max((k − a)/t, 0), 1), so that an encoder that distinguishes
    nothing stays at chance, k/n. Range 0 … 1, higher is better.
    """
    return float(np.clip((k - ranks.above) / ranks.tied, 0, 1).mean())


def median_rank(ranks: Ranks) -> float:
    """Return the median of the places at which queries' own stimuli come. Chance is (n + 1)/2."""
    return float(np.median(ranks.places))


def _cosines(
    queries: Float[np.ndarray, "n dq"], candidates: Float[np.ndarray, "n df"]
) -> Float32[np.ndarray, "n n"]:
    """Return all cosines, summed in float64 and rounded once, so that equal vectors are equally
    similar.
    """
    if queries.shape[1] != candidates.shape[1]:
        raise InputError(
            f"vectors of {queries.shape[1]} and {candidates.shape[1]} dimensions have no cosine;"
            " bring both into one space first"
        )
    for space in (queries, candidates):
        check_space(space)
    left, right = (normalize_rows(space.astype(np.float64)) for space in (queries, candidates))
    cosines: np.ndarray = (left @ right.T).astype(np.float32)
    return cosines
