"""Every metric by its id: `METRICS["mutual_knn"](x, y, k=10)`."""

from __future__ import annotations

from core.metrics.cknna import CKNNA
from core.metrics.kernels import CKA, RBF_CKA, UNBIASED_CKA
from core.metrics.knn import MUTUAL_KNN
from core.metrics.rankings import RSA
from core.metrics.spec import Metric, MetricSpec

METRICS: dict[str, Metric] = {metric.spec.id: metric for metric in (MUTUAL_KNN, CKNNA, CKA, UNBIASED_CKA, RBF_CKA, RSA)}

__all__ = ["METRICS", "Metric", "MetricSpec"]
