"""Two feature files compared with no store: the same preprocessing and engine as a study's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.errors import FeatureError
from core.metrics import METRICS
from core.metrics.engines import make_engine
from core.spaces.preprocess import clamp_outliers


def score_layers(
    x: Sequence[Float[np.ndarray, "n _"]],
    y: Sequence[Float[np.ndarray, "m _"]],
    *,
    metric: str,
    q: float | None,
    **parameters: Any,
) -> pd.DataFrame:
    """Score every layer of x with every layer of y, in order: layer_x, layer_y (counted from 0),
    score, n, the parameters.

    x, y: features over the same stimuli in the same order; values are clamped at each side's q
    quantile, then rows scaled to length 1. NaN for a degenerate layer. Raises FeatureError where
    the stimuli differ in number, UnknownNameError for the metric, MetricError for its parameters.
    """
    if len(x[0]) != len(y[0]):
        raise FeatureError(
            f"two files over the same stimuli expected; given {len(x[0])} and {len(y[0])} rows"
        )
    engine = make_engine(metric, **parameters)
    scores = engine.scores(*(engine.prepare(clamp_outliers(layers, q=q)) for layers in (x, y)))
    rows = [(a, b, float(score)) for (a, b), score in np.ndenumerate(scores)]
    table = pd.DataFrame(rows, columns=["layer_x", "layer_y", "score"])
    return table.assign(n=len(x[0]), **METRICS[metric].complete(parameters))
