"""Metrics over neighbor lists."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from core.metrics.neighbors import nearest
from core.metrics.spec import Metric, MetricSpec


def mutual_knn(x: Float[np.ndarray, "n dx"], y: Float[np.ndarray, "n dy"], *, k: int) -> float:
    """Return the mean share of neighbors that two spaces have in common: (1/n) Σᵢ |Aᵢ ∩ Bᵢ| / k.

    x, y: spaces over the same stimuli, clamped and normalized by the caller. Range [0, 1], higher is more aligned; chance is
    k/(n − 1). Raises MetricError for k outside 1 … n − 1 and degenerate spaces. Source: Huh et al. 2024, appendix A.
    """
    both = np.concatenate([nearest(x, k=k), nearest(y, k=k)], axis=1)
    both.sort(axis=1)  # a list never repeats a stimulus, so equal entries side by side are common neighbors
    common = np.count_nonzero(both[:, 1:] == both[:, :-1])
    return common / (len(x) * k)


MUTUAL_KNN = Metric(
    MetricSpec(
        id="mutual_knn",
        title="Mutual k-nearest neighbors",
        formula=r"\frac{1}{n} \sum_{i=1}^{n} \frac{|A_i \cap B_i|}{k}",
        range=(0.0, 1.0),
        higher_is_more_aligned=True,
        symmetric=True,
        scope="local",
        ordinal=True,
        invariances=frozenset({"rotation", "isotropic_scaling"}),
        sees="Which stimuli are close together, whatever the widths and scales of the two spaces.",
        misses="How close they are, the order of the k neighbors, and everything beyond them.",
        defaults={"k": 10},
        reference="Huh, Cheung, Wang, Isola 2024, The Platonic Representation Hypothesis, appendix A",
    ),
    mutual_knn,
)
