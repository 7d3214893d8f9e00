"""What the trend shows from the smallest neighborhood to the largest, in plain sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.figures.numbers import counted
from core.metrics import METRICS
from core.statistics.correlations import SURE
from core.statistics.discoveries import adjust
from core.statistics.fits import Fit, competence_fit


def trend_findings(points: pd.DataFrame) -> list[str]:
    """Say for each metric whether Spearman's correlation of competence and alignment depends on k:
    its least and largest value, and at how many k it differs from 0.

    p: adjusted for the false discovery rate over all k of a metric. points: metric, k, model,
    competence, score; one row per model.
    """
    named = ((METRICS[str(name)].spec.short, rows) for name, rows in points.groupby("metric"))
    return [_trend(f"{name[:1].upper()}{name[1:]}", rows) for name, rows in named]


def _trend(metric: str, points: pd.DataFrame) -> str:
    ks = sorted(set(points["k"].tolist()))
    fits = {k: _fit(points[points["k"] == k]) for k in ks}
    fitted = {k: fit for k, fit in fits.items() if not fit.reason}
    if not fitted:
        return f"{metric}: no trend can be judged, since {next(iter(fits.values())).reason}."
    least, most = (pick(fitted, key=lambda k: fitted[k].spearman) for pick in (min, max))
    sure = int((adjust(np.array([fit.p for fit in fitted.values()])) < SURE).sum())
    span = f"Spearman {_at(fitted, least)} to {_at(fitted, most)}, {fitted[most].n} models"
    beyond = f"beyond chance at {sure} of {counted(len(fitted), 'size', 'sizes')}"
    return f"{metric}: {_direction(fitted[least], fitted[most])} ({span}), {beyond}."


def _fit(points: pd.DataFrame) -> Fit:
    return competence_fit(*(points[name].to_numpy(float) for name in ("competence", "score")))


def _direction(least: Fit, most: Fit) -> str:
    if least.spearman > 0:
        return "alignment rises with competence at every k"
    if most.spearman < 0:
        return "alignment falls with competence at every k"
    return "whether alignment rises with competence depends on k"


def _at(fits: dict[int, Fit], k: int) -> str:
    return f"{fits[k].spearman:.2f} (k = {k:,})".replace("-", "−")
