"""Where models stand among each other in competence."""

from __future__ import annotations

import pandas as pd

from core.competence.records import SKILL
from core.modalities import LANGUAGE

SOLVED = "share of tasks solved"


def basis_of(solved: pd.DataFrame) -> str:
    """Return what the competence of vision models is, in words; solved: of `TasksSolved`."""
    return str(solved["basis"].iloc[0]) if len(solved) else SOLVED


def language_basis(models: pd.DataFrame, competence: pd.DataFrame) -> str:
    """Return what the competence of language models is, in words; models: as of `describe`."""
    names = models.loc[models["modality"] == LANGUAGE.name, "model"]
    return next(iter(competence.loc[competence["model"].isin(names), "unit"]), SKILL)


def skill_ranks(models: pd.DataFrame, competence: pd.DataFrame, solved: pd.DataFrame) -> pd.Series:
    """Return where each model stands among the measured ones of its modality, by name: 0 is the
    least competent, 1 the most.

    competence: model, value, of models that read no images. solved: model, solved, of vision
    models, the answer of `TasksSolved`. NaN where it was not measured, and for all of a modality in
    which fewer than two were.
    """
    values = skill_values(competence, solved).reindex(models["model"])
    return rank_within(values, models.set_index("model")["modality"])


def skill_values(competence: pd.DataFrame, solved: pd.DataFrame) -> pd.Series:
    """Return the competence of each measured model by name; tables as of `skill_ranks`."""
    language, vision = competence.set_index("model")["value"], solved.set_index("model")["solved"]
    return pd.concat([language, vision]).astype("float64")


def rank_within(values: pd.Series, group: pd.Series) -> pd.Series:
    """Return the rank of each value within its group from 0, the least, to 1; NaN where it is
    unknown or the only one.
    """
    ranks, count = values.groupby(group).rank(), values.groupby(group).transform("count")
    return ((ranks - 1) / (count - 1)).where(count > 1)
