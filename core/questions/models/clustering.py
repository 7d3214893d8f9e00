"""A tree of models by average linkage, its leaves ordered so that like lies beside like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.errors import InputError
from core.questions.models.distances import Distances


@dataclass(frozen=True)
class Clustering:
    """A tree of models.

    order: the models from the first leaf to the last. branches: branch, x, y, four points of a
    bracket for each of the m − 1 mergers; leaf i of `order` stands at x = i, and y is the mean
    distance between the two groups that merge. cophenetic: the correlation between the models'
    distances and the heights at which they merge, in [−1, 1]; 1 is a true tree. NaN for two models
    and for equal distances.
    """

    order: list[str]
    branches: pd.DataFrame
    cophenetic: float


def cluster(apart: Distances) -> Clustering:
    """Merge the two nearest groups until one is left; the leaves are turned so that neighbors in
    the order are near (optimal).

    The names' order decides between equals, so the tree does not depend on the order in which
    models were given. Raises InputError for fewer than two models. Source: Sokal, Michener 1958;
    Bar-Joseph, Gifford, Jaakkola 2001 (order).
    """
    from scipy.cluster import hierarchy  # a third of a second
    from scipy.spatial import distance

    if len(apart.names) < 2:
        raise InputError(f"a tree joins at least 2 models, and there are {len(apart.names)}")
    condensed = distance.squareform(apart.matrix, checks=False)
    merged = hierarchy.linkage(condensed, method="average", optimal_ordering=True)
    drawn = hierarchy.dendrogram(merged, no_plot=True, labels=apart.names)
    x, y = (
        np.array(drawn["icoord"]),
        np.array(drawn["dcoord"]),
    )  # scipy's leaves stand at 5, 15, 25 …
    branches = pd.DataFrame(
        {"branch": np.repeat(np.arange(len(x)), 4), "x": (x.ravel() - 5) / 10, "y": y.ravel()}
    )
    heights = hierarchy.cophenet(merged)
    varied = np.ptp(condensed) > 0 and np.ptp(heights) > 0
    return Clustering(
        drawn["ivl"], branches, float(np.corrcoef(condensed, heights)[0, 1]) if varied else np.nan
    )
