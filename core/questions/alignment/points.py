"""The points of the Alignment page: pairs of models, described and fitted."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.questions.alignment.axes import AXES, Axis
from core.statistics.fits import Fit, competence_fit
from core.study.models import trained


def trend_points(
    alignment: pd.DataFrame, competence: pd.DataFrame, models: pd.DataFrame
) -> pd.DataFrame:
    """Return a row per pair for `core.questions.alignment.figures.trend`: both models described,
    with the language model's competence.
    """
    about = models.set_index("model")
    kept = ["title", "group", "parameters", "step"]
    skill = competence.set_index("model")["value"]
    points = alignment.join(about[kept].add_suffix("_x"), on="model_x").join(
        about[kept].add_suffix("_y"), on="model_y"
    )
    points["competence"] = points["model_x"].map(skill).astype("float64")
    return points.rename(columns={"group_y": "facet"}).sort_values(
        "facet", key=lambda facet: facet == REALITY, kind="stable"
    )


def calibrated_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points at their calibrated scores, whose chance is 0; what belongs to the raw ones
    gets `raw` in its name. They have no ceiling.
    """
    renamed = points.rename(
        columns={"score": "raw", "chance": "raw_chance", "low": "raw_low", "high": "raw_high"}
    )
    return renamed.assign(score=renamed["calibrated"], chance=0.0).drop(
        columns="ceiling", errors="ignore"
    )


def shared_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points at their share of the way from chance, which is 0, to the ceiling, 1; the
    score is called alignment.
    """
    points = points.reindex(columns=list(dict.fromkeys([*points, "share"])))
    shared = points.rename(columns={"score": "alignment"})
    return shared.assign(score=shared["share"], chance=0.0, ceiling=1.0)


def fits(
    points: pd.DataFrame, models: pd.DataFrame, axis: Axis = AXES["competence"]
) -> dict[str, Fit]:
    """Fit alignment against what is on the axis in each facet, one point per trained language
    model: its mean over the facet's models. On a logarithmic axis the logarithm is fitted.

    Pairs that share a language model are not independent, so that more vision models must not make
    the band narrower; neither must copies along a training. models: as `core.study.models.describe`
    gives them.
    """
    counted = points["model_x"].isin(trained(models)["model"]) & ~points["model_y"].isin(
        models.loc[models["copy"], "model"]
    )
    by_model = points[counted].groupby(["facet", "model_x"])
    means = pd.DataFrame(
        {"x": axis.place(by_model[axis.column].first()), "y": by_model["score"].mean()}, dtype=float
    ).reset_index()
    lines = {}
    for facet in points["facet"].unique():
        mean = means[means["facet"] == facet]
        lines[str(facet)] = competence_fit(mean["x"].to_numpy(), mean["y"].to_numpy())
    return lines
