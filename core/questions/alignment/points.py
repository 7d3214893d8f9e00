"""The pairs of the trend, described and fitted."""

from __future__ import annotations

import pandas as pd

from core.modalities import find_modality
from core.questions.alignment.axes import Axis
from core.statistics.correlations import Fit, competence_fit
from core.statistics.intervals import mean_interval
from core.study.models import is_measured, is_reality, trained
from core.study.models import lines as lines_of

NOISE = "noise_ceiling"
DESCRIBED = ("title", "group", "parameters", "modality", "recipe")
ABOUT = (*(f"{name}_x" for name in DESCRIBED), "title_y", "parameters_y", "modality_y", "recipe_y")


def compared_models(models: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Return the models that alignment is averaged over: the trained ones among these, never
    reality; brains and people if no model is there.
    """
    there = models[models["model"].isin(names) & ~is_reality(models)]
    return trained(there) if len(trained(there)) else there[is_measured(there)]


def trend_points(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Add to a row per pair what is known of both models: DESCRIBED; panel: the group of model_y;
    line_x: models of one line count once in tests; counted: whether the fit takes it, that is no
    untrained model, checkpoint or copy; compared: whether means over model_y take it.
    """
    plurals = models["modality"].map(lambda name: find_modality(name).plural)
    groups = models["group"].mask(is_measured(models), plurals)  # brains are one group
    about = models.assign(group=groups).set_index("model")[list(DESCRIBED)]
    points = alignment.join(about.add_suffix("_x"), on="model_x").join(
        about.add_suffix("_y"), on="model_y"
    )
    copies = models.loc[models["copy"], "model"]
    others = compared_models(models, points["model_y"])
    return points.rename(columns={"group_y": "panel"}).assign(
        line_x=points["model_x"].map(lines_of(models)),
        counted=points["model_x"].isin(trained(models)["model"]) & ~points["model_y"].isin(copies),
        compared=points["model_y"].isin(others["model"]),
    )


def calibrated_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points at their calibrated scores, whose chance is 0; what belongs to the raw ones
    gets `raw` in its name. They have no ceilings: those are raw.
    """
    renamed = points.rename(
        columns={"score": "raw", "chance": "raw_chance", "low": "raw_low", "high": "raw_high"}
    )
    return renamed.assign(score=renamed["calibrated"], chance=0.0).drop(
        columns=["ceiling", NOISE], errors="ignore"
    )


def mean_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model on the axis: its mean alignment over the recipes compared with, in
    each of which all seeds count once, with the 95% interval over these, if they are five or more,
    as if they were independent; count: models compared with.
    """
    scored = points.dropna(subset="score")
    rows = []
    for _, pairs in scored.groupby("model_x", sort=False):
        means = pairs.groupby("recipe_y")["score"].mean().to_numpy(float)
        low, high = mean_interval(means)
        own = {"score": means.mean(), "low": low, "high": high, "count": len(pairs)}
        noise = {NOISE: pairs[NOISE].mean()} if NOISE in pairs else {}
        rows.append({**pairs.iloc[0], **own, **noise})
    return pd.DataFrame(rows, columns=[*dict.fromkeys([*points, "low", "high", "count"])])


def fit_line(points: pd.DataFrame, axis: Axis) -> Fit:
    """Fit alignment against what is on the axis, one point per trained recipe on the axis: its mean
    over the recipes compared with. On a logarithmic axis the logarithm is fitted.

    Pairs that share a model are not independent, so that more models compared with must not make
    the band narrower; neither must sizes of one family, seeds of one recipe or copies along a
    training. points: of `trend_points`.
    """
    counted = points[points["counted"]]
    mean = recipe_means(counted.assign(x=axis.place(counted["axis"])))
    return competence_fit(mean["x"].to_numpy(), mean["score"].to_numpy(), mean["line_x"].tolist())


def fits(points: pd.DataFrame, axis: Axis) -> dict[str, Fit]:
    """Return the `fit_line` of each panel."""
    return {str(panel): fit_line(rows, axis) for panel, rows in points.groupby("panel", sort=False)}


def recipe_means(points: pd.DataFrame) -> pd.DataFrame:
    """Return recipe_x, line_x, x and score: of each recipe on the axis the mean over the recipes
    compared with, in each of which all seeds count once.
    """
    line = points.drop_duplicates("recipe_x", keep="last").set_index("recipe_x")["line_x"]
    of_pairs = points.groupby(["recipe_x", "recipe_y"])[["x", "score"]].mean()
    means = of_pairs.groupby("recipe_x").mean().reset_index()
    means = means.astype({"x": "float64", "score": "float64"})
    return means.assign(line_x=means["recipe_x"].map(line))
