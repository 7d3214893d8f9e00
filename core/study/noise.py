"""Noise of repeated measurements: what alignment it leaves possible."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.encoders.measured import joined
from core.errors import FeatureError, MetricError
from core.metrics import find_metric
from core.progress import tell_each
from core.recipe import Recipe
from core.spaces.preprocess import clamp_outliers
from core.statistics.correlations import draw_splits, grow, spearman_brown, unit_reliability
from core.study.comparing import engine_over, pair_models
from core.study.layers import Noise
from core.study.parts import Comparison, Measure
from core.study.study import Study

DISAGREE = "halves of its repeats do not agree, so it has no noise ceiling"
SUBJECTS = "units of two subjects do not correspond"


def held_noise(study: Study, model: str, measure: Measure) -> list[Noise]:
    """Return the noise of each layer of a model that was measured several times, found once per
    study. Raise MetricError for a metric that does not compare so many stimuli.
    """
    choices = {"metric": measure.metric, **measure.settings}
    key = Recipe.of("noise", **choices).digest, study.entry(model).digest
    if key in study.held_scores.noise:
        return study.held_scores.noise[key]
    over, layers = study.entry(model).card.over, study.repeats(model)
    engine = engine_over(study.size, measure, layers=2 * len(layers), device=study.device)
    count, clamping = len(layers[0]), vars(study.clamping)
    scores = []
    for split in draw_splits(count):
        halves = ([joined(each[half], over) for each in layers] for half in split)
        try:
            x, y = (engine.prepare(clamp_outliers(half, **clamping)) for half in halves)
            scores.append(np.diagonal(engine.scores(x, y).values))
        except (FeatureError, MetricError):  # a half is degenerate
            scores.append(np.full(len(layers), np.nan))
    found, attenuates = [], find_metric(measure.metric).attenuates
    for score in np.mean(scores, axis=0).tolist():
        reliability = float(spearman_brown(score, grow(count)))
        if math.isnan(score):
            found.append(Noise(score, math.nan, "a half of its repeats has no score"))
        elif not attenuates:
            found.append(Noise(score, score))
        elif reliability == 0:
            found.append(Noise(score, math.nan, DISAGREE))
        else:
            found.append(Noise(score, math.sqrt(reliability)))
    study.held_scores.noise[key] = found
    return found


def pair_ceiling(noises: Sequence[Noise], measure: Measure) -> float:
    """Return the ceiling of two layers: of correlations the product of both (Spearman 1904), of
    other metrics the less aligned one.
    """
    ceilings = [noise.ceiling for noise in noises]
    if find_metric(measure.metric).attenuates:
        return math.prod(ceilings)
    return float(np.min(ceilings) if measure.toward > 0 else np.max(ceilings))


def bound_of(measure: Measure) -> str:
    """Return "at least " or "at most " if models may exceed a noise ceiling, else ""."""
    if find_metric(measure.metric).attenuates:
        return ""
    return "at least " if measure.toward > 0 else "at most "


def unit_reliabilities(study: Study, model: str) -> list[tuple[float, str]]:
    """Return for each layer the median reliability of its units, and why that is NaN, else ""
    (Yamins et al. 2014).
    """
    if study.entry(model).card.over == "subjects":
        return [(math.nan, SUBJECTS)] * len(study.entry(model).dims)
    values = [unit_reliability(repeats) for repeats in study.repeats(model)]
    return [
        (float(np.nanmedian(each)), "") if np.isfinite(each).any() else (math.nan, DISAGREE)
        for each in values
    ]


COLUMNS = ("recipe", "title", "modality", "size", "seeds", "pairs", "mean", "lowest", "highest")


def replicated(trainings: pd.DataFrame) -> pd.DataFrame:
    """Return the trainings of usual recipes that were trained with several seeds. trainings: rows
    of `core.study.trainings.describe_trainings`.
    """
    usual = trainings[trainings["varies"] == ""]
    return usual[usual.duplicated("recipe", keep=False)]


def align_replicates(study: Study, trainings: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Align every two seeds of each recipe; columns and errors as of `pair_models`."""
    recipes = replicated(trainings).groupby("recipe")["model"]
    tables = []
    for _, names in tell_each(list(recipes), "recipes compared with themselves"):
        tables.append(pair_models(study, sorted(names), comparison))
    return pd.concat(tables) if tables else pair_models(study, [], comparison)


def summarize_replicates(trainings: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per recipe that was trained with several seeds, with COLUMNS. mean, lowest,
    highest: alignment of two of its seeds. title: of its first seed.
    """
    about = trainings.set_index("model")
    of = pairs.assign(
        recipe=pairs["model_x"].map(about["recipe"]), other=pairs["model_y"].map(about["recipe"])
    )
    alike = of[(of["recipe"] == of["other"]) & of["score"].notna()]
    spread = alike.groupby("recipe")["score"].agg(["size", "mean", "min", "max"])
    first = trainings.sort_values("model").groupby("recipe")[["title", "modality", "size"]].first()
    seeds = trainings.groupby("recipe").size().rename("seeds")
    table = first.join(seeds).join(spread.set_axis(["pairs", *COLUMNS[-3:]], axis=1), how="inner")
    return table.reset_index()[list(COLUMNS)]


def ceiling_of(table: pd.DataFrame, modality: str) -> float:
    """Return the mean over a modality's recipes of `summarize_replicates`; NaN without any."""
    means = table.loc[table["modality"] == modality, "mean"]
    return float(means.mean()) if len(means) else np.nan


def ceiling_between(table: pd.DataFrame, x: str, y: str) -> float:
    """Return the geometric mean of both modalities' ceilings; NaN if one has none."""
    if x == y:
        return ceiling_of(table, x)
    product = ceiling_of(table, x) * ceiling_of(table, y)
    return math.sqrt(product) if product > 0 else math.nan
