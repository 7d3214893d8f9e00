"""How aligned models are, and how alignment goes with competence: from the scores of all their
layers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.metrics.spec import MetricSpec
from core.study.layers import LayerChoice, pick

COLUMNS = ("model_x", "model_y", "layer_x", "layer_y", "score")

Pair = tuple[str, str]
LayerScores = Float64[np.ndarray, "_ _"]


def align(
    scores: Mapping[Pair, LayerScores], *, choice: LayerChoice, spec: MetricSpec
) -> pd.DataFrame:
    """Return a row for each pair of models, in order: model_x, model_y, layer_x, layer_y (counted
    from 0), score.

    scores: of every layer of one model with every layer of the other. The score is that of the
    chosen layers, NaN where one of them is degenerate. Where the best is sought and no pair of
    layers has a score, both layers are -1. Raises MetricError for layers that are not there.
    """
    rows = []
    for (x, y), found in scores.items():
        layers = pick(found, choice, spec=spec)
        rows.append((x, y, *layers, float(found[layers])))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def align_all_layers(scores: Mapping[Pair, LayerScores]) -> pd.DataFrame:
    """Return a row for each pair of layers of each pair of models; NaN for a degenerate layer.
    Columns as of `align`.
    """
    rows = [
        (x, y, a, b, float(score))
        for (x, y), found in scores.items()
        for (a, b), score in np.ndenumerate(found)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def layer_matrix(table: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of one pair of models by layer of x (rows) and of y (columns)."""
    return table.pivot(index="layer_x", columns="layer_y", values="score")
