"""Metrics over neighbor lists: which stimuli are near, and in which order. Each is the mean of one
term per stimulus. Importing numba, which the loops need, takes half a second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64, Int32, Int64

from core.metrics.spec import SPECS, AnyEngine, Chance, Metric
from core.pairs.lists import NeighborLists, lists_of, overlaps, permuted_overlaps
from core.spaces.preprocess import check_k

if TYPE_CHECKING:
    import torch

Lists = Int32[np.ndarray, "n k"]
Terms = Float64[np.ndarray, " n"]
Shared = Int64[np.ndarray, " *n"]


def count_shared(a: Lists, b: Lists) -> Int64[np.ndarray, "n"]:
    """Count the neighbors that two spaces have in common at each stimulus: |Aᵢ ∩ Bᵢ|, in 0 … k."""
    both = np.sort(np.concatenate([a, b], axis=1), axis=1)
    # a list never repeats a stimulus, so equal entries side by side are common neighbors
    counts: np.ndarray = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    return counts


def mutual_share(shared: Shared, k: int) -> Float64[np.ndarray, " *n"]:
    """Return s / k of stimuli with s of k neighbors in common."""
    shares: np.ndarray = shared / k
    return shares


def jaccard_share(shared: Shared, k: int) -> Float64[np.ndarray, " *n"]:
    """Return s / (2k − s) of stimuli with s of k neighbors in common."""
    shares: np.ndarray = shared / (2 * k - shared)
    return shares


def mutual_terms(a: Lists, b: Lists) -> Terms:
    """Return each stimulus's share of common neighbors: |Aᵢ ∩ Bᵢ| / k."""
    return mutual_share(count_shared(a, b), a.shape[1])


def jaccard_terms(a: Lists, b: Lists) -> Terms:
    """Return each stimulus's intersection over union of neighbors: |Aᵢ ∩ Bᵢ| / |Aᵢ ∪ Bᵢ|."""
    return jaccard_share(count_shared(a, b), a.shape[1])


def cycle_terms(a: Lists, b: Lists) -> Terms:
    """Return 1 for each stimulus i that a step to a neighbor in B, then one in A, can lead back to,
    else 0: ∃ j ∈ Bᵢ: i ∈ Aⱼ.
    """
    from core.pairs.loops import find_cycles

    return _each(find_cycles, a, b)


def mutual_knn_chance(*, k: int, n: int) -> float:
    """Return the mean mutual k-NN of unrelated spaces, k/(n − 1), for one pair of layers."""
    check_k(k, n)
    return k / (n - 1)


def cycle_knn_chance(*, k: int, n: int) -> float:
    """Return about the share of stimuli that lie on a cycle by chance, 1 − (1 − k/(n − 1))ᵏ.

    Steps are taken as independent: within 0.01 for Gaussian spaces of 3 to 1,000 dimensions (n of
    256 and 1,024, k up to 50); lower if a few stimuli are neighbors of most others.
    """
    check_k(k, n)
    return 1 - (1 - k / (n - 1)) ** k


def _mutual_on_torch(device: torch.device, *, k: int) -> AnyEngine:
    from core.pairs.on_torch import TorchLists  # seconds of torch

    return TorchLists(device, k)


def subsequence_terms(a: Lists, b: Lists) -> Terms:
    """Return each stimulus's longest common subsequence of its two neighbor lists / k."""
    from core.pairs.loops import measure_common

    return _each(measure_common, a, b) / a.shape[1]


def edit_terms(a: Lists, b: Lists) -> Terms:
    """Return each stimulus's 1 − Levenshtein distance of its two neighbor lists / k."""
    from core.pairs.loops import count_edits

    return 1 - _each(count_edits, a, b) / a.shape[1]


def _each(loop: Callable[..., None], a: Lists, b: Lists) -> Terms:
    found = np.empty(len(a))
    loop(np.ascontiguousarray(a), np.ascontiguousarray(b), found)
    return found


MUTUAL_KNN = Metric(
    SPECS["mutual_knn"],
    engine=partial(NeighborLists, overlaps, shuffled=permuted_overlaps),
    on_torch=_mutual_on_torch,
    chance=Chance(mutual_knn_chance, "k/(n − 1)"),
    share=mutual_share,
)

JACCARD_KNN = Metric(
    SPECS["jaccard_knn"],
    engine=lists_of(jaccard_terms),
    share=jaccard_share,
)

# sides: "given", as the released code defines it; "exchanged", as its measure_alignment.py calls
# it, with y first: the first step is to a neighbor in x
CYCLE_KNN = Metric(
    SPECS["cycle_knn"],
    engine=lambda *, k, sides: lists_of(
        cycle_terms if sides == "given" else lambda a, b: cycle_terms(b, a)
    )(k),
    chance=Chance(lambda *, k, n, **_: cycle_knn_chance(k=k, n=n), "about 1 − (1 − k/(n − 1))ᵏ"),
)


LCS_KNN = Metric(
    SPECS["lcs_knn"],
    engine=lists_of(subsequence_terms),
)

EDIT_DISTANCE_KNN = Metric(
    SPECS["edit_distance_knn"],
    engine=lists_of(edit_terms),
)
