"""How aligned models are, and how alignment goes with competence: from the scores of all their
layers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from core.metrics.spec import MetricSpec
from core.study.comparison.pair_scores import PairScores
from core.study.layers import LayerChoice, pick

COLUMNS = ("model_x", "model_y", "layer_x", "layer_y", "score", "reason")

Pair = tuple[str, str]


def align(
    pairs: Mapping[Pair, PairScores], *, choice: LayerChoice, spec: MetricSpec
) -> pd.DataFrame:
    """Return a row for each pair of models, in order: model_x, model_y, layer_x, layer_y (counted
    from 0), score, reason.

    The score is that of the chosen layers, NaN where one of them is degenerate; reason says why,
    and is empty where there is a score. Where the best is sought and no pair of layers has a score,
    both layers are -1. Raises MetricError for layers that are not there.
    """
    rows = [
        _row(names, scores, pick(scores.values, choice, spec=spec))
        for names, scores in pairs.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def align_all_layers(pairs: Mapping[Pair, PairScores]) -> pd.DataFrame:
    """Return a row for each pair of layers of each pair of models; columns as of `align`."""
    rows = [
        _row(names, scores, place)
        for names, scores in pairs.items()
        for place in np.ndindex(scores.values.shape)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(
    names: Pair, scores: PairScores, place: tuple[int, ...]
) -> tuple[str, str, int, int, float, str]:
    x, y = place
    score = float(scores.values[x, y])
    reason = scores.reason(names, (x, y)) if np.isnan(score) else ""
    return *names, x, y, score, reason


def layer_matrix(table: pd.DataFrame, values: str = "score") -> pd.DataFrame:
    """Return the scores, or another column, of one pair of models by layer of x (rows) and of y
    (columns).
    """
    return table.pivot(index="layer_x", columns="layer_y", values=values)
