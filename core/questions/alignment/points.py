"""The points of the Alignment page: pairs of models, described and fitted."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.questions.alignment.axes import AXES, Axis
from core.questions.alignment.question import COMPETENCE
from core.statistics.correlations import Fit, competence_fit
from core.study.models import lines as lines_of
from core.study.models import trained
from core.study.published import BESIDE

NOISE = "noise_ceiling"


def trend_points(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per pair for `core.questions.alignment.figures.trend`: both models described.

    alignment: model_x, model_y, score and axis: where model_x stands.
    """
    about = models.set_index("model")
    kept = ["title", "group", "parameters", "modality"]
    points = alignment.join(about[kept].add_suffix("_x"), on="model_x").join(
        about[kept].add_suffix("_y"), on="model_y"
    )
    return points.rename(columns={"group_y": "facet"}).sort_values(
        "facet", key=lambda facet: facet == REALITY, kind="stable"
    )


def calibrated_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points at their calibrated scores, whose chance is 0; what belongs to the raw ones
    gets `raw` in its name. They have no ceilings, and no published values: those are raw.
    """
    renamed = points.rename(
        columns={"score": "raw", "chance": "raw_chance", "low": "raw_low", "high": "raw_high"}
    )
    return renamed.assign(score=renamed["calibrated"], chance=0.0).drop(
        columns=["ceiling", NOISE, *BESIDE], errors="ignore"
    )


def shared_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points at their share of the way from chance, which is 0, to the ceiling, 1; the
    score is called alignment.
    """
    points = points.reindex(columns=list(dict.fromkeys([*points, "share"])))
    shared = points.rename(columns={"score": "alignment"}).drop(
        columns=[NOISE, *BESIDE], errors="ignore"
    )
    return shared.assign(score=shared["share"], chance=0.0, ceiling=1.0)


def fits(
    points: pd.DataFrame, models: pd.DataFrame, axis: Axis = AXES[COMPETENCE]
) -> dict[str, Fit]:
    """Fit alignment against what is on the axis in each facet, one point per trained recipe on the
    axis: its mean over the facet's recipes. On a logarithmic axis the logarithm is fitted.

    Pairs that share a model are not independent, so that more models compared with must not make
    the band narrower; neither must sizes of one family, seeds of one recipe or copies along a
    training. models: as `core.study.models.describe` gives them.
    """
    counted = points["model_x"].isin(trained(models)["model"]) & ~points["model_y"].isin(
        models.loc[models["copy"], "model"]
    )
    means = recipe_means(points[counted].assign(x=axis.place(points["axis"])), models)
    lines, kin = {}, recipe_lines(models)
    for facet in points["facet"].unique():
        mean = means[means["facet"] == facet]
        lines[str(facet)] = competence_fit(
            mean["x"].to_numpy(), mean["score"].to_numpy(), [kin[one] for one in mean["recipe_x"]]
        )
    return lines


def recipe_lines(models: pd.DataFrame) -> dict[str, str]:
    """Return of each recipe of models of `describe` the line, as tests count it."""
    return dict(zip(models["recipe"], map(lines_of(models).get, models["model"]), strict=True))


def recipe_means(points: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return facet, recipe_x, x and score: of each recipe on the axis the mean over the facet's
    recipes, in each of which all seeds count once.

    points: facet, model_x, model_y, x, score. models: with their recipe.
    """
    recipe = models.set_index("model")["recipe"]
    named = points.assign(
        recipe_x=points["model_x"].map(recipe), recipe_y=points["model_y"].map(recipe)
    )
    of_pairs = named.groupby(["facet", "recipe_x", "recipe_y"])[["x", "score"]].mean()
    means = of_pairs.groupby(["facet", "recipe_x"]).mean().reset_index()
    return means.astype({"x": "float64", "score": "float64"})
