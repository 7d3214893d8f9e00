"""Comparisons by loose keywords, which read well in a table of tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.metrics.spec import AnyEngine
from core.study import comparing
from core.study.parts import Candidates, Comparison, Measure
from core.study.study import Study


def align_models(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    *,
    metric: str = "mutual_knn",
    layers: str = "best",
    candidates: Candidates = "released",
    **parameters: str | float,
) -> pd.DataFrame:
    """Align models by a metric; see `core.study.comparing.align_models`."""
    comparison = Comparison.of(metric, parameters, layers=layers, candidates=candidates)
    return comparing.align_models(study, x, y, comparison)


def layer_scores(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    *,
    metric: str = "mutual_knn",
    concatenated: bool = False,
    **parameters: str | float,
) -> dict[tuple[str, str], np.ndarray]:
    """Compare all layers by a metric; see `core.study.comparing.layer_scores`."""
    measure = Measure.of(metric, parameters)
    return comparing.layer_scores(study, x, y, measure, concatenated=concatenated)


def choose_engine(study: Study, metric: str, **parameters: str | float) -> AnyEngine:
    """Return a metric's engine; see `core.study.comparing.choose_engine`."""
    return comparing.choose_engine(study, Measure.of(metric, parameters))
