"""Every metric by its id: `METRICS["mutual_knn"](x, y, k=10)`."""

from __future__ import annotations

from core.metrics.knn import MUTUAL_KNN
from core.metrics.spec import Metric, MetricSpec

METRICS: dict[str, Metric] = {metric.spec.id: metric for metric in (MUTUAL_KNN,)}

__all__ = ["METRICS", "Metric", "MetricSpec"]
