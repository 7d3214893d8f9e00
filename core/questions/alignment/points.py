"""The pairs of the trend, described, grouped and fitted."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.modalities import find_modality
from core.questions.alignment.axes import UNKNOWN_KIND, Axis, By
from core.statistics.correlations import Fit, competence_fit
from core.study.models import is_measured, known_kinds, trained
from core.study.models import lines as lines_of
from core.study.published import BESIDE

NOISE = "noise_ceiling"
DESCRIBED = ("title", "group", "parameters", "modality", "recipe")
ABOUT = (*(f"{name}_x" for name in DESCRIBED), "title_y", "parameters_y", "modality_y", "recipe_y")


def trend_points(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Add to a row per pair what is known of both models: DESCRIBED; panel: the group of model_y;
    line_x: models of one line count once in tests; counted: whether the fit takes it, that is no
    untrained model, checkpoint or copy.
    """
    about = models.set_index("model")[list(DESCRIBED)]
    points = alignment.join(about.add_suffix("_x"), on="model_x").join(
        about.add_suffix("_y"), on="model_y"
    )
    copies = models.loc[models["copy"], "model"]
    return points.rename(columns={"group_y": "panel"}).assign(
        line_x=points["model_x"].map(lines_of(models)),
        counted=points["model_x"].isin(trained(models)["model"]) & ~points["model_y"].isin(copies),
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


def fits(points: pd.DataFrame, axis: Axis) -> dict[str, Fit]:
    """Fit alignment against what is on the axis in each panel, one point per trained recipe on the
    axis: its mean over the panel's recipes. On a logarithmic axis the logarithm is fitted.

    Pairs that share a model are not independent, so that more models compared with must not make
    the band narrower; neither must sizes of one family, seeds of one recipe or copies along a
    training. points: of `trend_points`.
    """
    means = recipe_means(points[points["counted"]].assign(x=axis.place(points["axis"])))
    found = {}
    for panel in points["panel"].unique():
        mean = means[means["panel"] == panel]
        found[str(panel)] = competence_fit(
            mean["x"].to_numpy(), mean["score"].to_numpy(), mean["line_x"].tolist()
        )
    return found


def recipe_means(points: pd.DataFrame) -> pd.DataFrame:
    """Return panel, recipe_x, line_x, x and score: of each recipe on the axis the mean over the
    panel's recipes, in each of which all seeds count once.
    """
    line = points.drop_duplicates("recipe_x", keep="last").set_index("recipe_x")["line_x"]
    of_pairs = points.groupby(["panel", "recipe_x", "recipe_y"])[["x", "score"]].mean()
    means = of_pairs.groupby(["panel", "recipe_x"]).mean().reset_index()
    means = means.astype({"x": "float64", "score": "float64"})
    return means.assign(line_x=means["recipe_x"].map(line))


def group_points(
    points: pd.DataFrame, models: pd.DataFrame, *, panels: By, color: By, symbol: By = "none"
) -> pd.DataFrame:
    """Return the points with a panel for each group of the models compared with, a color for each
    group of models on the axis, and a symbol for each of another grouping, "" where there is none;
    reality stays a panel of its own.

    points: as `trend_points` gives them; models: as
    `core.study.models.describe` does.
    """
    facets = _groups(points["model_y"], models, panels)
    facets = facets.mask(points["panel"] == REALITY, REALITY)
    colors = _groups(points["model_x"], models, color)
    symbols = "" if symbol == "none" else _groups(points["model_x"], models, symbol)
    return points.assign(panel=facets, group_x=colors, symbol_x=symbols)


def _groups(names: pd.Series, models: pd.DataFrame, by: By) -> pd.Series:
    """Return the group of each model; grouped as their modality is, untrained ones stand apart.
    Brains, and people, are a group.
    """
    if by == "none":
        return pd.Series("all models", index=names.index)
    usual = models["modality"].map(lambda name: find_modality(name).grouping) == by
    plurals = models["modality"].map(lambda name: find_modality(name).plural)
    of_model = known_kinds(models, by).reset_index(drop=True).set_axis(models.index)
    of_model = of_model.mask(usual, models["group"]).mask(is_measured(models), plurals)
    of_model = of_model.set_axis(models["model"])
    groups = names.map(of_model)
    return groups.mask(groups.isna() | (groups == ""), UNKNOWN_KIND[by])
