"""Every metric by its id: `METRICS["mutual_knn"](x, y, k=10)`.

To add a metric, write its file and name it here.
"""

from __future__ import annotations

from core.errors import UnknownNameError
from core.metrics.cka import CKA, RBF_CKA, UNBIASED_CKA
from core.metrics.cknna import CKNNA
from core.metrics.knn import CYCLE_KNN, JACCARD_KNN, MUTUAL_KNN
from core.metrics.knn_order import EDIT_DISTANCE_KNN, LCS_KNN
from core.metrics.predictivity import LINEAR_PREDICTIVITY
from core.metrics.rankings import RSA
from core.metrics.shapes import PROCRUSTES, SHAPE_ANGLE
from core.metrics.spec import Metric, MetricSpec
from core.metrics.subspaces import MEAN_CCA, PWCCA, SVCCA

METRICS: dict[str, Metric] = {
    metric.spec.id: metric
    for metric in (
        MUTUAL_KNN,
        JACCARD_KNN,
        LCS_KNN,
        EDIT_DISTANCE_KNN,
        CYCLE_KNN,
        CKNNA,
        CKA,
        UNBIASED_CKA,
        RBF_CKA,
        RSA,
        SVCCA,
        PWCCA,
        MEAN_CCA,
        PROCRUSTES,
        SHAPE_ANGLE,
        LINEAR_PREDICTIVITY,
    )
}

__all__ = ["METRICS", "Metric", "MetricSpec", "find_metric"]


def find_metric(name: str) -> Metric:
    """Return a metric by its id; raises UnknownNameError."""
    if name not in METRICS:
        raise UnknownNameError("metric", name, METRICS)
    return METRICS[name]
