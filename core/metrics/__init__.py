"""Every metric by its id: `METRICS["mutual_knn"](x, y, k=10)`.

To add a metric, describe it in metrics.toml, write its engine, and name it here.
"""

from __future__ import annotations

from core.errors import UnknownNameError
from core.metrics.cka import CKA, CKNNA, RBF_CKA, UNBIASED_CKA
from core.metrics.imbalance import INFORMATION_IMBALANCE
from core.metrics.knn import CYCLE_KNN, EDIT_DISTANCE_KNN, JACCARD_KNN, LCS_KNN, MUTUAL_KNN
from core.metrics.predictivity import LINEAR_PREDICTIVITY
from core.metrics.shapes import MEAN_CCA, PROCRUSTES, PWCCA, RSA, SHAPE_ANGLE, SVCCA
from core.metrics.spec import Metric, MetricSpec

METRICS: dict[str, Metric] = {
    metric.spec.id: metric
    for metric in (
        MUTUAL_KNN,
        JACCARD_KNN,
        LCS_KNN,
        EDIT_DISTANCE_KNN,
        CYCLE_KNN,
        INFORMATION_IMBALANCE,
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
    if name not in METRICS:
        raise UnknownNameError("metric", name, METRICS)
    return METRICS[name]
