"""Metrics over ordered neighbor lists: which stimuli are near, and in which order. Each is the mean
of one term per stimulus.

Both are dynamic programs over a table of k × k cells. What a row takes from its own left is a
running maximum (or minimum), so one row of every stimulus's table is filled at once: k steps, n · k
cells of memory.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int32

from core.metrics.spec import NEIGHBORS, Metric, MetricSpec
from core.pairs.lists import lists_of
from core.spaces.neighbors import nearest


def subsequence_terms(
    a: Int32[np.ndarray, "n k"], b: Int32[np.ndarray, "n k"]
) -> Float64[np.ndarray, "n"]:
    """Return for each stimulus the length of the longest common subsequence of its two neighbor
    lists, divided by k.
    """
    n, k = a.shape
    longest = np.zeros(
        (n, k + 1), dtype=np.int32
    )  # column j: among a's entries so far and b's first j
    for i in range(k):
        extended = longest[:, :-1] + (b == a[:, i : i + 1])
        longest[:, 1:] = np.maximum.accumulate(np.maximum(longest[:, 1:], extended), axis=1)
    shares: np.ndarray = longest[:, -1] / k
    return shares


def edit_terms(
    a: Int32[np.ndarray, "n k"], b: Int32[np.ndarray, "n k"]
) -> Float64[np.ndarray, "n"]:
    """Return for each stimulus 1 − Levenshtein distance of its two neighbor lists / k; an edit
    inserts, deletes or replaces one.
    """
    n, k = a.shape
    place = np.arange(k + 1, dtype=np.int32)
    edits = np.tile(place, (n, 1))  # column j: from a's entries so far to b's first j
    for i in range(k):
        replaced = edits[:, :-1] + (b != a[:, i : i + 1])
        edits += 1  # delete a's entry i
        np.minimum(edits[:, 1:], replaced, out=edits[:, 1:])
        edits = (
            np.minimum.accumulate(edits - place, axis=1) + place
        )  # insert b's entries, one edit each
    shares: np.ndarray = 1 - edits[:, -1] / k
    return shares


def lcs_knn(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, k: int) -> float:
    """Return the mean length of the longest common subsequence of neighbor lists, in units of k:
    (1/n) Σᵢ lcs(Aᵢ, Bᵢ) / k.

    x, y: spaces over the same stimuli, clamped and normalized by the caller. Range [0, 1], higher
    is more aligned (the released code leaves it in [0, k]). It is never above mutual kNN, and at k
    = n − 1 it still compares the whole order. Raises MetricError for k outside 1 … n − 1 and
    degenerate spaces. Source: Huh et al. 2024, appendix A and released code.
    """
    return float(subsequence_terms(nearest(x, k=k), nearest(y, k=k)).mean())


def edit_distance_knn(
    x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, k: int
) -> float:
    """Return how few edits turn one neighbor list into the other: 1 − (1/n) Σᵢ Levenshtein(Aᵢ, Bᵢ)
    / k.

    x, y: spaces over the same stimuli, clamped and normalized by the caller. Range [0, 1], higher
    is more aligned; never above `lcs_knn`, since a common neighbor one place off counts for nothing
    unless others shift with it. Raises MetricError for k outside 1 … n − 1 and degenerate spaces.
    Source: Huh et al. 2024, appendix A and released code.
    """
    return float(edit_terms(nearest(x, k=k), nearest(y, k=k)).mean())


LCS_KNN = Metric(
    MetricSpec(
        id="lcs_knn",
        title="Longest common subsequence of neighbors",
        short="subsequence k-NN",
        formula=r"\frac{1}{n} \sum_{i=1}^{n} \frac{\mathrm{lcs}(A_i, B_i)}{k}",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="local",
        order_alone=True,
        invariances=frozenset({"rotation", "isotropic_scaling"}),
        sees=(
            "Which stimuli are close together, and whether they follow each other in the same"
            " order."
        ),
        misses=(
            "How close they are, how far a neighbor moved in the order, and everything beyond the k"
            " neighbors."
        ),
        defaults={"k": 10},
        ranges={"k": NEIGHBORS},
        reference=(
            "Huh, Cheung, Wang, Isola 2024, The Platonic Representation Hypothesis, appendix A"
        ),
    ),
    lcs_knn,
    engine=lists_of(subsequence_terms),
)

EDIT_DISTANCE_KNN = Metric(
    MetricSpec(
        id="edit_distance_knn",
        title="Edit similarity of neighbors",
        short="edit k-NN",
        formula=r"1 - \frac{1}{n} \sum_{i=1}^{n} \frac{\mathrm{Levenshtein}(A_i, B_i)}{k}",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="local",
        order_alone=True,
        invariances=frozenset({"rotation", "isotropic_scaling"}),
        sees=(
            "Which stimuli are close together, and whether each stands at the same place in the"
            " order."
        ),
        misses=(
            "How close they are, and everything beyond the k neighbors; one place off costs as much"
            " as not being there."
        ),
        defaults={"k": 10},
        ranges={"k": NEIGHBORS},
        reference=(
            "Huh, Cheung, Wang, Isola 2024, The Platonic Representation Hypothesis, appendix A"
        ),
    ),
    edit_distance_knn,
    engine=lists_of(edit_terms),
)
