"""How well alignment predicts a score: by rank, beyond size, and along which curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from core.statistics.correlations import Correlation, partial_correlation, spearman_interval
from core.statistics.emergence import compare_fits
from core.study.models import lines


@dataclass(frozen=True)
class Prediction:
    """Spearman's ρ of alignment and score, what is left of it given log size, and a line and a
    broken stick, as `core.statistics.emergence.compare_fits` returns them.
    """

    order: Correlation
    partial: Correlation
    fits: pd.DataFrame


def predict(points: pd.DataFrame, *, seed: int = 0) -> Prediction:
    """Return how well alignment predicts a score.

    points: near (the alignment), value (the score), parameters, and what `lines` reads, a row per
    model; rows with NaN count where they can. What was fitted once is held. Source: Huh et al.
    2024, figure 4.
    """
    columns = (tuple(map(float, points[name])) for name in ("near", "value", "parameters"))
    return _predict(*columns, tuple(map(lines(points).get, points["model"])), seed)


@lru_cache(maxsize=64)  # leaving out one model at a time takes a moment
def _predict(
    near: tuple[float, ...],
    value: tuple[float, ...],
    parameters: tuple[float, ...],
    kin: tuple[str, ...],
    seed: int,
) -> Prediction:
    x, y, size = (np.array(values, dtype=np.float64) for values in (near, value, parameters))
    return Prediction(
        order=spearman_interval(x, y, kin, seed=seed),
        partial=partial_correlation(x, y, kin, control=np.log(size)),
        fits=compare_fits(x, y),
    )
