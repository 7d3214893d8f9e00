"""Kernels as pictures: an order of stimuli in which alike ones stand together."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int64

from core.errors import MetricError

FEWEST = 2  # stimuli


def order_alike(kernel: Float[np.ndarray, "n n"]) -> Int64[np.ndarray, "n"]:
    """Return an order of stimuli in which those alike by a kernel of cosines stand together: the
    leaves of a tree.

    Average linkage of 1 − cosine, its leaves turned so that neighbors are as alike as they can be.
    Raises MetricError for fewer than two stimuli. Source: Sokal, Michener 1958; Bar-Joseph,
    Gifford, Jaakkola 2001 (order).
    """
    if len(kernel) < FEWEST:
        raise MetricError(f"an order needs at least {FEWEST} stimuli; got {len(kernel)}")
    from scipy.cluster import hierarchy  # a third of a second
    from scipy.spatial import distance

    apart = np.clip(1 - (kernel + kernel.T) / 2, 0, None)
    np.fill_diagonal(apart, 0)
    condensed = distance.squareform(apart, checks=False)
    tree = hierarchy.linkage(condensed, method="average", optimal_ordering=True)
    return hierarchy.leaves_list(tree).astype(np.int64)
