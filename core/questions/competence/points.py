"""The points of the Competence page's plots: models described and ranked."""

from __future__ import annotations

import pandas as pd

from core.study.models import rank_within


def bin_points(points: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `core.questions.competence.bins.bin_pairs` described for
    `core.questions.competence.bin_figures.bins`.
    """
    titles = models.set_index("model")["title"]
    return points.assign(**{f"title_{side}": points[f"model_{side}"].map(titles) for side in "xy"})


def ranked(points: pd.DataFrame, skill: pd.Series) -> pd.DataFrame:
    """Return the rows of `core.questions.competence.answer.set_against` for
    `core.questions.competence.figures.downstream`: with each model's rank in skill among those of
    its modality that have an alignment.

    skill: by model.
    """
    values = points["model"].map(skill).astype("float64").where(points["near"].notna())
    return points.assign(rank=rank_within(values, points["modality"]))


def training_points(table: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `core.questions.competence.answer.follow_training`, each described, for
    `core.questions.competence.figures.training`.
    """
    return table.join(models.set_index("model")[["title", "group", "parameters"]], on="model")
