"""The points of the map of models."""

from __future__ import annotations

import pandas as pd

from core.competence.records import SKILL
from core.figures.numbers import share_text
from core.questions.models.map_table import DESCRIBED, NEAREST
from core.study.models import basis_of, named_kinds, skill_ranks

BITS_SAVED = "1 − bits per byte of the captions"


def map_points(
    table: pd.DataFrame, models: pd.DataFrame, competence: pd.DataFrame, solved: pd.DataFrame
) -> pd.DataFrame:
    """Return a row per model that the map places, for `core.questions.models.figures.model_map`, in
    the order of steps within each training.

    table: as `core.questions.models.answer.map_models` returns it. rank: as `skill_ranks` gives it;
    skill: the competence in words, "" where unknown; nearest: the titles of the nearest models;
    followed: whether there are others of its training.
    """
    titles = models.set_index("model")["title"]
    skill = skill_texts(competence, solved)
    placed = table[table["reason"] == ""].drop(columns=list(DESCRIBED), errors="ignore")
    families = named_kinds(models, "family").to_numpy()
    points = placed.merge(models.assign(family=families), on="model")
    near = [
        ", ".join(titles[name] for name in names if name)
        for names in points[list(NEAREST)].itertuples(index=False)
    ]
    ranks = points["model"].map(skill_ranks(models, competence, solved))
    several = points.groupby("run")["step"].transform("nunique") > 1
    skills = [skill.get(name, "") for name in points["model"]]
    described = points.assign(rank=ranks, skill=skills, nearest=near, followed=several)
    return described.sort_values(
        ["modality", "group", "run", "step"], kind="stable", ignore_index=True
    )


def skill_texts(competence: pd.DataFrame, solved: pd.DataFrame) -> dict[str, str]:
    """Return in words the competence of each measured model, by name; arguments as of
    `core.study.models.skill_ranks`.
    """
    told = competence.dropna(subset="value")
    units = told["unit"].replace(SKILL, BITS_SAVED)
    shares = solved.dropna(subset="solved").set_index("model")["solved"]
    values = zip(told["model"], units, told["value"], strict=True)
    return {
        **{str(name): f"{unit}: {value:.2f}" for name, unit, value in values},
        **{
            str(
                name
            ): f"{basis_of(solved)} {share_text(share) if 0 <= share <= 1 else f'{share:g}'}"
            for name, share in shares.items()
        },
    }
