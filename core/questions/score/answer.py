"""Two feature files compared with no store: the same preprocessing and engine as a study's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.encoders.imported import read_features
from core.errors import FeatureError
from core.progress import Progress
from core.questions.registry import Answer, declare
from core.questions.score.question import Score
from core.spaces.preprocess import clamp_outliers
from core.study.comparison.engines import engine_over
from core.study.parts import Measure


def score(question: Score, _: None, __: Progress | None) -> pd.DataFrame:
    """Score every layer of one file with every layer of the other; see `score_layers`."""
    x, y = (read_features(Path(file)) for file in (question.x, question.y))
    return score_layers(x, y, question.measure, q=question.q)


declare(Score, Answer(score, version=1))


def score_layers(
    x: Sequence[Float[np.ndarray, "n _"]],
    y: Sequence[Float[np.ndarray, "m _"]],
    measure: Measure,
    *,
    q: float | None,
) -> pd.DataFrame:
    """Score every layer of x with every layer of y, in order: layer_x, layer_y (counted from 0),
    score, n, the metric's parameters.

    x, y: features of the same stimuli in the same order; values are clamped at each side's q
    quantile, then rows scaled to length 1. NaN for a degenerate layer. Raises FeatureError where
    the stimuli differ in number, UnknownNameError for the metric, MetricError for its parameters.
    """
    if len(x[0]) != len(y[0]):
        raise FeatureError(
            f"expected two files of the same stimuli; got {len(x[0])} and {len(y[0])} rows"
        )
    engine = engine_over(len(x[0]), measure, layers=len(x) + len(y))
    ready_x, ready_y = (engine.prepare(clamp_outliers(layers, q=q)) for layers in (x, y))
    values = engine.scores(ready_x, ready_y).values
    rows = [(a, b, float(score)) for (a, b), score in np.ndenumerate(values)]
    table = pd.DataFrame(rows, columns=["layer_x", "layer_y", "score"])
    return table.assign(n=len(x[0]), **measure.settings)
