"""Whether more of a model's units recur as it gets better, with one value per recipe."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.statistics.nulls import adjust
from core.statistics.trends import recipe_trend

RECUR, BEYOND = "units that recur", "beyond a random basis"
COLUMNS = (
    "measure",
    "partners",
    "modality",
    "model",
    "title",
    "line",
    "recipe",
    "parameters",
    "competence",
    "value",
    "models",
    "rise",
    "rise_low",
    "rise_high",
    "p",
    "q",
    "recipes",
    "reason",
)


def trend_rows(
    shares: pd.DataFrame,
    trainings: pd.DataFrame,
    competence: pd.Series,
    *,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Return a row per measure, modality of the partners and model, with the trend over competence.

    shares: rows of `NeuronShare`. trainings: of `core.study.trainings.describe_trainings`.
    competence: by model. value: the mean, over the model's partners of another recipe and descent,
    of the share of units that recur, or of what it is beyond that in a random basis; models: how
    many partners. rise: the change of the value as competence rises by 1, within lines, each recipe
    the mean over its seeds; p, rise_low, rise_high: as of `recipe_trend`, competence being dealt
    anew within lines; q: p adjusted for all trends here.
    """
    values = _values(shares, trainings).assign(
        competence=lambda rows: rows["model"].map(competence)
    )
    groups = [rows for _, rows in values.groupby(["measure", "modality", "partners"], sort=False)]
    tested = [_with_trend(rows, draws, seed) for rows in groups]
    if not tested:
        return pd.DataFrame(columns=list(COLUMNS))
    q = adjust(np.array([rows["p"].iloc[0] for rows in tested], dtype=float))
    table = pd.concat([rows.assign(q=one) for rows, one in zip(tested, q, strict=True)])
    return table.reset_index(drop=True)[list(COLUMNS)]


def _values(shares: pd.DataFrame, trainings: pd.DataFrame) -> pd.DataFrame:
    """Return measure, model, partners, value, models, and what is known of the model."""
    apart = shares[~shares["kin"].astype(bool)]
    turned = apart.rename(columns={"model_x": "model_y", "model_y": "model_x"})
    both = pd.concat([apart, turned], ignore_index=True)
    both = both.assign(**{RECUR: both["share"], BEYOND: both["share"] - both["rotated"]})
    modality = trainings.set_index("model")["modality"]
    means = (
        both.assign(partners=both["model_y"].map(modality))
        .melt(["model_x", "partners"], [RECUR, BEYOND], "measure", "value")
        .groupby(["measure", "partners", "model_x"])["value"]
        .agg(value="mean", models="count")
        .reset_index()
        .rename(columns={"model_x": "model"})
    )
    about = trainings[["model", "title", "modality", "line", "recipe", "parameters"]]
    rows = means.merge(about, on="model")
    order = ["measure", "modality", "partners", "line", "parameters", "model"]
    return rows.sort_values(order, ascending=[False, False, True, True, True, True])


def _with_trend(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    measured = rows[rows["competence"].notna()]
    recipes = measured.groupby("recipe", sort=False).agg(
        value=("value", "mean"), competence=("competence", "mean"), line=("line", "first")
    )
    trend = recipe_trend(
        recipes["value"].to_numpy(float),
        recipes["competence"].to_numpy(float),
        pd.factorize(recipes["line"])[0].astype(np.int64),
        draws=draws,
        seed=seed,
    )
    return rows.assign(
        rise=trend.rise,
        rise_low=trend.low,
        rise_high=trend.high,
        p=trend.p,
        recipes=trend.recipes,
        reason=trend.reason,
    )
