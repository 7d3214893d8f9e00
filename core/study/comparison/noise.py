"""How far noise of measurement lets models align: the noise ceiling of what was measured several
times.

    two halves of the repeats, compared by the metric  →  r, the mean over splits
    a correlation over pairs of stimuli (RSA, unbiased CKA)  →  √ of r, Spearman–Brown corrected
    any other metric  →  r as it is: no formula says what more repeats would give

The first is what a model without noise and with the true geometry would reach; the second lies
below that, since half of the repeats are noisier than all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from core.encoders.measured.content import joined
from core.errors import FeatureError, MetricError
from core.metrics import find_metric
from core.metrics.spec import AnyEngine
from core.recipe import Recipe
from core.spaces.preprocess import clamp_outliers
from core.statistics.reliability import draw_splits, grow, spearman_brown, unit_reliability
from core.study.comparison.engines import engine_over
from core.study.comparison.pair_scores import Noise
from core.study.parts import Measure
from core.study.study import Study

DISAGREE = "halves of its repeats do not agree, so it has no noise ceiling"
SUBJECTS = "units of two subjects do not correspond"


def noise_of(study: Study, model: str, measure: Measure) -> list[Noise]:
    """Return the noise of each layer of a model that was measured several times.

    The halves are prepared as the model's own layers are: clamped together, then each alone. Raises
    MetricError for a metric that does not compare so many stimuli.
    """
    over, layers = study.entry(model).card.over, study.repeats(model)
    engine = engine_over(study.size, measure, layers=2 * len(layers), device=study.device)
    count = len(layers[0])
    scores = [
        _scores(engine, study, [[joined(each[half], over) for each in layers] for half in split])
        for split in draw_splits(count)
    ]
    return [_noise(float(score), count, measure) for score in np.mean(scores, axis=0)]


def held_noise(study: Study, model: str, measure: Measure) -> list[Noise]:
    """Return `noise_of`, which a study finds once."""
    choices = {"metric": measure.metric, **measure.settings}
    key = Recipe.of("noise", **choices).digest, study.entry(model).digest
    held = study.held_scores.noise
    if key not in held:
        held[key] = noise_of(study, model, measure)
    return held[key]


def _scores(
    engine: AnyEngine, study: Study, halves: Sequence[Sequence[np.ndarray]]
) -> Float64[np.ndarray, "layers"]:
    """Return the score of each layer's two halves, NaN where one of them is degenerate."""
    clamping = vars(study.clamping)
    try:
        x, y = (engine.prepare(clamp_outliers(half, **clamping)) for half in halves)
    except (FeatureError, MetricError):
        return np.full(len(halves[0]), np.nan)
    return np.diagonal(engine.scores(x, y).values)


def _noise(halves: float, repeats: int, measure: Measure) -> Noise:
    if math.isnan(halves):
        return Noise(halves, math.nan, "a half of its repeats has no score")
    if not find_metric(measure.metric).attenuates:
        return Noise(halves, halves)
    reliability = float(spearman_brown(halves, grow(repeats)))
    if reliability == 0:
        return Noise(halves, math.nan, DISAGREE)
    return Noise(halves, math.sqrt(reliability))


def pair_ceiling(noises: Sequence[Noise], measure: Measure) -> float:
    """Return the ceiling of two layers, one or both of them noisy: of correlations the product of
    both, of other metrics the one that is less aligned.

    Source: Spearman 1904, for the product.
    """
    ceilings = [noise.ceiling for noise in noises]
    if find_metric(measure.metric).attenuates:
        return math.prod(ceilings)
    return float(np.min(ceilings) if measure.toward > 0 else np.max(ceilings))


def bound_of(measure: Measure) -> str:
    """Return what stands before the value of a noise ceiling: "at least " where the halves' score
    stands as it is, so that a model may lie beyond it ("at most " of a distance), else "".
    """
    if find_metric(measure.metric).attenuates:
        return ""
    return "at least " if measure.toward > 0 else "at most "


def unit_reliabilities(study: Study, model: str) -> list[tuple[float, str]]:
    """Return for each layer the median reliability of its units, and why that is NaN, else "".

    Source: Yamins et al. 2014 (the median over units of split halves, Spearman–Brown corrected).
    """
    if study.entry(model).card.over == "subjects":
        return [(math.nan, SUBJECTS)] * len(study.entry(model).dims)
    values = [unit_reliability(repeats) for repeats in study.repeats(model)]
    return [
        (float(np.nanmedian(each)), "") if np.isfinite(each).any() else (math.nan, DISAGREE)
        for each in values
    ]
