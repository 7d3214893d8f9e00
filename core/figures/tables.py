"""Joins what the analyses return into the tidy tables that the figures draw."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.questions.models.map_table import NEAREST
from core.study.models import FEWER, UNTRAINED


def headline_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return a row per language model and target for `core.questions.overview.figures.headline`:
    mean and range over the target's models.
    """
    target = points["facet"].where(points["facet"] == REALITY, "vision models").rename("target")
    names = {
        "model_x": "model",
        "title_x": "title",
        "group_x": "group",
        "parameters_x": "parameters",
    }
    grouped = points.rename(columns=names).groupby(
        [target, "model", "title", "group", "parameters"], sort=False, dropna=False
    )
    spread = {"score": ("score", "mean"), "low": ("score", "min"), "high": ("score", "max")}
    first = {name: (name, "first") for name in ("competence", "chance", "k")}
    return grouped.agg(**spread, **first).reset_index()


def ranking_points(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model for `core.questions.overview.figures.ranking`: its mean alignment with
    the models it was compared with.
    """
    mean = alignment.groupby("model_x", sort=False).agg(
        score=("score", "mean"), chance=("chance", "first"), k=("k", "first")
    )
    return mean.join(models.set_index("model")).rename_axis("model").reset_index()


def growth_points(ranking: pd.DataFrame, solved: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model and panel for `core.questions.overview.figures.growth`: what of its
    making may have brought it closer.

    ranking: as `ranking_points` gives it. solved: model, solved. A line needs two models: the
    copies along one training (with the finished model), the sizes of one group, the supervised
    models of one size by number of tasks; vision models by tasks solved.
    """
    whole = ranking[~ranking["copy"] & (ranking["group"] != UNTRAINED)]
    copied = ranking[ranking["run"].isin(ranking.loc[ranking["copy"], "run"])]
    sized = whole[(whole["group"] != FEWER) & whole["parameters"].notna()]
    fewer = whole[whole["group"] == FEWER]
    tasked = whole[
        whole["tasks"].notna()
        & whole["objective"].isin(fewer["objective"])
        & whole["size"].isin(fewer["size"])
    ]
    tasked = tasked[tasked["family"].isin(fewer["family"])]
    seeing = whole.merge(solved[["model", "solved"]].dropna(), on="model")
    panels = {
        "training": copied.assign(x=copied["step"], line=copied["run"]),
        "size": sized.assign(x=sized["parameters"], line=sized["family"] + sized["group"]),
        "tasks": tasked.assign(x=tasked["tasks"], line=tasked["objective"]),
        "solved": seeing.assign(x=seeing["solved"], line=seeing["model"]),
    }
    points = pd.concat(
        [table.assign(panel=name) for name, table in panels.items()], ignore_index=True
    )
    lonely = points.groupby(["panel", "line"])["x"].transform("nunique") < 2
    return points[~lonely | (points["panel"] == "solved")].sort_values(
        ["panel", "line", "x"], ignore_index=True
    )


def bin_points(points: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `core.questions.competence.bins.bin_pairs` described for
    `core.questions.competence.figures.bins`.
    """
    titles = models.set_index("model")["title"]
    return points.assign(**{f"title_{side}": points[f"model_{side}"].map(titles) for side in "xy"})


def skill_ranks(models: pd.DataFrame, competence: pd.DataFrame, solved: pd.DataFrame) -> pd.Series:
    """Return where each model stands among the measured ones of its modality, by name: 0 is the
    least competent, 1 the most.

    competence: model, value, of language models. solved: model, solved, of vision models. NaN where
    it was not measured, and for all of a modality in which fewer than two were.
    """
    values = pd.concat(
        [competence.set_index("model")["value"], solved.set_index("model")["solved"]]
    ).astype("float64")
    return rank_within(values.reindex(models["model"]), models.set_index("model")["modality"])


def rank_within(values: pd.Series, group: pd.Series) -> pd.Series:
    """Return the rank of each value within its group from 0, the least, to 1; NaN where it is
    unknown or the only one.
    """
    ranks, count = values.groupby(group).rank(), values.groupby(group).transform("count")
    return ((ranks - 1) / (count - 1)).where(count > 1)


def score_points(
    near: pd.DataFrame, score: pd.Series, models: pd.DataFrame, skill: pd.Series
) -> pd.DataFrame:
    """Return a row per model for `core.questions.competence.figures.downstream`, the reason too
    where it has no alignment.

    near: alignment of each model with the target, as `core.study.comparing.align_models` gives it.
    score, skill: by model; the rank is that in skill among these models.
    """
    table = near.rename(columns={"model_x": "model", "score": "near"})[
        ["model", "near", "chance", "reason"]
    ]
    points = table.merge(models[["model", "title", "group", "modality", "parameters"]], on="model")
    points = points.assign(value=points["model"].map(score).astype("float64"))
    values = points["model"].map(skill).astype("float64").where(points["near"].notna())
    return points.assign(rank=rank_within(values, points["modality"]))


def map_points(
    table: pd.DataFrame, models: pd.DataFrame, competence: pd.DataFrame, solved: pd.DataFrame
) -> pd.DataFrame:
    """Return a row per model that the map places, for `core.questions.models.figures.model_map`, in
    the order of steps within each training.

    table: as `core.questions.models.answer.map_models` gives it. rank: as `skill_ranks` gives it;
    skill: the competence in words, "" where unknown; nearest: the titles of the nearest models;
    followed: whether there are others of its training.
    """
    titles = models.set_index("model")["title"]
    skill = {
        row.model: f"1 − bits per byte of the captions: {row.value:.2f}"
        for row in competence.dropna(subset="value").itertuples()
    }
    skill |= {
        row.model: f"solves {row.solved:.0%} of the vision tasks"
        for row in solved.dropna(subset="solved").itertuples()
    }
    points = table[table["reason"] == ""].merge(models, on="model")
    near = [
        ", ".join(titles[name] for name in names if name)
        for names in points[list(NEAREST)].itertuples(index=False)
    ]
    ranks = points["model"].map(skill_ranks(models, competence, solved))
    several = points.groupby("run")["step"].transform("nunique") > 1
    told = [skill.get(name, "") for name in points["model"]]
    described = points.assign(rank=ranks, skill=told, nearest=near, followed=several)
    return described.sort_values(
        ["modality", "group", "run", "step"], kind="stable", ignore_index=True
    )


def training_points(table: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `core.questions.models.answer.follow_training`, each described, for
    `core.questions.competence.figures.training`.
    """
    return table.join(models.set_index("model")[["title", "group", "parameters"]], on="model")
