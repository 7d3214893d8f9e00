"""How alike two trainings of one recipe are: the most that any other training can be expected to
reach.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from core.progress import Progress
from core.study.comparison.pairing import pair_models
from core.study.parts import Comparison
from core.study.study import Study

COLUMNS = ("recipe", "title", "modality", "size", "seeds", "pairs", "mean", "lowest", "highest")


def replicated(trainings: pd.DataFrame) -> pd.DataFrame:
    """Return the trainings of usual recipes that were trained with several seeds: of such as are
    compared where nothing else is asked.

    trainings: rows of `core.study.trainings.describe_trainings`.
    """
    usual = trainings[trainings["varies"] == ""]
    return usual[usual.duplicated("recipe", keep=False)]


def align_replicates(
    study: Study, trainings: pd.DataFrame, comparison: Comparison, report: Progress | None = None
) -> pd.DataFrame:
    """Align every two seeds of each recipe; columns as of `pair_models`, of no other models.

    trainings: rows of `describe_trainings`. Raises as `pair_models`.
    """
    recipes = replicated(trainings).groupby("recipe")["model"]
    tables = []
    for done, (_, names) in enumerate(recipes, start=1):
        tables.append(pair_models(study, sorted(names), comparison))
        if report:
            report(done, len(recipes), "recipes compared with themselves")
    return pd.concat(tables) if tables else pair_models(study, [], comparison)


def summarize_replicates(trainings: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per recipe that was trained with several seeds, with COLUMNS.

    mean, lowest, highest: alignment of two of its seeds. title: of its first seed. trainings: rows
    of `describe_trainings`. pairs: model_x, model_y, score.
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
    """Return the mean alignment of two seeds over the recipes of a modality; NaN where none was
    trained twice.

    table: of `summarize_replicates`.
    """
    means = table.loc[table["modality"] == modality, "mean"]
    return float(means.mean()) if len(means) else np.nan


def ceiling_between(table: pd.DataFrame, x: str, y: str) -> float:
    """Return the ceiling of pairs of these modalities: that of one of them, of two the geometric
    mean of both; NaN where one has none.

    table: of `summarize_replicates`.
    """
    if x == y:
        return ceiling_of(table, x)
    product = ceiling_of(table, x) * ceiling_of(table, y)
    return math.sqrt(product) if product > 0 else math.nan
