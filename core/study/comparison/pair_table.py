"""Models against models of one set: a table with each pair once, or a symmetric matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import MetricError, UnknownNameError
from core.metrics.spec import MetricSpec
from core.study.comparison.aligning import COLUMNS, align
from core.study.comparison.pair_scores import PairScores
from core.study.layers import LayerChoice


def check_choice(choice: LayerChoice, *, text: str) -> None:
    """Refuse a fixed pair of layers: it names one layer of either side, and among models of one set
    there are no sides.
    """
    if choice.pair is not None:
        raise MetricError(
            f"models of one set are compared by best, last or a depth from 0 to 1; got {text!r}"
        )


def align_among(
    names: Sequence[str],
    scores: Iterable[tuple[str, str, PairScores]],
    *,
    choice: LayerChoice,
    spec: MetricSpec,
) -> pd.DataFrame:
    """Return a row for every two of the models, with the columns of `aligning.align`.

    names: in the order that decides which is model_x. scores: of all layers of two models; a pair
    that is missing there has the score NaN, the layers -1 and no reason.
    """
    aligned = align({(x, y): layers for x, y, layers in scores}, choice=choice, spec=spec)
    every = pd.DataFrame(list(combinations(names, 2)), columns=list(COLUMNS[:2]))
    table = every.merge(aligned, how="left", on=list(COLUMNS[:2]))
    return table.fillna({"layer_x": -1, "layer_y": -1, "reason": ""}).astype(
        {"layer_x": int, "layer_y": int, "score": float, "reason": str}
    )


def score_matrix(pairs: pd.DataFrame, names: Sequence[str]) -> Float64[np.ndarray, "m m"]:
    """Return the symmetric matrix of the scores of these models; NaN without a score, and on the
    diagonal.

    pairs: model_x, model_y, score, each pair once, in any direction. Raises UnknownNameError for a
    model that has no pair.
    """
    compared = set(pairs["model_x"]) | set(pairs["model_y"])
    if unknown := [name for name in names if name not in compared]:
        raise UnknownNameError("compared model", unknown[0], compared)
    place = {name: number for number, name in enumerate(names)}
    kept = pairs[pairs["model_x"].isin(place) & pairs["model_y"].isin(place)]
    x, y = (kept[side].map(place).to_numpy(int) for side in ("model_x", "model_y"))
    matrix = np.full((len(names), len(names)), np.nan)
    matrix[x, y] = matrix[y, x] = kept["score"].to_numpy(float)
    return matrix
