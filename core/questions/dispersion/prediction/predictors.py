"""Predictors of a value per stimulus as columns of numbers, each with its test by itself: numbers
by rank, texts by value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from core.spaces.preprocess import check_k, check_space

LEAST = 10  # stimuli that must have a number, or share a text, for it to be used
SPEARMAN, KRUSKAL = "Spearman", "Kruskal-Wallis"


class Predictor(NamedTuple):
    """A predictor's columns and what it tells of the target by itself; no columns where `reason`
    says why.

    n: stimuli where it is known. spearman: in [−1, 1], NaN for a text. p: two-sided, of the test;
    NaN where there is none, since the values or the target are all equal where it is known.
    """

    columns: Float64[np.ndarray, "n width"]
    n: int
    spearman: float = np.nan
    test: str = ""
    p: float = np.nan
    reason: str = ""


def read_predictor(values: pd.Series, target: Float64[np.ndarray, "n"]) -> Predictor:
    """Return a predictor's columns, each of mean 0, and its test with the target over the stimuli
    where it is known.

    A number is scaled to variance 1; where it is missing it is 0 and, if LEAST are missing, marked
    by one more column; its test is Spearman's. A text is a column of 0 and 1, less the mean, for
    each value that LEAST stimuli share, one for all rarer values and one for missing; its test is
    that of Kruskal and Wallis over these values. values: text or numbers, may be missing; an
    infinite number counts as missing. target: finite. Source: Spearman 1904; Kruskal, Wallis 1952.
    """
    if pd.api.types.is_numeric_dtype(values):
        return _number(values.to_numpy(np.float64, na_value=np.nan), target)
    return _text(values, target)


def distance_to_neighbors(
    consensus: Float64[np.ndarray, "n d"], *, k: int
) -> Float64[np.ndarray, "n"]:
    """Return each stimulus's mean Euclidean distance to its k nearest others: small where the space
    is dense.

    0 for a stimulus with k copies. Raises MetricError for k outside 1 … n − 1 and where all stimuli
    are one point. Source: Loftsgaarden, Quesenberry 1965 (density by nearest neighbors).
    """
    from sklearn.neighbors import (
        NearestNeighbors,  # a second that pages without a regression must not pay
    )

    check_space(consensus)
    check_k(k, len(consensus))
    distances, _ = (
        NearestNeighbors(n_neighbors=k, algorithm="brute").fit(consensus).kneighbors()
    )  # itself excluded
    means: np.ndarray = distances.mean(axis=1)
    return means


def _number(values: Float64[np.ndarray, "n"], target: Float64[np.ndarray, "n"]) -> Predictor:
    from scipy import stats  # a third of a second that pages without a test must not pay

    present = np.isfinite(values)
    count = int(present.sum())
    if count < LEAST:
        return _refused(present, f"it is known of {count} stimuli, and at least {LEAST} are needed")
    numbers = values[present]
    if np.ptp(numbers) == 0:
        return _refused(present, "all stimuli of which it is known have the same value")
    scaled = np.zeros(len(values))
    scaled[present] = (numbers - numbers.mean()) / numbers.std()
    marked = [scaled, present.mean() - present] if len(values) - count >= LEAST else [scaled]
    columns = np.stack(marked, axis=1)
    if np.ptp(target[present]) == 0:
        return Predictor(columns, count)
    rho, p = stats.spearmanr(numbers, target[present])
    return Predictor(columns, count, float(rho), SPEARMAN, float(p))


def _text(values: pd.Series, target: Float64[np.ndarray, "n"]) -> Predictor:
    from scipy import stats

    present = values.notna().to_numpy()
    text = values.astype(str)
    shared = text.map(text[present].value_counts()).to_numpy(np.float64) >= LEAST
    # a mark before each value keeps it apart from the two names, should it be called so itself
    classes = np.select([~present, ~shared], ["missing", "rarer"], ("=" + text).to_numpy(object))
    columns = pd.get_dummies(pd.Series(classes)).to_numpy(np.float64)
    if columns.shape[1] < 2:
        return _refused(present, f"no two values occur in {LEAST} stimuli each")
    groups = [target[present & (classes == each)] for each in pd.unique(classes[present])]
    columns = columns - columns.mean(axis=0)
    if len(groups) < 2 or np.ptp(target[present]) == 0:
        return Predictor(columns, int(present.sum()))
    return Predictor(
        columns, int(present.sum()), np.nan, KRUSKAL, float(stats.kruskal(*groups).pvalue)
    )


def _refused(present: Bool[np.ndarray, "n"], reason: str) -> Predictor:
    return Predictor(np.empty((len(present), 0)), int(present.sum()), reason=reason)
